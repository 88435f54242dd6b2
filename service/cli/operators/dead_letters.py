"""`hedgerow dead-letters list|show|replay|discard`.

These use the store directly, so they work while no api process runs.
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from service.cli import options
from service.cli.options import say
from service.errors import Conflict, NotFound
from service.learning.inspection import DAMAGED, Inspection
from service.settings import Settings
from service.settings_loading import load_settings
from service.store.audit import acting
from service.store.catalogue.numbers import item_count
from service.store.connection import Client, connect, connect_async
from service.store.keys import PartitionKeys
from service.store.log.codec import Entry
from service.store.log.dead_letters import DeadLetter, DeadLetters
from service.store.log.stream import LogWriter
from service.store.namespace import Namespace, read_namespace
from service.store.server.opening import open_store

Letter = Annotated[
    str, typer.Argument(help="A letter from `hedgerow dead-letters list`: partition:sequence.")
]

app = options.verb()


@app.callback()
def dead_letters() -> None:
    """Look at feedback that was acknowledged but could not be learned, and decide about it.

    The learner sets such an entry of its log aside, with the reason, and learns what comes after.
    """


@app.command("list")
def list_letters(data_dir: options.DataDir = None, as_json: options.Json = False) -> None:
    """List the entries that were set aside, oldest first."""
    with _opened(load_settings(data_dir=data_dir)) as store:
        found = [(letters, one) for letters in store.letters for one in letters.box.all()]
    shown = [_shown(letters.partition, one) for letters, one in found]
    if as_json:
        typer.echo(json.dumps(shown))
        return
    table = Table("letter", "events", "bytes", "reason")
    for one in shown:
        table.add_row(*(str(value) for value in one.values()))
    Console().print(table if shown else "none: everything in the log could be learned")


@app.command()
def show(letter: Letter, data_dir: options.DataDir = None, as_json: options.Json = False) -> None:
    """Show one entry: what can be read of its events, and its bytes."""
    with _opened(load_settings(data_dir=data_dir)) as store:
        letters, found = store.find(letter)
    told = {**_shown(letters.partition, found), "hex": found.packed.hex()}
    if as_json:
        typer.echo(json.dumps(told))
        return
    for name, value in told.items():
        typer.echo(f"{name}: {value}")


@app.command()
def replay(letter: Letter, data_dir: options.DataDir = None) -> None:
    """Append an entry to the log again, if it can be learned now; its events become the newest."""
    settings = load_settings(data_dir=data_dir)
    with _opened(settings) as store, store.acting("replayDeadLetter", letter):
        letters, found = store.find(letter)
        entry = store.learnable(letter, found)
        sequence = asyncio.run(_append(settings, store, letters.partition, found, entry))
        letters.box.discard(found.last)
    say(f"{len(entry)} events are in the log again, up to number {sequence}")


@app.command()
def discard(
    letter: Letter,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data_dir: options.DataDir = None,
) -> None:
    """Throw an entry away. Its events were acknowledged: this loses them."""
    with _opened(load_settings(data_dir=data_dir)) as store:
        letters, found = store.find(letter)
        if not yes:
            typer.confirm(f"throw {found.n} acknowledged events away?", abort=True, err=True)
        with store.acting("discardDeadLetter", letter):
            letters.box.discard(found.last)
    say(f"{letter} is gone")


@dataclass(frozen=True)
class _Letters:
    """The dead letters of one partition."""

    partition: int
    box: DeadLetters


@dataclass(frozen=True)
class _Store:
    """The store that holds the letters of a namespace."""

    url: str
    client: Client
    namespace: Namespace

    @property
    def letters(self) -> list[_Letters]:
        return [
            _Letters(p, DeadLetters(self.client, PartitionKeys(self.namespace.name, p)))
            for p in range(self.namespace.partitions)
        ]

    def acting(self, act: str, letter: str) -> AbstractContextManager[dict[str, str]]:
        """Note an act that is about a letter."""
        return acting(self.client, self.namespace.name, act, letter=letter)

    def find(self, letter: str) -> tuple[_Letters, DeadLetter]:
        """Return a letter by its name; NotFound if there is none of this name."""
        partition, _, last = letter.partition(":")
        for letters in self.letters:
            if str(letters.partition) == partition and last.isdecimal():
                found = letters.box.find(int(last))
                if found is not None:
                    return letters, found
        raise NotFound(f"there is no letter {letter!r}: see `hedgerow dead-letters list`")

    def learnable(self, letter: str, found: DeadLetter) -> Entry:
        """Return the events of a letter; Conflict if they still cannot be learned."""
        name = self.namespace.name
        inspection = Inspection(self.namespace.scale, lambda: item_count(self.client, name))
        try:
            return inspection.read(found.packed, is_whole=found.reason != DAMAGED)
        except ValueError as error:
            raise Conflict(
                f"{letter} still cannot be learned: {error}; `hedgerow dead-letters discard "
                f"{letter}` throws it away"
            ) from error


@contextmanager
def _opened(settings: Settings) -> Iterator[_Store]:
    with open_store(settings) as url, connect(url, role="dead-letters") as client:
        namespace = read_namespace(client, settings.namespace)
        if namespace is None:
            raise NotFound(
                f"there is no namespace {settings.namespace!r}: see `hedgerow namespaces`"
            )
        yield _Store(url, client, namespace)


async def _append(
    settings: Settings, store: _Store, partition: int, letter: DeadLetter, entry: Entry
) -> int:
    """Append the entry of a letter; a second try is answered as the first one was."""
    async with connect_async(store.url, role="dead-letters") as client:
        log = LogWriter(
            client,
            store.namespace,
            max_bytes=settings.log_max_bytes,
            process_id=f"dead-letter-{letter.last}",
        )
        return (await log.append(partition, letter.packed, len(entry))).last


def _shown(partition: int, letter: DeadLetter) -> dict[str, Any]:
    return {
        "letter": f"{partition}:{letter.last}",
        "events": letter.n,
        "bytes": len(letter.packed),
        "reason": letter.reason,
    }
