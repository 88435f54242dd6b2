"""The stored transitions: rows of items, and a journal of the changes since they were written.

``core.transitions`` makes and reads the bytes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import redis

from service.store.connection import store_errors

SCANNED = 500
"""Rows asked for by one command: bounds how long other clients wait."""
READ_BYTES = 1 << 20
"""Approximate bytes of the journal read by one command, for the same reason."""
MOST_ENTRIES = 1_000
"""Largest number of entries of the journal read by one command."""


@dataclass(frozen=True, slots=True)
class TransitionRows:
    """Rows of some items, in the same order."""

    items: Sequence[int] = ()
    rows: Sequence[bytes] = ()

    @property
    def fields(self) -> list[int | bytes]:
        """Return the fields and values of the hash."""
        return [part for pair in zip(self.items, self.rows, strict=True) for part in pair]


@dataclass(frozen=True, kw_only=True, slots=True)
class TransitionsChange:
    """The part of a commit."""

    entry: bytes = b""
    """New entry of the journal; empty for none."""
    rows: TransitionRows = TransitionRows()
    """Rows that hold the whole journal, with the new entry."""
    obsolete: int | None = None
    """Sequence up to which entries of the journal are removed."""


NO_TRANSITIONS = TransitionsChange()


def read_transitions(client: redis.Redis, key: str) -> Iterator[TransitionRows]:
    """Yield all rows, each once."""
    seen: set[int] = set()
    cursor = 0
    while True:
        with store_errors():
            answer = client.hscan(key, cursor, count=SCANNED)
        cursor, page = cast("tuple[int, dict[bytes, bytes]]", answer)
        # a scan may return a field twice while the hash grows
        rows = {int(name): row for name, row in page.items() if int(name) not in seen}
        seen |= rows.keys()
        yield TransitionRows(list(rows), list(rows.values()))
        if not cursor:
            return


def read_journal(client: redis.Redis, key: str) -> Iterator[tuple[int, bytes]]:
    """Yield (sequence, entry) of the whole journal, oldest first."""
    first, n = "-", 1
    while True:
        with store_errors():
            answer = client.xrange(key, first, "+", count=n)
        page = cast("list[tuple[bytes, dict[bytes, bytes]]]", answer)
        for name, fields in page:
            yield int(name.partition(b"-")[0]), fields[b"d"]
        if len(page) < n:
            return
        first = f"({page[-1][0].decode()}"
        largest = max(len(fields[b"d"]) for _, fields in page)
        n = min(MOST_ENTRIES, max(1, READ_BYTES // max(1, largest)))
