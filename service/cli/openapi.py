"""`hedgerow openapi`: prints the OpenAPI document without a Redis."""

import json

import typer

from service.app import create_app
from service.cli import options
from service.runtime.api import no_runtime
from service.settings import Settings

app = options.verb()


@app.command()
def openapi() -> None:
    """Print the OpenAPI document; openapi/openapi.json in the repository is this output."""
    typer.echo(document())


def document() -> str:
    """Return the document as committed in the repository."""
    # default settings, so that the document does not depend on this machine
    settings = Settings.model_construct()
    return json.dumps(create_app(no_runtime, settings).openapi(), indent=2, sort_keys=True)
