"""`hedgerow export`: the histories and the documents, written as they are read."""

import asyncio
import csv
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import msgspec
import typer

from service.cli import options
from service.cli.options import counting, say
from service.errors import Misconfigured
from service.extras import load
from service.files.export import export as histories
from service.files.export import export_items, export_users
from service.files.feedback import FeedbackLine
from service.settings import Settings
from service.settings_loading import load_settings
from service.store.audit import acting
from service.store.connection import connect
from service.store.namespace import refuse_half_restored
from service.store.namespaces import contents
from service.store.server.opening import open_store

Format = Literal["ndjson", "csv", "parquet"]
Write = Callable[[Sequence[FeedbackLine]], Any]
Pages = AsyncIterator[Sequence[Mapping[str, Any]]]

app = options.verb()


@app.command()
def export(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; standard output if none.")
    ] = None,
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="CSV holds ratings only, NDJSON and Parquet every event. Documents are Parquet "
            "with parquet, NDJSON otherwise.",
        ),
    ] = "ndjson",
    items: Annotated[Path | None, typer.Option(help="File for the documents of items.")] = None,
    users: Annotated[Path | None, typer.Option(help="File for the documents of users.")] = None,
    data_dir: options.DataDir = None,
) -> None:
    """Write the histories of all users, or documents; `hedgerow import` restores them.

    With --items or --users and without --output, only the documents are written.

    It reads the store, not the service: HEDGEROW_REDIS_URL, or the data directory of a
    `hedgerow serve`, which need not run. Parquet needs the extra `parquet`:
    pip install 'hedgerow[parquet]'.
    """
    if form == "parquet":
        # before a file is opened, which would empty it
        _parquet()
    settings = load_settings(data_dir=data_dir)
    # look at the store first: an existing file must not be emptied for nothing
    name = settings.namespace
    with open_store(settings) as url, connect(url, role="export") as client:
        refuse_half_restored(client, name)
        contents(client, name)
        with acting(client, name, "export") as about:
            for what, path, pages in (
                ("items", items, export_items),
                ("users", users, export_users),
            ):
                if path is not None:
                    documents = pages(settings, url)
                    with _opened(path) as out:
                        if form == "parquet":
                            n = asyncio.run(_write_table(documents, what, out))
                        else:
                            n = asyncio.run(_write_documents(documents, out))
                    about[f"documents_of_{what}"] = str(n)
                    say(f"{n:,} documents of {what}")
            if output is None and (items or users):
                return
            with _opened(output) as out:
                n_users, n_events = asyncio.run(_write(settings, url, out, form))
            about |= {"users": str(n_users), "events": str(n_events)}
    say(f"{n_events:,} events of {n_users:,} users")


def _opened(output: Path | None) -> AbstractContextManager[BinaryIO]:
    if output is None:
        return nullcontext(sys.stdout.buffer)
    try:
        return output.open("wb")
    except OSError as error:
        raise Misconfigured(f"cannot write {output} ({error.strerror}): name another") from error


def _parquet() -> Any:
    name = "service.files.parquet.writing"
    return load(name, extra="parquet", for_what="--format parquet")


async def _write(settings: Settings, url: str, out: BinaryIO, form: Format) -> tuple[int, int]:
    users = events = left_out = 0
    with counting() as show, _WRITERS[form](out) as write:
        async for lines in histories(settings, url):
            kept = [line for line in lines if form != "csv" or line.rating is not None]
            write(kept)
            users, events = users + 1, events + len(kept)
            left_out += len(lines) - len(kept)
            show(f"{events:,} events of {users:,} users")
    if left_out:
        say(f"{left_out:,} events that are no ratings were left out: --format ndjson has them")
    return users, events


async def _write_documents(pages: Pages, out: BinaryIO) -> int:
    def write(documents: Sequence[Mapping[str, Any]]) -> None:
        out.write(msgspec.json.Encoder().encode_lines(documents))

    return await _each_page(pages, write)


async def _write_table(pages: Pages, what: str, out: BinaryIO) -> int:
    writer = _parquet().DocumentWriter(what.removesuffix("s"))
    n = await _each_page(pages, writer.add)
    if mixed := writer.write(out):
        says = "features that are not of one type everywhere are texts: --format ndjson has them as"
        say(f"{says} they are: {', '.join(mixed)}")
    return n


async def _each_page(pages: Pages, take: Callable[[Sequence[Mapping[str, Any]]], Any]) -> int:
    n = 0
    with counting() as show:
        async for documents in pages:
            take(documents)
            n += len(documents)
            show(f"{n:,} documents")
    return n


@contextmanager
def _ndjson(out: BinaryIO) -> Iterator[Write]:
    yield lambda lines: out.write(msgspec.json.Encoder().encode_lines(lines))


@contextmanager
def _csv(out: BinaryIO) -> Iterator[Write]:
    out.write(b"user,item,rating,timestamp\n")
    rows = csv.writer(_Text(out), lineterminator="\n")
    yield lambda lines: rows.writerows(
        (line.user, line.item, line.rating, line.timestamp) for line in lines
    )


@contextmanager
def _parquet_events(out: BinaryIO) -> Iterator[Write]:
    with _parquet().event_writer(out) as writer:
        yield writer.write


_WRITERS: dict[Format, Callable[[BinaryIO], AbstractContextManager[Write]]] = {
    "ndjson": _ndjson,
    "csv": _csv,
    "parquet": _parquet_events,
}


class _Text:
    """A text file for csv that writes UTF-8 to a binary file and leaves that open."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def write(self, text: str) -> int:
        return self._out.write(text.encode())
