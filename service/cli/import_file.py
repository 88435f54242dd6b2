"""`hedgerow import`: a file of feedback to a running service, in parts that count once however often sent."""

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from service.cli import options
from service.cli.store import say
from service.client import Receipt, ServiceClient
from service.feedback_file import Part, read_parts
from service.ratings_file import BadRatingsFile

STREAM = "/v1/ratings/stream"
SHOWN = 20
"""Bad rows that are spelt out on the terminal; the JSON form has the first 1 000."""
KEPT = 1_000

app = options.verb()


@dataclass
class Summary:
    """What became of a whole file."""

    accepted: int = 0
    rejected_total: int = 0
    rejected: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    sequence: str = ""

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
        Path, typer.Argument(help="CSV or NDJSON, plain or gzip; - is standard input.")
    ],
    url: options.Url = options.LOCAL,
    key: options.Key = None,
    as_json: options.Json = False,
) -> None:
    """Send a file of ratings to a running service.

    A CSV needs a header with user,item,rating and may have timestamp; NDJSON may hold what POST /v1/ratings
    takes. A line of NDJSON that is no event is rejected and the others go on; a line of a CSV that cannot be
    read ends the import: mend it and import the file again. A connection that breaks is taken up again, and a file that is imported twice within the service's
    dedupe window (the last 1 000 000 events, 24 hours) counts once. The exit code is 1 if a row was rejected.
    """
    with readable(file) as path, ServiceClient(url, key) as client:
        # an empty stream tells at once whether the service is there and the key is good
        client.upload(STREAM, b"")
        summary = send(client, path)
    if as_json:
        typer.echo(json.dumps(summary.__dict__ | {"ratings_per_second": summary.rate}))
    else:
        _show(summary)
    raise typer.Exit(1 if summary.rejected_total else 0)


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
        except BadRatingsFile as error:
            raise BadRatingsFile(str(error).replace(copy.name, "standard input", 1)) from error


def send(client: ServiceClient, path: Path) -> Summary:
    """Send all parts in order; one is under way while the next is read."""
    summary, started = Summary(), perf_counter()
    under_way: tuple[Part, Future[Receipt]] | None = None
    with _progress() as progress, ThreadPoolExecutor(1) as sender:
        task = progress.add_task("", total=1.0, rows="")
        for index, part in enumerate(read_parts(path)):
            sending = sender.submit(client.upload, STREAM, part.lines, part_key(index, part))
            if under_way is not None:
                summary.add(under_way[0], under_way[1].result())
            under_way = part, sending
            summary.seconds = perf_counter() - started
            progress.update(task, completed=part.read, rows=_rows(summary))
        if under_way is not None:
            summary.add(under_way[0], under_way[1].result())
        summary.seconds = perf_counter() - started
        progress.update(task, completed=1.0, rows=_rows(summary))
    return summary


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


def _show(summary: Summary) -> None:
    say(f"{_rows(summary)}, {summary.seconds:.1f} s")
    for one in summary.rejected[:SHOWN]:
        say(f"line {one['line']}: {one['code']}: {one['detail']}")
    if summary.rejected_total > SHOWN:
        say(f"... and {summary.rejected_total - SHOWN:,} more; --json lists the first {KEPT:,}")
