"""Find the new items: described, with few events and few showings; the newest come first.

Made when the catalogue or the counters change, never for a request.
"""

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from core.affinity import described
from core.kernels.scan import Mask
from core.types import F64, I32, I64
from service.ranking.newcomers import Newcomers
from service.ranking.ranker import Ranker
from service.ranking.slates.exploration import NewItems, doubt_of

FEW_EVENTS = 5.0
"""Evidence from which on an item is not new: the rankers know where it belongs."""
ENOUGH_SHOWINGS = 100
"""Showings from which on an item is not new, whatever came of them."""
MOST_NEW = 1_000
"""Largest number of new items; there may be more in a catalogue that nobody has seen yet."""
LOOK_ALIKES = 20
"""Known items that stand for a new one."""


class Said(Struct, frozen=True, eq=False):
    """The descriptions of a catalogue's items, as pairs (item, feature) in the order of items."""

    item: I64
    column: I32
    n_columns: int
    opens: I64
    """(n,) when each item is shown first, in ms; the lowest number where nothing is said."""


def new_items(
    said: Said, allowed: Mask, events: F64, showings: F64, placing: Ranker | None = None
) -> NewItems:
    """Return the new items among those that may be shown.

    ``placing`` is the ranker that places items by their documents, if there is one.

    Shapes     allowed (n,) · events, showings (m,) of each item; items beyond them have none
    """
    n = allowed.size
    events, showings = _filled(events, n), _filled(showings, n)
    known = described(said.item, said.column, n, said.n_columns, events)
    new = allowed & (events < FEW_EVENTS) & (showings < ENOUGH_SHOWINGS)
    new &= (np.diff(known.ptr) > 0) | _placed(placing, n)
    items = np.flatnonzero(new).astype(np.int32)
    newest = np.lexsort((items, said.opens[items]))[-MOST_NEW:]
    items = np.sort(items[newest])
    return NewItems(items, doubt_of(events[items], showings[items]), known, placing)


class LookAlikes:
    """Finds the look-alikes of new items; what was found stays as long as the documents do."""

    def __init__(self) -> None:
        self._of = ""
        self._rows: dict[int, tuple[bytes, I32]] = {}
        """The place of an item, and what is alike."""

    def joined(self, new: NewItems, events: F64) -> NewItems:
        """Return the new items with their look-alikes among items that are not new."""
        placing = new.placing
        if placing is None:
            return new
        if self._of != placing.version:
            self._of, self._rows = placing.version, {}
        places = {item: placing.item_vectors[item].tobytes() for item in _known_to(placing, new)}
        found = {i: self._rows[i] for i in places if self._rows.get(i, (b"",))[0] == places[i]}
        missing = np.array([item for item in places if item not in found], np.int32)
        alike = placing.alike(missing, events >= FEW_EVENTS, LOOK_ALIKES)
        if missing.size and alike is not None:
            rows = zip(missing.tolist(), alike, strict=True)
            found |= {item: (places[item], row) for item, row in rows}
        self._rows = found
        rows_of = [found[item][1] for item in sorted(found)]
        at = np.searchsorted(new.items, sorted(found))
        alikes = np.array(rows_of, np.int32).reshape(len(rows_of), LOOK_ALIKES)
        coming = Newcomers.of(new.items[at], new.doubt[at], alikes, placing.strategy)
        return replace(new, coming=coming)


def _known_to(placing: Ranker, new: NewItems) -> list[int]:
    return [item for item in new.items.tolist() if placing.has(item)]


def _placed(placing: Ranker | None, n: int) -> Mask:
    """Return which of the items 0 .. n - 1 a ranker places."""
    placed = np.zeros(n, np.bool_)
    if placing is not None:
        some = placing.item_vectors[:n].any(axis=1)
        placed[: some.size] = some
    return placed


def _filled(counts: F64, n: int) -> F64:
    """Return the first n counts, 0 where there are fewer."""
    return np.pad(counts[:n], (0, max(n - counts.size, 0)))
