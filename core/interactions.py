"""Observed pairs of users and items: the data of the batch models. ``splits.py`` divides them.

Rows are users in CSR form: items are sorted within a row, and each pair occurs once. A pair has a
weight and a target, both 1 unless given; a dislike has target 0. All other pairs are unobserved.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from core.errors import DataError, ShapeError
from core.kernels.pairs import transpose
from core.types import F32, I32, I64

MOST = 1 << 31
"""Upper bound of user and item numbers, exclusive."""
LATEST = 1e18
"""Largest time, in ms."""


@dataclass(frozen=True)
class Interactions:
    """n observed pairs of ``n_users`` and ``n_items``; row u is ``item_ix[ptr[u]:ptr[u + 1]]``.

    >>> pairs = from_pairs(np.array([0, 1, 1]), np.array([2, 0, 2]))
    >>> len(pairs), pairs.n_users, pairs.n_items, pairs.user_counts.tolist()
    (3, 2, 3, [1, 2])
    """

    n_items: int
    ptr: I64
    """(n_users + 1,)"""
    item_ix: I32
    """(n,), rising within a row."""
    weight: F32 | None = None
    """(n,), above 0; None: all 1."""
    target: F32 | None = None
    """(n,); None: all 1."""
    time: I64 | None = None
    """(n,), in ms."""

    @property
    def n_users(self) -> int:
        return self.ptr.size - 1

    def __len__(self) -> int:
        return self.item_ix.size

    @property
    def user_ix(self) -> I32:
        """Return the user of each pair, (n,)."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), self.user_counts)

    @property
    def user_counts(self) -> I64:
        """Return the number of pairs of each user, (n_users,)."""
        return np.diff(self.ptr)

    @property
    def item_counts(self) -> I64:
        """Return the number of pairs of each item, (n_items,)."""
        return np.bincount(self.item_ix, minlength=self.n_items)

    @property
    def liked(self) -> "Interactions":
        """Return the pairs with a target above 0; users and items keep their numbers."""
        return self if self.target is None else self.keep(self.target > 0)

    def keep(self, chosen: "np.typing.NDArray[np.bool_]") -> "Interactions":
        """Return the chosen pairs; users and items keep their numbers."""
        before = np.concatenate([[0], np.cumsum(chosen, dtype=np.int64)])
        return Interactions(
            self.n_items,
            before[self.ptr],
            self.item_ix[chosen],
            None if self.weight is None else self.weight[chosen],
            None if self.target is None else self.target[chosen],
            None if self.time is None else self.time[chosen],
        )

    def rows(self, users: I64) -> "Interactions":
        """Return the rows of these users, in the given order."""
        counts = self.user_counts[users]
        ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        at = np.repeat(self.ptr[users] - ptr[:-1], counts) + np.arange(ptr[-1])
        return Interactions(
            self.n_items,
            ptr,
            self.item_ix[at],
            None if self.weight is None else self.weight[at],
            None if self.target is None else self.target[at],
            None if self.time is None else self.time[at],
        )

    def by_item(self) -> "Interactions":
        """Return the transpose without times: rows are items, and ``item_ix`` holds users."""
        ptr = np.concatenate([[0], np.cumsum(self.item_counts)]).astype(np.int64)
        users = np.empty(len(self), np.int32)
        none = np.empty(0, np.float32)
        weight, target = (none if v is None else v for v in (self.weight, self.target))
        w, t = np.empty_like(weight), np.empty_like(target)
        transpose(self.ptr, self.item_ix, weight, target, ptr[:-1].copy(), users, w, t)
        return Interactions(
            self.n_users,
            ptr,
            users,
            None if self.weight is None else w,
            None if self.target is None else t,
        )


def from_pairs(
    user_ix: ArrayLike,
    item_ix: ArrayLike,
    *,
    n_users: int | None = None,
    n_items: int | None = None,
    weight: Any = None,
    target: Any = None,
    time: Any = None,
) -> Interactions:
    """Return the pairs as Interactions; if a pair occurs more than once, its last row counts.

    ``time`` is in whole ms, or a numpy datetime64.

    >>> from_pairs(np.array([1, 0, 1]), np.array([2, 0, 2])).item_ix
    array([0, 2], dtype=int32)
    """
    users, items = whole_numbers("user", user_ix), whole_numbers("item", item_ix)
    if users.shape != items.shape or users.ndim != 1:
        raise ShapeError(f"one item for each user: got {users.shape} users and {items.shape} items")
    n_users = _bound("user", users, n_users)
    n_items = _bound("item", items, n_items)
    key = users * max(n_items, 1) + items
    # np.unique reports the first occurrence: in reverse order that is the last row of the pair
    _, first = np.unique(key[::-1], return_index=True)
    kept = key.size - 1 - first
    ptr = np.concatenate([[0], np.cumsum(np.bincount(users[kept], minlength=n_users))])
    return Interactions(
        n_items,
        ptr.astype(np.int64),
        items[kept].astype(np.int32),
        _values("weight", weight, key.size, kept),
        _values("target", target, key.size, kept),
        _moments(time, key.size, kept),
    )


