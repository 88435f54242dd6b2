"""The held-out positive events one by one, in order: the item that a user took next.

The models have learned events up to the cut; the user's history is that of the moment before the
event, as when models serve. So the figures are those that the follower's judge would measure.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.batch.preferences import Preferences
from core.errors import DataError
from core.interactions import Interactions
from core.steps import latest
from core.types import F32, I32, I64
from service.training.dataset import Dataset, Order

MOST_EVENTS = 3_000
"""Most held-out positives by which families are chosen."""


@dataclass(frozen=True, eq=False)
class NextEvents:
    """n held-out positives, at most ``MOST_EVENTS``; the first ones of all users come first."""

    data: Dataset
    row: I64
    """Row of the user among the held-out users, (n,)."""
    before: I64
    """Number of the user's steps between the cut and the event, (n,)."""
    item: I32
    """(n,)"""

    def __len__(self) -> int:
        return self.row.size

    @property
    def user_ix(self) -> I64:
        """Return the row of the user in the dataset, (n,)."""
        return self.data.held_out.user_ix[self.row]

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
        seen = np.union1d(_row(data.held_out.seen, row)[0], between).astype(np.int32)
        steps = np.concatenate([order.known.of(user), between])
        return Preferences(item_ix, weight, target, seen, latest(steps))


def next_events(data: Dataset, *, most: int = MOST_EVENTS) -> NextEvents:
    """Return held-out positives; of each user the first ones, as many as there is room for."""
    found = [*_events(data)]
    columns = np.array(found, np.int64).reshape(-1, 4)
    drawn = np.random.default_rng(0).random(len(columns))
    kept = np.sort(np.lexsort((drawn, columns[:, 1]))[:most])
    row, _, before, item = columns[kept].T
    return NextEvents(data, row, before, item.astype(np.int32))


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
