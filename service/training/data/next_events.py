"""The positive events after the cut one by one, in order: the item that a user took next.

The models have learned events up to the cut; the user's history is that of the moment before the
event, as when models serve. So the figures are those that the follower's judge would measure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from core.batch.preferences import Preferences
from core.errors import DataError
from core.interactions import Interactions
from core.kernels.scan import Mask
from core.stack.logit import SHORT
from core.steps import latest
from core.types import F32, I32, I64
from service.training.data.dataset import Dataset, Order

MOST_EVENTS = 3_000
"""Most held-out positives by which families are chosen."""
MOST_FIRST = 1_000
"""Most positives of beginners, from which a stack learns too."""


@dataclass(frozen=True, eq=False)
class NextEvents:
    """n positives after the cut."""

    data: Dataset
    row: I64
    """Row of the user among the held-out users, (n,); -1 for a beginner."""
    user_ix: I64
    """Row of the user in the dataset, (n,)."""
    before: I64
    """Number of the user's steps between the cut and the event, (n,)."""
    item: I32
    """(n,)"""

    def __len__(self) -> int:
        return self.row.size

    @property
    def of_beginners(self) -> Mask:
        """Mark the events of beginners, (n,)."""
        return np.asarray(self.row < 0)

    def preferences(self, n: int) -> Preferences:
        """Return what was known of the user before event n."""
        data, row, user = self.data, int(self.row[n]), int(self.user_ix[n])
        order = _order_of(data)
        between = order.later.of(user)[: self.before[n]]
        known, whole = _row(data.known, user), _row(data.whole, user)
        since = np.isin(whole[0], between) & ~np.isin(whole[0], known[0])
        parts = [np.concatenate([old, new[since]]) for old, new in zip(known, whole, strict=True)]
        at = np.argsort(parts[0])
        item_ix, weight, target = (part[at] for part in parts)
        seen = between if row < 0 else np.union1d(_row(data.held_out.seen, row)[0], between)
        steps = np.concatenate([order.known.of(user), between])
        return Preferences(item_ix, weight, target, np.unique(seen).astype(np.int32), latest(steps))

    def context(self, n: int) -> Mapping[str, str]:
        """Return where event n happened; empty if that is not known."""
        contexts, later = self.data.contexts, _order_of(self.data).later
        if contexts is None:
            return {}
        return contexts.of_step(int(later.user_ptr[self.user_ix[n]] + self.before[n]))

    def and_then(self, more: "NextEvents") -> "NextEvents":
        """Return these events, and more of the same data."""
        names = ("row", "user_ix", "before", "item")
        joined = (np.concatenate([getattr(one, name) for one in (self, more)]) for name in names)
        return NextEvents(self.data, *joined)


def next_events(data: Dataset, *, most: int = MOST_EVENTS) -> NextEvents:
    """Return held-out positives; of each user the first ones, as many as there is room for."""
    found = [*_events(data)]
    columns = np.array(found, np.int64).reshape(-1, 4)
    drawn = np.random.default_rng(0).random(len(columns))
    kept = np.sort(np.lexsort((drawn, columns[:, 1]))[:most])
    row, _, before, item = columns[kept].T
    return NextEvents(data, row, data.held_out.user_ix[row], before, item.astype(np.int32))


def first_events(data: Dataset, *, most: int = MOST_FIRST) -> NextEvents:
    """Return positives after the first preferences of beginners, who came after the cut.

    Only of them is known what follows a short history, to models that have learned nothing of it.
    """
    order, rng = _order_of(data), np.random.default_rng(0)
    came = np.diff(order.later.user_ptr)
    beginners = np.flatnonzero((np.diff(order.known.user_ptr) == 0) & (came > 1))
    # each has at most SHORT - 1 events: a sample of users with all of theirs
    some = rng.permutation(beginners)[:most].tolist()
    found = [event for user in some for event in _first_events(data, user)]
    user_ix, before, item = np.array(found[:most], np.int64).reshape(-1, 3).T
    row = np.full(user_ix.size, -1, np.int64)
    return NextEvents(data, row, user_ix, before, item.astype(np.int32))


def _events(data: Dataset) -> Iterator[tuple[int, int, int, int]]:
    """Yield the row, the number among those of the user, the steps before, and the item."""
    held, later = data.held_out.held, _order_of(data).later
    for row, user in enumerate(data.held_out.user_ix.tolist()):
        steps, own = later.of(user), _row(held, row)[0]
        items, first = np.unique(steps, return_index=True)
        came = first[np.isin(items, own)]
        came.sort()
        for turn, before in enumerate(came.tolist()):
            yield row, turn, before, int(steps[before])


def _first_events(data: Dataset, user: int) -> Iterator[tuple[int, int, int]]:
    """Yield the user, the steps before and the item of each positive after a short history."""
    steps = _order_of(data).later.of(user)
    preferred, _, target = _row(data.whole, user)
    items, first = np.unique(steps, return_index=True)
    came = np.sort(first[np.isin(items, preferred)])
    liked = target[np.searchsorted(preferred, steps[came])] > 0.0
    for n in range(1, min(SHORT, came.size)):
        if liked[n]:
            yield user, int(came[n]), int(steps[came[n]])


def _order_of(data: Dataset) -> Order:
    if data.order is None:
        raise DataError("the order of events was not read")
    return data.order


def _row(pairs: Interactions, row: int) -> tuple[I32, F32, F32]:
    """Return the items, weights and targets of a row."""
    at = slice(pairs.ptr[row], pairs.ptr[row + 1])
    ones = np.ones(pairs.item_ix[at].size, np.float32)
    weight = ones if pairs.weight is None else pairs.weight[at]
    target = ones if pairs.target is None else pairs.target[at]
    return pairs.item_ix[at], weight, target
