"""The order of events: which items drew a user's attention, one after another.

A step is an event of any kind that has a weight, whether the user liked the item or not. Models of
the order (what follows what) learn from steps, and rank by the user's latest ones.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import DataError
from core.kernels import latest as kernels
from core.meaning import CODES, RATING, EventMeanings, HistoryColumns
from core.types import F32, F64, I32, I64, U8

LATEST = 30
"""Number of latest items by which models of the order rank."""
_READ = 4 * LATEST
"""Number of latest records of a user in which the latest items are looked for."""
_NO_WEIGHTS: F64 = np.zeros(CODES)


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of many users, oldest first: ``item_ix[user_ptr[u]:user_ptr[u + 1]]`` are of u."""

    n_items: int
    user_ptr: I64
    """(users + 1,)"""
    item_ix: I32
    """Item numbers below ``n_items``, (n,)."""
    weight: F32
    """Weight of each step, above 0, (n,)."""

    @property
    def n_users(self) -> int:
        return self.user_ptr.size - 1

    @property
    def user_ix(self) -> I64:
        """Return the user of each step, (n,)."""
        return np.repeat(np.arange(self.n_users), np.diff(self.user_ptr))

    def of(self, user: int) -> I32:
        """Return the items of a user, oldest first."""
        return self.item_ix[self.user_ptr[user] : self.user_ptr[user + 1]]

    def latest(self, user: int) -> I32:
        """Return the latest distinct items of a user, newest first."""
        return latest(self.of(user))


def steps_of(
    user_ix: NDArray[Any],
    item_ix: NDArray[Any],
    order: NDArray[Any] | None = None,
    *,
    n_users: int,
    n_items: int,
    weight: NDArray[Any] | None = None,
) -> Steps:
    """Return the steps of n events; equal values of ``order`` (n,) keep the given order.

    >>> steps_of([1, 0, 1], [5, 6, 7], [30, 20, 10], n_users=2, n_items=8).of(1).tolist()
    [7, 5]
    """
    users, items = np.asarray(user_ix, np.int64), np.asarray(item_ix, np.int32)
    if users.shape != items.shape or (order is not None and np.shape(order) != users.shape):
        raise DataError("users, items and their order must have the same length")
    if users.size and not (users.min() >= 0 and users.max() < n_users):
        raise DataError("a user number is out of range")
    if items.size and not (items.min() >= 0 and items.max() < n_items):
        raise DataError("an item number is out of range")
    keys = (users,) if order is None else (np.asarray(order), users)
    at = np.lexsort(keys)
    weights = np.ones(users.size, np.float32) if weight is None else np.asarray(weight, np.float32)
    ptr = np.searchsorted(users[at], np.arange(n_users + 1)).astype(np.int64)
    return Steps(n_items, ptr, items[at], weights[at])


def latest(items: NDArray[Any]) -> I32:
    """Return the latest distinct items of a sequence (n,), newest first, at most ``LATEST``.

    >>> latest(np.array([4, 9, 4, 7])).tolist()
    [7, 4, 9]
    """
    newest = items[-_READ:]
    return _latest(newest, np.full(newest.size, RATING, np.uint8), _NO_WEIGHTS)


def latest_items(history: HistoryColumns, meanings: EventMeanings) -> I32:
    """Return the items of a user's latest steps, newest first."""
    newest = np.argsort(history.sequence, kind="stable")[-_READ:]
    return _latest(history.item[newest], history.kind[newest], meanings.kinds.weight)


def _latest(item: NDArray[Any], kind: U8, weight: F64) -> I32:
    found = np.empty(LATEST, np.int32)
    # copies, because the kernel is compiled for one array layout
    n = kernels.latest(item.astype(np.int32), kind.astype(np.uint8), weight, found)
    return found[:n]
