"""`hedgerow backup`: to a file, a folder or standard output, once or on a schedule."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Annotated, Any, BinaryIO

import typer

from service.api.times import rfc3339
from service.cli import options
from service.cli.options import counting, say
from service.cron import cron_problem, moment_before
from service.errors import Misconfigured, ServiceError
from service.settings import Settings
from service.settings_loading import load_settings
from service.store.audit import acting
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
        typer.Option(
            help="Write only what differs from this backup; name all of a chain, in order."
        ),
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
        if is_folder:
            told = _take_in_folder(to, settings, increments)
        else:
            told = _take(settings, _file(to, since or []))
        if as_json:
            typer.echo(json.dumps(told), err=told["path"] is None)
        say(_sentence(told))
        if keep is not None:
            _remove_old(to, settings.namespace, keep)

    # a file that is half written goes, as with Ctrl-C
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if schedule is None:
        take()
    else:
        _at_times(schedule, take)


def _file(to: Path, since: Sequence[Path]) -> Place:
    if str(to) != "-":
        return Place(to, since)
    if sys.stdout is None or sys.stdout.isatty():
        raise Misconfigured(
            "a backup is no text: name a file, or send standard output to a program"
        )
    return Place(None, since)


def _take_in_folder(folder: Path, settings: Settings, increments: int) -> dict[str, Any]:
    """Take a backup that continues the latest one, or a whole one if that cannot be continued."""
    name = settings.namespace
    try:
        chains = in_folder(folder, name) if increments else []
        since = chains[-1] if chains and len(chains[-1]) <= increments else []
        place = Place(named(folder, name, now_ms(), is_whole=not since), since)
        return _take(settings, place)
    except BadBackup as error:
        say(f"this backup will be a whole one, because the last cannot be continued: {error}")
    return _take(settings, Place(named(folder, name, now_ms(), is_whole=True)))


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
        # noted behind the moment of the backup, which does not hold its own entry
        with acting(client, settings.namespace, "backup") as about, _opened(place.path) as out:
            header, summary, n_bytes = taking.take(out)
            about["backup"] = header.id
    return {
        "id": header.id,
        "parent": header.parent,
        "path": None if place.path is None else str(place.path),
        "namespace": header.namespace,
        "sequences": summary.sequences,
        "items": summary.items,
        "cut": rfc3339(summary.cut_ms),
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
        with _standard_output() as file:
            yield file
        return
    with written(path) as file:
        yield file


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    try:
        yield sys.stdout.buffer
    except OSError as error:
        # what is still buffered has no place to go when the process ends, either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Misconfigured(
            f"standard output takes no more ({error.strerror}): the backup is not whole. See why "
            "the program that reads it ended, or make room, and take it again"
        ) from error


def _remove_old(folder: Path, namespace: str, keep: int) -> None:
    """Remove all but the latest whole backups, with what continues them."""
    try:
        chains = in_folder(folder, namespace)
        kept = list(dict.fromkeys(chain[0] for chain in reversed(chains)))[:keep]
        old = [chain for chain in chains if chain[0] not in kept]
        places = {path: place for chain in old for place, path in enumerate(chain)}
        # the last ones first: what is left are chains at any moment
        for path in sorted(places, key=places.__getitem__, reverse=True):
            path.unlink(missing_ok=True)
    except (BadBackup, OSError) as error:
        say(f"old backups are left in {folder}: {error}")


def _at_times(
    cron: str,
    take: Callable[[], None],
    *,
    now: Callable[[], int] = now_ms,
    look_s: float = LOOK_S,
) -> None:
    """Take a backup at each time; one that fails is told, and the next is tried at its time."""
    if problem := cron_problem(cron):
        raise Misconfigured(f"--schedule: {problem}")
    say(f"a backup is taken at the times of {cron!r} (UTC) until Ctrl-C")
    done, never = moment_before(cron, now()), threading.Event()
    while not never.wait(look_s):
        due = moment_before(cron, now())
        # a clock that was ahead and is set back makes it due earlier than it was done
        if due == done:
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