def _bound(name: str, ix: I64, given: int | None) -> int:
    lowest, highest = int(ix.min(initial=0)), int(ix.max(initial=-1))
    bound = MOST if given is None else given
    if lowest < 0 or highest >= bound:
        raise DataError(
            f"{name} numbers must be in 0 .. {bound - 1}: got {lowest if lowest < 0 else highest}; "
            "number all ids without gaps (np.unique(ids, return_inverse=True))"
        )
    return highest + 1 if given is None else given


def whole_numbers(name: str, given: Any) -> I64:
    """Return numbers of users or items, (n,) or (); raise DataError for fractions."""
    ix = np.asarray(given)
    if ix.dtype.kind == "O":
        ix = np.array(ix.tolist())
    is_float = ix.dtype.kind == "f" and bool(np.isfinite(ix).all())
    if ix.dtype.kind not in "iub" and not (is_float and bool((ix == np.rint(ix)).all())):
        raise DataError(
            f"{name} numbers must be whole numbers from 0: number all ids "
            "(np.unique(ids, return_inverse=True))"
        )
    return ix.astype(np.int64)


def _values(name: str, values: Any, n: int, kept: I64) -> F32 | None:
    if values is None:
        return None
    given = np.asarray(values, np.float32)
    _check_size(name, given, n)
    wanted = given[kept]
    _check_values(name, wanted)
    return None if (wanted == 1.0).all() else wanted


def _moments(time: Any, n: int, kept: I64) -> I64 | None:
    if time is None:
        return None
    given = np.asarray(time)
    _check_size("time", given, n)
    if given.dtype.kind == "M":
        missing, given = np.isnat(given), given.astype("datetime64[ms]").astype(np.int64)
    else:
        missing = ~np.isfinite(given) if given.dtype.kind == "f" else np.zeros(n, np.bool_)
    if given.dtype.kind not in "iuf" or missing.any():
        raise DataError(
            "a time is missing, infinite or not a number: correct or remove the pair, "
            "or give no times"
        )
    if given.dtype.kind == "f" and ((given != np.rint(given)) | (np.abs(given) > LATEST)).any():
        raise DataError("times must be whole numbers of milliseconds: convert and round them")
    return given.astype(np.int64)[kept]


def _check_size(name: str, values: "np.typing.NDArray[Any]", n: int) -> None:
    if values.shape != (n,):
        raise ShapeError(f"one {name} for each pair: got {values.shape} for {n} pairs")


def _check_values(name: str, values: F32) -> None:
    if not np.isfinite(values).all():
        raise DataError(f"a {name} is NaN or infinite: correct or remove the pair")
    if name == "weight" and not (values > 0.0).all():
        raise DataError("a weight is not above 0: remove the pair or give it target 0")


def check_pairs(pairs: Interactions) -> None:
    """Raise DataError or ShapeError unless a fit can learn from these pairs."""
    if len(pairs) == 0:
        raise DataError("there are no pairs to learn from: give at least one")
    if pairs.item_ix.min() < 0 or pairs.item_ix.max() >= pairs.n_items:
        raise DataError(f"item numbers must be in 0 .. {pairs.n_items} - 1")
    for name, values in (("weight", pairs.weight), ("target", pairs.target)):
        if values is not None:
            _check_size(name, values, len(pairs))
            _check_values(name, values)


def as_interactions(user_items: Any) -> Interactions:
    """Return Interactions, given themselves or as a sparse matrix of weights as in ``implicit``.

    A negative value is a dislike: a pair of that weight with target 0. Stored zeros are not pairs.
    """
    if isinstance(user_items, Interactions):
        return user_items
    # the type of sparse matrices lacks most of their methods
    given: Any = user_items if sparse.issparse(user_items) else None
    if given is None or given.ndim != 2:
        raise ShapeError("give Interactions or a scipy.sparse matrix, one row for each user")
    if given.dtype.kind not in "biuf":
        raise ShapeError(f"a matrix of {given.dtype} holds no weights: give real numbers")
    # before duplicates are added up: 100 + 100 is -56 in eight bits
    pairs: Any = sparse.coo_array(given).astype(np.float64)
    pairs.sum_duplicates()
    # as in scipy, the sum of two true values is true
    value = np.minimum(pairs.data, 1.0) if given.dtype.kind == "b" else pairs.data
    known = value != 0
    return from_pairs(
        pairs.row[known],
        pairs.col[known],
        n_users=int(pairs.shape[0]),
        n_items=int(pairs.shape[1]),
        weight=np.abs(value[known]),
        target=(value[known] > 0).astype(np.float32),
    )


def chunks(ptr: I64, n: int) -> I64:
    """Return n + 1 row numbers that cut the rows into n parts of similar size (pairs and rows).

    The parts depend on the data alone, so results do not depend on the number of threads.

    >>> chunks(np.array([0, 9, 10, 11, 12]), 2)
    array([0, 1, 4])
    """
    rows = np.arange(ptr.size, dtype=np.int64)
    effort = ptr + rows
    return np.searchsorted(effort, np.linspace(0, effort[-1], n + 1)).astype(np.int64)
