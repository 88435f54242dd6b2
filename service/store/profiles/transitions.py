"""The stored rows of items that follow others; ``core.transitions`` makes and reads the bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import redis

from service.store.connection import store_errors

SCANNED = 500
"""Rows asked for by one command: bounds how long other clients wait."""


@dataclass(frozen=True, slots=True)
class TransitionRows:
    """Rows of some items, in the same order."""

    items: Sequence[int] = ()
    rows: Sequence[bytes] = ()

    @property
    def fields(self) -> list[int | bytes]:
        """Return the fields and values of the hash."""
        return [part for pair in zip(self.items, self.rows, strict=True) for part in pair]


NO_TRANSITIONS = TransitionRows()


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
