"""Blocks of items in columns: what documents say of them, and whether they may be shown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from core.filter import CATEGORY, Columns, Facts, Mask
from core.types import I64
from service.store.catalogue.feed import StoredItem

BLOCK = 1_024
"""Number of items in a block: a change copies the columns of one block."""

TIMES = frozenset({"available_from", "available_until", "created"})
"""What filters see of a document beside features; a feature of the same name comes first."""

ALWAYS, NEVER = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)
_EPOCH, _MS = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)


@dataclass(frozen=True)
class Block:
    """The items ``i * BLOCK .. (i + 1) * BLOCK - 1``; all arrays (BLOCK,)."""

    closed: Mask
    """Whether an item is hidden or deleted."""
    opens: I64
    closes: I64
    """An item is shown from ``opens`` on and before ``closes``, in ms."""
    created: I64
    """When an item was written for the first time, in ms; ``ALWAYS`` where that is not known."""
    columns: Columns
    """Columns of the categories, and of the features that filters have named."""

    def replaced(self, items: Mapping[int, StoredItem], names: Iterable[str]) -> "Block":
        """Return the block with new documents for some items, by their index in the block."""
        indexes = list(items)
        closed, opens, closes = self.closed.copy(), self.opens.copy(), self.closes.copy()
        created = self.created.copy()
        closed[indexes] = [item.hidden or item.deleted for item in items.values()]
        opens[indexes] = [_moment(item.available_from, ALWAYS) for item in items.values()]
        closes[indexes] = [_moment(item.available_until, NEVER) for item in items.values()]
        created[indexes] = [
            ALWAYS if item.created_ms is None else item.created_ms for item in items.values()
        ]
        facts = {index: _facts(item) for index, item in items.items()}
        return Block(closed, opens, closes, created, self.columns.replaced(facts, names))

    def shown(self, now_ms: int) -> tuple[Mask, int, int]:
        """Return which items may be shown now, and from when and before when that is valid."""
        moments = np.concatenate((self.opens, self.closes))
        return (
            ~self.closed & (self.opens <= now_ms) & (now_ms < self.closes),
            int(moments.max(where=moments <= now_ms, initial=ALWAYS)),
            int(moments.min(where=moments > now_ms, initial=NEVER)),
        )


EMPTY = Block(
    np.zeros(BLOCK, np.bool_),
    np.full(BLOCK, ALWAYS),
    np.full(BLOCK, NEVER),
    np.full(BLOCK, ALWAYS),
    Columns(BLOCK, {}),
)
"""A block of items without documents."""


def _facts(item: StoredItem) -> Facts:
    moments = {name: _time(moment) for name, moment in _moments(item) if moment is not None}
    return {**moments, **item.features, CATEGORY: item.categories}


def _moments(item: StoredItem) -> Iterable[tuple[str, datetime | None]]:
    yield "available_from", item.available_from
    yield "available_until", item.available_until
    known = item.created_ms is not None
    yield "created", _EPOCH + timedelta(milliseconds=item.created_ms or 0) if known else None


def _time(moment: datetime) -> list[float | str]:
    """Return a time as a filter compares it: in seconds since 1970, or as text to the second."""
    told = moment.astimezone(UTC).replace(microsecond=0, tzinfo=None)
    return [(moment - _EPOCH) / timedelta(seconds=1), f"{told.isoformat()}Z"]


def _moment(moment: datetime | None, otherwise: int) -> int:
    return otherwise if moment is None else (moment - _EPOCH) // _MS
