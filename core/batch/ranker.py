"""The interface of all ranking models: the score of a pair is user vector . item factors.

The vector of a user is computed from the user's pairs when it is needed (fold-in), never looked up:
users unseen in the fit get recommendations like all others.
"""

from abc import ABC, abstractmethod
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from core.errors import ConfigError, NotFitted, ShapeError
from core.interactions import MOST, Interactions, as_interactions, whole_numbers
from core.kernels import topk
from core.types import F32, I32, I64

Bools = NDArray[np.bool_]
ROUNDING = 1e-6
"""Length below which a vector has no direction, relative to the longest one."""


class Ranker(ABC):
    """A model that recommends after a fit; results are (ids, scores) arrays, best first.

    >>> from hedgerow import Popular, Ranker
    >>> isinstance(Popular(), Ranker)
    True
    """

    _item_factors: F32 | None = None
    _popular: F32 | None = None
    """Number of users who like each item; see ``liked_counts``."""

    @property
    def item_factors(self) -> F32:
        """Return the items' vectors, (items, g)."""
        if self._item_factors is None:
            raise NotFitted("the model has not been fitted: call fit first")
        return self._item_factors

    @property
    def popular(self) -> F32 | None:
        """Return how many users have each item, (items, 1), where the model knows it."""
        return self._popular

    @abstractmethod
    def user_vectors(self, user_items: Any) -> F32:
        """Return the vector of each row of pairs, (users, g)."""

    def asked_vectors(self, users: I64, rows: Interactions) -> F32:
        """Return the vectors of users with these pairs; most models do not use the user numbers."""
        return self.user_vectors(rows)

    def unknown(self, users: I64, rows: Interactions) -> Bools:
        """Return which of these users the model knows nothing about."""
        without: Bools = rows.user_counts == 0
        return without

    def recommend(
        self,
        userid: ArrayLike,
        user_items: Any,
        N: int = 10,
        filter_already_liked_items: bool = True,
        filter_items: ArrayLike | None = None,
    ) -> tuple[I32, F32]:
        """Return the best items of one user, (N,), or of several, (users, N).

        Lists end with item -1 and score -inf if there are too few items. The parameters are named
        as in ``implicit``. ``user_items`` has one row for each of the users, in their order, or the
        rows of all users. These rows determine the vectors, and the items that lists leave out.
        Unknown users get the items that most users like; scores are then numbers of users.
        """
        asked, rows = self._asked_rows(userid, user_items)
        vectors, unknown = self.asked_vectors(asked, rows), self.unknown(asked, rows)
        seen = left_out(rows, filter_already_liked_items)
        ids, scores = self._ranked(vectors, unknown, seen, N, filter_items)
        return (ids[0], scores[0]) if np.ndim(userid) == 0 else (ids, scores)

    def _ranked(
        self,
        vectors: F32,
        unknown: Bools,
        seen: Interactions,
        n: int,
        filter_items: ArrayLike | None,
    ) -> tuple[I32, F32]:
        """Return the lists of users with these vectors.

        Users who are ``unknown``, or whose vector is 0, get popular items if those are known.
        """
        ids, scores = rank(vectors, _without(self.item_factors, filter_items), seen, n)
        cold = np.flatnonzero(unknown | ~vectors.any(axis=1))
        ids[cold], scores[cold] = -1, -np.inf
        if cold.size and self._popular is not None:
            alike = np.ones((cold.size, 1), np.float32)
            popular = _without(self._popular, filter_items)
            ids[cold], scores[cold] = rank(alike, popular, seen.rows(cold), n)
        return ids, scores

    @property
    def likeness(self) -> F32:
        """Return the item vectors for comparisons, (items, f), without constants and biases."""
        return self.item_factors

    def similar_items(self, itemid: ArrayLike, N: int = 10) -> tuple[I32, F32]:
        """Return the items with the largest cosine, the item itself first: (N,) or (items, N).

        Lists end with item -1 and score -inf if there are too few items. An item without training
        data is similar to no other.
        """
        unit = _unit(self.likeness)
        asked = _numbers("item", itemid, unit.shape[0])
        itself = Interactions(unit.shape[0], np.arange(asked.size + 1), asked.astype(np.int32))
        ids, scores = rank(unit[asked], unit, itself, N)
        ids = np.column_stack([itself.item_ix, ids[:, :-1]])
        scores = np.column_stack([np.ones(asked.size, np.float32), scores[:, :-1]])
        return (ids[0], scores[0]) if np.ndim(itemid) == 0 else (ids, scores)

    def _known(self, user_items: Any) -> Interactions:
        # the type of sparse matrices lacks most of their methods
        given: Any = user_items if sparse.issparse(user_items) else None
        one_row = given is not None and given.ndim == 1
        pairs = as_interactions(given.reshape((1, -1)) if one_row else user_items)
        if pairs.n_items != self.item_factors.shape[0]:
            raise ShapeError(
                f"the model has {self.item_factors.shape[0]} items, "
                f"but the pairs have {pairs.n_items}"
            )
        return pairs

    def _asked_rows(self, userid: ArrayLike, user_items: Any) -> tuple[I64, Interactions]:
        """Return the numbers of the requested users, and the pairs of each."""
        pairs = self._known(user_items)
        n = pairs.n_users
        asked = _numbers("user", userid)
        return (
            (asked, pairs) if asked.size == n else (asked, pairs.rows(_numbers("user", asked, n)))
        )


def rank(users: F32, item_factors: F32, excluded: Interactions, n: int) -> tuple[I32, F32]:
    """Return each user's n best items outside ``excluded``, with scores; uses all threads."""
    if not isinstance(n, Integral) or n < 1:
        raise ConfigError(f"N must be at least 1 and a whole number, not {n!r}")
    ids = np.empty((users.shape[0], n), np.int32)
    scores = np.empty((users.shape[0], n), np.float32)
    topk.top_k_all(
        np.ascontiguousarray(users), item_factors, excluded.ptr, excluded.item_ix, ids, scores
    )
    return ids, scores


def liked_counts(pairs: Interactions) -> F32:
    """Return how many users have each item with a target above 0, (items, 1)."""
    return pairs.liked.item_counts.astype(np.float32)[:, None]


def _numbers(name: str, given: ArrayLike, n: int = MOST) -> I64:
    """Return the requested numbers, (asked,), after a check of their bounds."""
    asked = np.atleast_1d(whole_numbers(name, given))
    lowest, highest = asked.min(initial=0), asked.max(initial=-1)
    if lowest < 0 or highest >= n:
        bounds = f"at least 0 and below {MOST}" if n == MOST else f"in 0 .. {n - 1}"
        got = lowest if lowest < 0 else highest
        raise ConfigError(f"{name} numbers must be {bounds}: got {got}")
    return asked


def _unit(vectors: F32) -> F32:
    """Return vectors of length 1, or of NaN where a vector is only rounding error.

    NaN never enters a list.
    """
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    has_direction = length > ROUNDING * length.max(initial=0.0)
    unit = np.full(vectors.shape, np.nan, np.float32)
    np.divide(vectors, length, out=unit, where=has_direction)
    return unit


def left_out(rows: Interactions, seen: bool) -> Interactions:
    """Return the items that each user's list leaves out: the row's pairs if ``seen``, else none."""
    return rows if seen else rows.keep(np.zeros(len(rows), np.bool_))


def _without(item_factors: F32, items: ArrayLike | None) -> F32:
    """Return the factors with NaN for these items: NaN never enters a list."""
    if items is None:
        return item_factors
    others = item_factors.copy()
    others[_numbers("item", items, item_factors.shape[0])] = np.nan
    return others
