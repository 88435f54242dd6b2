"""`hedgerow verify`: whether backups are whole; no store is needed."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from service.api.times import rfc3339
from service.cli import options
from service.cli.operators.given_backups import given_backups, is_standard_input
from service.cli.options import say
from service.store.backup.chain import Checked, checked
from service.store.backup.container import BadBackup

app = options.verb()


@app.command()
def verify(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="A whole backup and those that continue it, in order; a folder: its latest chain; "
            "- for standard input.",
        ),
    ],
    as_json: options.Json = False,
) -> None:
    """Read backups to their ends and check every byte; the exit code is 1 if one is not whole."""
    try:
        with given_backups(files) as paths:
            found = [_told(one) for one in checked(paths)]
        if is_standard_input(files):
            found[0]["path"] = "-"
    except BadBackup as error:
        if as_json:
            typer.echo(json.dumps({"whole": False, "detail": str(error)}))
        sys.stderr.write(f"hedgerow: {error}\n")
        raise typer.Exit(1) from error
    if as_json:
        typer.echo(json.dumps({"whole": True, "backups": found}))
    for one in found:
        say(
            f"{one['path']}: whole; namespace {one['namespace']}, {sum(one['sequences']):,} events "
            f"up to {one['cut']}"
        )


def _told(one: Checked) -> dict[str, Any]:
    return {
        "path": str(one.path),
        "id": one.header.id,
        "parent": one.header.parent,
        "namespace": one.header.namespace,
        "identity": one.header.identity,
        "written_by": one.header.written_by,
        "cut": rfc3339(one.summary.cut_ms),
        "sequences": one.summary.sequences,
        "items": one.summary.items,
        "written": one.summary.written,
        "deleted": one.summary.deleted,
    }
