"""`hedgerow restore`: backups, checked to their ends before anything is written."""

import json
import signal
from pathlib import Path
from typing import Annotated, Any

import typer

from service.api.times import rfc3339
from service.cli import options
from service.cli.operators.given_backups import given_backups
from service.cli.options import counting, say
from service.settings_loading import load_settings
from service.store.audit import COMMAND_LINE, DONE, Act, Audit
from service.store.backup.restoring import Restored
from service.store.backup.restoring import restore as restoring
from service.store.connection import connect
from service.store.server.opening import open_store

TIMEOUT_S = 60.0
"""Seconds within which the store answers: nobody else waits for a restore."""

app = options.verb()


@app.command()
def restore(
    source: Annotated[
        list[Path],
        typer.Argument(
            metavar="FROM...",
            help="A whole backup and those that continue it, in order; a folder: its latest chain; "
            "- for standard input.",
        ),
    ],
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete first what the namespace holds.")
    ] = False,
    revoke_keys: Annotated[
        bool,
        typer.Option("--revoke-keys", help="Revoke the API keys that worked when it was taken."),
    ] = False,
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Bring back a namespace as it was, into the one of the settings (HEDGEROW_NAMESPACE).

    Damaged files, and files that do not belong together, are refused before anything is written.
    Stop learner and trainer first; api processes may go on. A key that was revoked after the backup
    works again.
    """
    settings = load_settings(data_dir=data_dir)
    # what is half restored goes, as with Ctrl-C
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with (
        given_backups(source) as paths,
        open_store(settings, create=True) as url,
        connect(url, role="restore", timeout_s=TIMEOUT_S) as client,
        counting() as show,
    ):
        found = restoring(
            client,
            settings,
            paths,
            replace=replace,
            revoke_keys=revoke_keys,
            progress=lambda phase, pieces: show(f"{phase}: {pieces:,} pieces"),
        )
        # only now: what is refused, or fails, leaves nothing in the namespace
        about = {"backup": found.chain[-1].header.id}
        Audit(client, settings.namespace).note_or_log(Act(COMMAND_LINE, "restore", about, DONE))
    told = _told(found, settings.namespace)
    if as_json:
        typer.echo(json.dumps(told))
    say(
        f"the namespace {settings.namespace} is as it was at {told['cut']}: "
        f"{sum(found.positions.sequences):,} events, {found.positions.items:,} items"
    )
    for fault in found.faults:
        say(f"it did not fit together then, either: {fault}")
    raise typer.Exit(1 if found.faults else 0)


def _told(found: Restored, namespace: str) -> dict[str, Any]:
    last = found.chain[-1]
    return {
        "id": last.header.id,
        "namespace": namespace,
        "identity": str(found.identity),
        "cut": rfc3339(last.summary.cut_ms),
        "sequences": found.positions.sequences,
        "learned": found.learned,
        "items": found.positions.items,
        "revoked_keys": found.revoked,
        "faults": list(found.faults),
    }
