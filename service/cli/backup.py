"""`hedgerow backup`: to a file, a folder or standard output, once or on a schedule."""

import json
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, BinaryIO

import typer

from service.cli import options
from service.cli.options import counting, say
from service.cron import cron_problem, moment_before
from service.errors import Misconfigured, ServiceError
from service.settings import Settings, load_settings
from service.store.backup.chain import checked, in_folder, named, written
from service.store.backup.container import BadBackup
from service.store.backup.taking import Backup, Contents, note
from service.store.clock import now_ms
from service.store.connection import connect
from service.store.server.opening import open_store

TIMEOUT_S = 60.0
"""Seconds within which the store answers: nobody else waits for a backup."""
LOOK_S = 1.0
"""Seconds between two looks at the schedule."""

app = options.verb()


@dataclass(frozen=True)
class Place:
    """Where a backup goes, and what it continues."""

    path: Path | None
    """None: standard output."""
    since: Sequence[Path] = ()
    """The whole backup that it continues, and what continues that already; none: it is whole."""


@app.command()
def backup(
    to: Annotated[
        Path,
        typer.Argument(help="File; folder, which gets a file of its own; - for standard output."),
    ],
    since: Annotated[
        list[Path] | None,
        typer.Option(help="Write only what differs from this backup; name all of a chain in order"),
    ] = None,
    increments: Annotated[
        int,
        typer.Option(min=0, help="In a folder: number of backups that continue each whole one."),
    ] = 0,
    keep: Annotated[
        int | None,
        typer.Option(min=1, help="In a folder: number of whole backups kept, with increments."),
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(help="Stay, and take a backup at the times of this cron expression (UTC)."),
    ] = None,
    data_dir: options.DataDir = None,
    as_json: options.Json = False,
) -> None:
    """Write everything that one namespace holds, as it is at one moment, while it is used.

    The store is that of HEDGEROW_REDIS_URL, or the data directory of a `hedgerow serve`, which need
    not run. Writers wait a moment at the end; readers never do. `hedgerow restore` reads it.
    """
    settings = load_settings(data_dir=data_dir)
    is_folder = to.is_dir()
    if not is_folder and (increments or keep or schedule):
        raise Misconfigured(
            f"--increments, --keep and --schedule need a folder, and {to} is none: make it first"
        )
    if is_folder and since:
        raise Misconfigured("in a folder, --increments chooses what a backup continues")

    def take() -> None:
        place = _in_folder(to, settings, increments) if is_folder else _file(to, since or [])
        told = _take(settings, place)
        if keep is not None:
            _remove_old(to, settings.namespace, keep)
        if as_json:
            typer.echo(json.dumps(told), err=place.path is None)
        say(_sentence(told))

    if schedule is None:
        take()
    else:
        _at_times(schedule, take)


def _file(to: Path, since: Sequence[Path]) -> Place:
    if str(to) != "-":
        return Place(to, since)
    if sys.stdout.isatty():
        raise Misconfigured(
            "a backup is no text: name a file, or send standard output to a program"
        )
    return Place(None, since)


def _in_folder(folder: Path, settings: Settings, increments: int) -> Place:
    chains = in_folder(folder, settings.namespace)
    since = chains[-1] if chains and len(chains[-1]) <= increments else []
    return Place(named(folder, settings.namespace, now_ms(), is_whole=not since), since)


def _take(settings: Settings, place: Place) -> dict[str, Any]:
    began = monotonic()
    parent, contents = _continued(place.since, settings.namespace)
    with (
        open_store(settings) as url,
        connect(url, role="backup", timeout_s=TIMEOUT_S) as client,
        counting() as show,
    ):
        taking = Backup(
            client,
            settings.namespace,
            parent=parent,
            contents=contents,
            progress=lambda keys: show(f"{keys:,} keys"),
        )
        with _opened(place.path) as out:
            header, summary, n_bytes = taking.take(out)
    return {
        "id": header.id,
        "parent": header.parent,
        "path": None if place.path is None else str(place.path),
        "namespace": header.namespace,
        "sequences": summary.sequences,
        "items": summary.items,
        "cut": options.moment(summary.cut_ms),
        "written": summary.written,
        "deleted": summary.deleted,
        "bytes": n_bytes,
        "pause_ms": summary.pause_ms,
        "seconds": round(monotonic() - began, 3),
    }


def _continued(since: Sequence[Path], namespace: str) -> tuple[str | None, Contents | None]:
    """Return the id of the backup that is continued, and what it and those before it hold."""
    if not since:
        return None, None
    contents: Contents = {}
    chain = checked(since, lambda piece: note(contents, piece))
    last = chain[-1].header
    if last.namespace != namespace:
        raise BadBackup(f"{since[-1]} is of the namespace {last.namespace}, not of {namespace}")
    return last.id, contents


@contextmanager
def _opened(path: Path | None) -> Iterator[BinaryIO]:
    if path is None:
        yield sys.stdout.buffer
        return
    with written(path) as file:
        yield file


def _remove_old(folder: Path, namespace: str, keep: int) -> None:
    for chain in in_folder(folder, namespace)[:-keep]:
        # the last one first: what is left is a chain at any moment
        for path in reversed(chain):
            path.unlink()


def _at_times(cron: str, take: Callable[[], None]) -> None:
    """Take a backup at each time; one that fails is told, and the next is tried at its time."""
    if problem := cron_problem(cron):
        raise Misconfigured(f"--schedule: {problem}")
    done, never = moment_before(cron, now_ms()), threading.Event()
    while not never.wait(LOOK_S):
        due = moment_before(cron, now_ms())
        if due <= done:
            continue
        done = due
        try:
            take()
        except ServiceError as error:
            say(f"no backup was taken: {error}")


def _sentence(told: dict[str, Any]) -> str:
    return (
        f"{told['path'] or 'standard output'}: {sum(told['sequences']):,} events up to "
        f"{told['cut']}, {told['written']:,} keys, {told['bytes']:,} bytes in {told['seconds']} s; "
        f"writers waited {told['pause_ms']} ms"
    )
