"""`hedgerow import`: files to a running service: documents, and feedback in parts that count once however often sent."""

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import httpx
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from service.cli import options
from service.cli.options import say
from service.client import Receipt, ServiceClient
from service.errors import Misconfigured, ServiceError, StoreUnavailable
from service.files.documents import read_documents
from service.files.feedback import read_parts
from service.files.opening import BadFile
from service.files.parts import Part

STREAM = "/v1/ratings/stream"
FEEDBACK = "feedback"
SHOWN = 20
"""Bad rows that are spelt out on the terminal; the JSON form has the first 1 000."""
KEPT = 1_000
LEARNED_S = 10.0
"""How long the learner may take until nothing is said of rows that were known: repeats are found when they are learned."""

app = options.verb()


@dataclass
class Summary:
    """What became of a whole file."""

    accepted: int = 0
    rejected_total: int = 0
    rejected: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    sequence: str = ""
    known: int | None = None
    """Of the accepted rows, those that had been sent before and count once."""

    def add(self, part: Part, receipt: Receipt) -> None:
        """Count one part."""
        self.accepted += receipt.accepted
        self.sequence = receipt.sequence or self.sequence
        bad = [
            {"line": part.numbers[one["index"]], "code": one["code"], "detail": one["detail"]}
            for one in receipt.rejected
        ]
        bad += [
            {"line": line, "code": "unreadable", "detail": detail} for line, detail in part.faults
        ]
        self.rejected_total += receipt.rejected_total + len(part.faults)
        self.rejected += sorted(bad, key=lambda one: one["line"])[: KEPT - len(self.rejected)]

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.accepted / self.seconds if self.seconds else 0.0


@app.command("import")
def import_file(
    file: Annotated[
        Path | None,
        typer.Argument(help="Feedback: CSV or NDJSON, plain or gzip; - is standard input."),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(help="Documents of items, CSV or NDJSON; they go before the feedback."),
    ] = None,
    users: Annotated[Path | None, typer.Option(help="Documents of users, likewise.")] = None,
    url: options.Url = None,
    key: options.Key = None,
    as_json: options.Json = False,
) -> None:
    """Send files to a running service: feedback, documents of items and of users.

    A CSV of feedback needs a header with user,item and rating or kind (click, purchase, ...) or both: then each
    row fills one of them and leaves the other empty. It may have timestamp: Unix seconds or milliseconds, or
    RFC 3339. NDJSON may hold what POST /v1/ratings takes. A line of NDJSON that is no event is rejected and
    the others go on; a line of a CSV that cannot be read ends the import: mend it and import the file again.
    A connection that breaks is taken up again, and a file that is imported twice within the service's dedupe
    window (the last 1 000 000 events, 24 hours) counts once; how many rows it had before is told.

    Documents replace what was there. A line of NDJSON is what POST /v1/items or POST /v1/users takes. A CSV
    names the column item or user; of items categories, hidden, available_from and available_until are what
    they are in a document, and every other column is a feature: a number, a text, or texts joined by |.

    The exit code is 1 if a row was rejected.
    """
    if file is None and items is None and users is None:
        raise Misconfigured(
            "nothing to import: name a file of feedback, or one with --items or --users"
        )
    found: dict[str, Summary] = {}
    with ServiceClient(options.service_url(url), key, tell=say) as client:
        # an empty stream tells at once whether the service is there and the key is good
        client.upload(STREAM, b"")
        for name, path in (("items", items), ("users", users)):
            if path is not None:
                found[name] = _documents(client, path, name)
        if file is not None:
            with readable(file) as path:
                found[FEEDBACK] = _feedback(client, path)
    if as_json:
        typer.echo(json.dumps(_told(found)))
    else:
        for name, summary in found.items():
            _show(name, summary)
    raise typer.Exit(1 if any(summary.rejected_total for summary in found.values()) else 0)


def _feedback(client: ServiceClient, path: Path) -> Summary:
    """Send feedback and see how much of it the service had before: what it counted as repeats meanwhile."""
    before = _repeats(client)
    summary = send(client, path)
    if summary.accepted:
        with suppress(ServiceError, httpx.TransportError):
            client.wait_until_learned(summary.sequence, LEARNED_S)
            summary.known = min(_repeats(client) - before, summary.accepted)
    return summary


def _repeats(client: ServiceClient) -> int:
    return sum(partition["duplicates"] for partition in client.get("/v1/stats")["partitions"])


