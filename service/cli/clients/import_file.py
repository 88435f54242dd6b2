"""`hedgerow import`: send files of feedback and documents to a running service."""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from service.cli import options
from service.cli.clients.foreign_files import Form, check_files, send_foreign, send_gorse_files
from service.cli.clients.next_training import next_training, wait_for_lists
from service.cli.options import say
from service.client import ServiceClient
from service.errors import Misconfigured, ServiceError
from service.files.foreign.gorse_dump import Section
from service.files.opening import BadFile
from service.files.sending import KEPT, STREAM, OnPart, Summary, send, send_documents

FEEDBACK: Literal["feedback"] = "feedback"
PROGRAM = "hedgerow-import"
SHOWN = 20
"""Maximum number of rejected rows on the terminal; the JSON output has the first 1 000."""
LEARNED_S = 10.0
"""Seconds to wait for the learner, which finds repeated rows; after that they are not reported."""

app = options.verb()


@app.command("import")
def import_file(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Feedback: CSV or NDJSON, plain or gzip, or Parquet; - is standard input. With "
            "--format a dump, or a folder."
        ),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(help="Documents of items, CSV, NDJSON or Parquet; sent before the feedback."),
    ] = None,
    users: Annotated[
        Path | None, typer.Option(help="Documents of users, in the same formats.")
    ] = None,
    form: Annotated[
        Form,
        typer.Option("--format", help="Whose files they are: ours, or those of another system."),
    ] = "hedgerow",
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Wait for the training that follows and for its first lists."),
    ] = False,
    url: options.Url = None,
    key: options.Key = None,
    as_json: options.Json = False,
) -> None:
    """Send files to a running service: feedback, documents of items and of users.

    A CSV of feedback needs a header with user,item and rating or kind (click, purchase, ...). With
    both, each row fills one of them and leaves the other empty. It may have timestamp: Unix seconds
    or milliseconds, or RFC 3339. NDJSON may contain what POST /v1/events accepts. A bad line of
    NDJSON is rejected and the rest is sent; a bad line of a CSV ends the import: correct it and
    import the file again. After a broken connection the import goes on, and a file that is imported
    twice counts once, as long as the service remembers its rows (the last 1 000 000 events, 24
    hours); the output says how many rows the service had before.

    Documents replace those that were there. A line of NDJSON is what POST /v1/items or POST
    /v1/users accepts. A CSV has the column item or user. The columns categories, hidden,
    available_from and available_until of items mean the same as in a document; every other
    column is a feature: a number, a text, or texts joined by |.

    --format gorse reads a dump of Gorse (FILE), or its lines of JSON (FILE is feedback, --items and
    --users are documents), and sends them to the routes of Gorse. The others read a folder:
    movielens u.data, ratings.dat or ratings.csv with what lies beside it; recbole NAME.inter,
    NAME.item and NAME.user; recombee detail_views, purchases, ratings, cart_additions, bookmarks,
    view_portions, items and users, each .csv or .json.

    Parquet needs the extra `parquet`: pip install 'hedgerow[parquet]'. Its columns are those of a
    CSV; a row that is no event is rejected and the rest is sent.

    Columns and fields that no event has are left out, and the output names them.

    The last line says what happens next: a service with nothing trained trains by itself within
    seconds, and --wait waits for its lists.

    The exit code is 1 if a row was rejected.
    """
    if file is None and items is None and users is None:
        raise Misconfigured(
            "nothing to import: name a file of feedback, or one with --items or --users"
        )
    check_files(form, file, (items, users))
    training: dict[str, Any] | None = None
    with ServiceClient(options.service_url(url), key, tell=say, program=PROGRAM) as client:
        # an empty stream checks at once that the service answers and accepts the key
        client.upload(STREAM, b"")
        found = _sent(client, form, file, items, users)
        if not as_json:
            for name, summary in found.items():
                _show(name, summary)
        training = wait_for_lists(client) if wait else None
        follows = _next_training(client)
    if as_json:
        typer.echo(json.dumps(_as_json(found) | {"next": follows, "training": training}))
    elif follows:
        say(follows)
    raise typer.Exit(1 if any(summary.rejected_total for summary in found.values()) else 0)


