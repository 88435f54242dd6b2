"""Find the new items: described, with few events and few showings; the newest come first.

Made when the catalogue or the counters change, never for a request.
"""

import numpy as np
from msgspec import Struct

from core.affinity import described
from core.meaning import Mask
from core.types import F64, I32, I64
from service.ranking.exploration import NewItems, doubt_of

FEW_EVENTS = 5.0
"""Evidence from which on an item is not new: the rankers know where it belongs."""
ENOUGH_SHOWINGS = 100
"""Showings from which on an item is not new, whatever came of them."""
MOST_NEW = 1_000
"""Largest number of new items; there may be more in a catalogue that nobody has seen yet."""


class Said(Struct, frozen=True, eq=False):
    """The descriptions of a catalogue's items, as pairs (item, feature) in the order of items."""

    item: I64
    column: I32
    n_columns: int
    opens: I64
    """(n,) when each item is shown first, in ms; the lowest number where nothing is said."""


def new_items(said: Said, allowed: Mask, events: F64, showings: F64) -> NewItems:
    """Return the new items among those that may be shown.

    Shapes     allowed (n,) · events, showings (m,) of each item; items beyond them have none
    """
    n = allowed.size
    events, showings = _filled(events, n), _filled(showings, n)
    known = described(said.item, said.column, n, said.n_columns, events)
    new = allowed & (events < FEW_EVENTS) & (showings < ENOUGH_SHOWINGS)
    items = np.flatnonzero(new & (np.diff(known.ptr) > 0)).astype(np.int32)
    newest = np.lexsort((items, said.opens[items]))[-MOST_NEW:]
    items = np.sort(items[newest])
    return NewItems(items, doubt_of(events[items], showings[items]), known)


def _filled(counts: F64, n: int) -> F64:
    """Return the first n counts, 0 where there are fewer."""
    return np.pad(counts[:n], (0, max(n - counts.size, 0)))
