"""`hedgerow`: the list of verbs. The module of a verb is imported when the verb is used.

Exit codes: 0 done · 1 done, but something is wrong · 2 wrong usage, settings or store, with one
line that says what to do · 75 a learner or trainer was replaced by another one.
"""

import contextlib
import gc
import importlib
import importlib.metadata
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from core.errors import CoreError
from service.errors import ServiceError

COMMANDS = {
    "serve": ("service.cli.running.serve", "Run the whole service on this machine."),
    "api": ("service.cli.running.api", "Run one api process with a Redis of yours."),
    "learner": (
        "service.cli.running.learner",
        "Run the learner of one partition with a Redis of yours.",
    ),
    "trainer": ("service.cli.running.trainer", "Run the trainer with a Redis of yours."),
    "demo": (
        "service.cli.running.demo",
        "Watch the service learn a sample world, or your ratings.",
    ),
    "import": (
        "service.cli.clients.import_file",
        "Send files of feedback or documents to a running service.",
    ),
    "ingest": (
        "service.cli.clients.ingest",
        "Bring messages of NATS, Kafka or Redis to a running service.",
    ),
    "retrain": ("service.cli.clients.retrain", "Train ranking models in a running service."),
    "export": ("service.cli.operators.export", "Write all histories or documents to files."),
    "eval": ("service.cli.eval.main", "Evaluate models on data sets in files."),
    "bench": ("service.cli.running.bench", "Measure the speed of the service on this machine."),
    "models": ("service.cli.operators.models", "List trained models, and choose which ones serve."),
    "keys": ("service.cli.operators.keys", "Create, list and revoke API keys."),
    "audit": ("service.cli.operators.audit", "List what operators did, and how it ended."),
    "namespaces": (
        "service.cli.operators.namespaces",
        "List the namespaces of a store, or delete one.",
    ),
    "dead-letters": (
        "service.cli.operators.dead_letters",
        "List, replay or discard feedback that could not be learned.",
    ),
    "backup": (
        "service.cli.operators.backup",
        "Write all that a namespace holds, while it is used.",
    ),
    "restore": ("service.cli.operators.restore", "Bring back a namespace from backups."),
    "verify": ("service.cli.operators.verify", "Check that backups are whole."),
    "rebuild": ("service.cli.operators.rebuild", "Learn everything again from the histories."),
    "openapi": ("service.cli.openapi", "Print the OpenAPI document."),
    "doctor": ("service.cli.operators.doctor", "Check this machine, the settings and the store."),
}
"""Verb: (module with the typer `app`, line in the list of verbs)."""


class Verbs(typer.core.TyperGroup):
    """The group of all verbs; it imports only the verb that is used."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, (_, says) in COMMANDS.items():
            self.add_command(typer.core.TyperCommand(name, help=says))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the verb as usual, then replace its entry in the list by the real command."""
        name, _, rest = super().resolve_command(ctx, args)
        with _nothing_to_collect():
            return name, load(str(name)), rest


@contextlib.contextmanager
def _nothing_to_collect() -> Iterator[None]:
    """Collect no garbage while modules are imported, nor ever look for it among what they made.

    All of it stays until the process ends; searching it takes a sixth of the time of the imports.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def load(verb: str) -> Any:
    """Import the module of a verb and return its command."""
    return typer.main.get_command(importlib.import_module(COMMANDS[verb][0]).app)


app = typer.Typer(
    cls=Verbs,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hedgerow {importlib.metadata.version('hedgerow')}")
        raise typer.Exit


@app.callback(epilog="Settings: HEDGEROW_* and hedgerow.toml, see docs/reference/settings.md.")
def hedgerow(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and end.", callback=_say_version, is_eager=True
        ),
    ] = False,
) -> None:
    """A recommendation service that tunes itself and learns from every rating at once."""


def run() -> None:
    """Run the command line; an error raised on purpose becomes one line."""
    try:
        app()
    except (ServiceError, CoreError) as error:
        sys.stderr.write(f"hedgerow: {error}\n")
        sys.exit(2)