def _sent(
    client: ServiceClient, form: Form, file: Path | None, items: Path | None, users: Path | None
) -> dict[str, Summary]:
    if form == "gorse":
        with _bar() as on_part:
            files: dict[Section, Path | None] = {"users": users, "items": items, FEEDBACK: file}
            return send_gorse_files(client, files, on_part)
    if form != "hedgerow" and file is not None:
        with _bar() as on_part:
            return send_foreign(client, form, file, on_part)
    found = {
        name: _documents(client, path, name)
        for name, path in (("items", items), ("users", users))
        if path is not None
    }
    if file is not None:
        with readable(file) as path:
            found[FEEDBACK] = _feedback(client, path)
    return found


def _next_training(client: ServiceClient) -> str | None:
    """Return what is trained next; None if the service does not say, for everything is sent."""
    with suppress(ServiceError, httpx.TransportError):
        return next_training(client)
    return None


def _feedback(client: ServiceClient, path: Path) -> Summary:
    """Send feedback, and count how many rows the service found to be repeats meanwhile."""
    before = _repeats(client)
    with _bar() as on_part:
        summary = send(client, path, on_part)
    if summary.accepted:
        with suppress(ServiceError, httpx.TransportError):
            client.wait_until_learned(summary.sequence, LEARNED_S)
            summary.known = min(_repeats(client) - before, summary.accepted)
    return summary


def _repeats(client: ServiceClient) -> int:
    return sum(partition["duplicates"] for partition in client.get("/v1/stats")["partitions"])


def _documents(client: ServiceClient, path: Path, name: str) -> Summary:
    with readable(path) as file, _bar() as on_part:
        return send_documents(client, file, name.removesuffix("s"), on_part)


def _as_json(summaries: dict[str, Summary]) -> dict[str, Any]:
    """Return the result for programs: feedback at the top, documents by name."""
    result = {
        name: {key: value for key, value in asdict(summary).items() if value is not None}
        | {"ratings_per_second" if name == FEEDBACK else "rows_per_second": summary.rate}
        for name, summary in summaries.items()
    }
    return result.pop(FEEDBACK, {}) | result


@contextmanager
def readable(file: Path) -> Iterator[Path]:
    """Yield the path of a file that can be read twice; standard input is copied to one."""
    if str(file) != "-":
        yield file
        return
    with tempfile.NamedTemporaryFile(prefix="hedgerow-", suffix=".ratings") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        try:
            yield Path(copy.name)
        except BadFile as error:
            raise error.again(file="standard input") from error


@contextmanager
def _bar() -> Iterator[OnPart]:
    """Show a progress bar on the terminal and yield the function that moves it."""
    console = Console(stderr=True)
    columns = (
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rows]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=1.0, rows="")
        yield lambda read, summary: progress.update(task, completed=read, rows=_rows(summary))


def _rows(summary: Summary) -> str:
    rejected = f", {summary.rejected_total:,} rejected" if summary.rejected_total else ""
    return f"{summary.accepted:,} rows{rejected}, {summary.rate:,.0f}/s"


def _show(name: str, summary: Summary) -> None:
    prefix = "" if name == FEEDBACK else f"{name}: "
    repeated = (
        f"; {summary.known:,} of them were already stored: they count once" if summary.known else ""
    )
    say(f"{prefix}{_rows(summary)}, {summary.seconds:.1f} s{repeated}")
    if summary.ignored:
        named = ", ".join(name or "a column without a name" for name in summary.ignored)
        say(f"{prefix}not read, because no event has such a column: {named}")
    for row in summary.rejected[:SHOWN]:
        place = f"{row['file']}, line" if "file" in row else "line"
        say(f"{prefix}{place} {row['line']}: {row['code']}: {row['detail']}")
    if summary.rejected_total > SHOWN:
        say(f"... and {summary.rejected_total - SHOWN:,} more; --json lists the first {KEPT:,}")
