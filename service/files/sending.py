"""Sending files to a running service, part by part; a row that is sent again counts once."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from service.client import Receipt, ServiceClient
from service.errors import StoreUnavailable
from service.files.documents import read_documents
from service.files.feedback import read_parts
from service.files.opening import BadFile
from service.files.parts import FilePart

STREAM = "/v1/events/stream"
KEPT = 1_000
"""Maximum number of rejected rows kept with their reasons; the others are only counted."""


@dataclass
class Summary:
    """The result of sending a file."""

    accepted: int = 0
    rejected_total: int = 0
    rejected: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    sequence: str = ""
    known: int | None = None
    """Accepted rows that the service already had; they count once."""
    ignored: list[str] = field(default_factory=list)
    """Columns or fields of the file that were left out."""

    def add(self, part: FilePart, receipt: Receipt) -> None:
        """Add the receipt of one part."""
        self.accepted += receipt.accepted
        self.sequence = receipt.sequence or self.sequence
        self.ignored += [name for name in part.ignored if name not in self.ignored]
        bad = [
            part.place(one["index"]) | {"code": one["code"], "detail": one["detail"]}
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


OnPart = Callable[[float, Summary], None]
"""Called after each part with the share of the file that has been read and the result so far."""


def _ignored(read: float, summary: Summary) -> None:
    """Ignore the progress."""


def send(client: ServiceClient, path: Path, on_part: OnPart = _ignored) -> Summary:
    """Send all feedback of a file in order; raise BadFile or StoreUnavailable."""
    return send_parts(client, STREAM, read_parts(path), keyed=True, on_part=on_part)


def send_documents(
    client: ServiceClient, path: Path, named: str, on_part: OnPart = _ignored
) -> Summary:
    """Send the documents of a file; ``named`` is item or user.

    The parts need no idempotency key: writing a document twice changes nothing.
    """
    return send_parts(client, f"/v1/{named}s", read_documents(path, named), on_part=on_part)


def send_parts(
    client: ServiceClient,
    route: str,
    parts: Iterable[FilePart],
    *,
    keyed: bool = False,
    on_part: OnPart = _ignored,
) -> Summary:
    """Send all parts in order; read the next part while one is sent."""
    summary, started = Summary(), perf_counter()
    under_way: tuple[FilePart, Future[Receipt]] | None = None
    faults: list[BadFile] = []
    with ThreadPoolExecutor(1) as sender, _giving_up(client, summary):
        for index, part in enumerate(_until_bad(parts, faults)):
            key = part_key(index, part) if keyed else None
            sending = sender.submit(client.upload, route, part.lines, key)
            if under_way is not None:
                summary.add(under_way[0], under_way[1].result())
            under_way = part, sending
            summary.seconds = perf_counter() - started
            on_part(part.read, summary)
        if under_way is not None:
            summary.add(under_way[0], under_way[1].result())
        summary.seconds = perf_counter() - started
        if faults:
            raise faults[0].again(more=f". {_sent_before(summary)}") from faults[0]
        on_part(1.0, summary)
    return summary


def part_key(index: int, part: FilePart) -> str:
    """Return the Idempotency-Key of a part, computed from its position and content.

    After a line is corrected, the parts before it keep their keys and therefore count once.
    """
    digest = hashlib.blake2b(part.lines, digest_size=16, salt=index.to_bytes(8, "big"))
    return f"import-{digest.hexdigest()}"


def _until_bad(parts: Iterable[FilePart], faults: list[BadFile]) -> Iterator[FilePart]:
    """Yield the parts before a bad line; append its error to ``faults``."""
    try:
        yield from parts
    except BadFile as error:
        faults.append(error)


def _sent_before(summary: Summary) -> str:
    """Return a sentence about the parts before a bad line."""
    if not summary.accepted + summary.rejected_total:
        return "Nothing of the file was sent"
    first = summary.rejected[:1]
    refused = "".join(
        f", {summary.rejected_total:,} refused, the first in line {one['line']} ({one['detail']})"
        for one in first
    )
    return (
        f"{summary.accepted:,} earlier rows are stored{refused}; import the corrected file: "
        "rows that are stored already count once"
    )


@contextmanager
def _giving_up(client: ServiceClient, summary: Summary) -> Iterator[None]:
    """Close the client on an error; if the service is away, say how many rows it has stored."""
    try:
        yield
    except BaseException as error:
        client.close()
        if not isinstance(error, StoreUnavailable):
            raise
        raise StoreUnavailable(
            f"{error}. {summary.accepted:,} rows are stored for certain; import the same file "
            "again when the service is back: rows that are stored already count once"
        ) from error