def _documents(client: ServiceClient, path: Path, name: str) -> Summary:
    """Send documents; written twice they are the same, so their parts need no key."""
    with readable(path) as file:
        return _sent(client, f"/v1/{name}", read_documents(file, name.removesuffix("s")))


def _told(found: dict[str, Summary]) -> dict[str, Any]:
    """Return one object: what became of the feedback, and beside it of the documents, if there were some."""
    told = {
        name: {key: value for key, value in asdict(summary).items() if value is not None}
        | {"ratings_per_second" if name == FEEDBACK else "rows_per_second": summary.rate}
        for name, summary in found.items()
    }
    return told.pop(FEEDBACK, {}) | told


@contextmanager
def readable(file: Path) -> Iterator[Path]:
    """Yield the path of a file that can be read from its beginning; standard input is copied to one."""
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


def send(client: ServiceClient, path: Path) -> Summary:
    """Send all feedback of a file in order."""
    return _sent(client, STREAM, read_parts(path), keyed=True)


def _sent(
    client: ServiceClient, route: str, parts: Iterable[Part], *, keyed: bool = False
) -> Summary:
    """Send all parts in order; one is under way while the next is read."""
    summary, started = Summary(), perf_counter()
    under_way: tuple[Part, Future[Receipt]] | None = None
    with _progress() as progress, ThreadPoolExecutor(1) as sender, _giving_up(client, summary):
        task = progress.add_task("", total=1.0, rows="")
        faults: list[BadFile] = []
        for index, part in enumerate(_until_bad(parts, faults)):
            key = part_key(index, part) if keyed else None
            sending = sender.submit(client.upload, route, part.lines, key)
            if under_way is not None:
                summary.add(under_way[0], under_way[1].result())
            under_way = part, sending
            summary.seconds = perf_counter() - started
            progress.update(task, completed=part.read, rows=_rows(summary))
        if under_way is not None:
            summary.add(under_way[0], under_way[1].result())
        summary.seconds = perf_counter() - started
        if faults:
            raise faults[0].again(more=f". {_sent_before(summary)}") from faults[0]
        progress.update(task, completed=1.0, rows=_rows(summary))
    return summary


def _until_bad(parts: Iterable[Part], faults: list[BadFile]) -> Iterator[Part]:
    """Yield the parts before a line that ends the import; what is wrong with it goes to ``faults``."""
    try:
        yield from parts
    except BadFile as error:
        faults.append(error)


def _sent_before(summary: Summary) -> str:
    """Say what became of the parts before a bad line."""
    if not summary.accepted + summary.rejected_total:
        return "Nothing of the file was sent"
    first = summary.rejected[:1]
    refused = "".join(
        f", {summary.rejected_total:,} refused, the first in line {one['line']} ({one['detail']})"
        for one in first
    )
    return (
        f"Of the rows before, {summary.accepted:,} are stored{refused}; import the mended file: "
        "what was sent counts once"
    )


@contextmanager
def _giving_up(client: ServiceClient, summary: Summary) -> Iterator[None]:
    """Say what is stored when the service is gone for good; nothing waits for it any longer then."""
    try:
        yield
    except BaseException as error:
        client.close()
        if not isinstance(error, StoreUnavailable):
            raise
        raise StoreUnavailable(
            f"{error}. {summary.accepted:,} rows are stored for certain; import the same file again "
            "when the service is back: what it has counts once"
        ) from error


def part_key(index: int, part: Part) -> str:
    """Return the Idempotency-Key of a part: its place and its content, so that a mended file goes on."""
    digest = hashlib.blake2b(part.lines, digest_size=16, salt=index.to_bytes(8, "big"))
    return f"import-{digest.hexdigest()}"


def _progress() -> Progress:
    console = Console(stderr=True)
    return Progress(
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rows]}"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def _rows(summary: Summary) -> str:
    rejected = f", {summary.rejected_total:,} rejected" if summary.rejected_total else ""
    return f"{summary.accepted:,} rows{rejected}, {summary.rate:,.0f}/s"


def _show(name: str, summary: Summary) -> None:
    whose = "" if name == FEEDBACK else f"{name}: "
    known = (
        f"; {summary.known:,} of them had been sent before: they count once"
        if summary.known
        else ""
    )
    say(f"{whose}{_rows(summary)}, {summary.seconds:.1f} s{known}")
    for one in summary.rejected[:SHOWN]:
        say(f"{whose}line {one['line']}: {one['code']}: {one['detail']}")
    if summary.rejected_total > SHOWN:
        say(f"... and {summary.rejected_total - SHOWN:,} more; --json lists the first {KEPT:,}")
