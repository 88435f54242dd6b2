"""The shape that all ranking models share: the score of a pair is user vector . item factors.

A user's vector is made from the user's pairs when it is needed (fold-in), never looked up: a user that the fit
has not seen is answered like any other.
"""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from core.errors import ConfigError, NotFitted, ShapeError
from core.interactions import Interactions, as_interactions
from core.kernels import topk
from core.types import F32, I32, I64

ROUNDING = 1e-6
"""A vector that is shorter than this share of the longest one has no direction."""


class Ranker(ABC):
    """Fit on users x items, then recommend; results are (ids, scores) arrays, best first."""

    _item_factors: F32 | None = None

    @property
    def item_factors(self) -> F32:
        """Return the items' vectors, (items, g)."""
        if self._item_factors is None:
            raise NotFitted("the model has not been fitted: call fit first")
        return self._item_factors

    @abstractmethod
    def fit(self, user_items: Any) -> Self:
        """Learn from the pairs; returns the model itself."""

    @abstractmethod
    def user_vectors(self, user_items: Any) -> F32:
        """Return the vector of each row of pairs, (users, g)."""

    def asked_vectors(self, users: I64, rows: Interactions) -> F32:
        """Return the vectors of users whose pairs are ``rows``; most models know nobody by number."""
        return self.user_vectors(rows)

    def recommend(
        self,
        user: int | I64,
        user_items: Any,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        exclude: I32 | I64 | None = None,
    ) -> tuple[I32, F32]:
        """Return the best items of one user (n,) or several (users, n); -1 and -inf where items run out.

        Row u of ``user_items`` are the pairs of user u: the vectors come from them, and so do the exclusions.
        """
        pairs = self._known(user_items)
        asked = _numbers("user", user, pairs.n_users)
        rows = pairs.rows(asked)
        left_out = rows if exclude_seen else rows.keep(np.zeros(len(rows), np.bool_))
        if exclude is not None:
            left_out = _with_each(left_out, np.asarray(exclude, np.int64))
        ids, scores = rank(self.asked_vectors(asked, rows), self.item_factors, left_out, n)
        return (ids[0], scores[0]) if np.ndim(user) == 0 else (ids, scores)

    @property
    def likeness(self) -> F32:
        """Return the vectors that items are compared by, (items, f): no constants and no biases."""
        return self.item_factors

    def similar_items(self, item: int | I64, n: int = 10) -> tuple[I32, F32]:
        """Return the items of the nearest direction (cosine), the item itself first: (n,), of several (items, n).

        -1 and -inf where items run out. An item that nothing was learned of is like no other.
        """
        unit = _unit(self.likeness)
        asked = _numbers("item", item, unit.shape[0])
        itself = Interactions(unit.shape[0], np.arange(asked.size + 1), asked.astype(np.int32))
        ids, scores = rank(unit[asked], unit, itself, n)
        ids = np.column_stack([itself.item_ix, ids[:, :-1]])
        scores = np.column_stack([np.ones(asked.size, np.float32), scores[:, :-1]])
        return (ids[0], scores[0]) if np.ndim(item) == 0 else (ids, scores)

    def _known(self, user_items: Any) -> Interactions:
        pairs = as_interactions(user_items)
        if pairs.n_items != self.item_factors.shape[0]:
            raise ShapeError(
                f"the model knows {self.item_factors.shape[0]} items, the pairs {pairs.n_items}"
            )
        return pairs


def rank(users: F32, item_factors: F32, excluded: Interactions, n: int) -> tuple[I32, F32]:
    """Return each user's n best items outside ``excluded`` and their scores; runs on all threads."""
    if n < 1:
        raise ConfigError(f"at least one item must be asked for, not {n}")
    ids = np.empty((users.shape[0], n), np.int32)
    scores = np.empty((users.shape[0], n), np.float32)
    topk.top_k_all(
        np.ascontiguousarray(users), item_factors, excluded.ptr, excluded.item_ix, ids, scores
    )
    return ids, scores


def _numbers(name: str, given: int | I64, n: int) -> I64:
    """Return the numbers (asked,) of whom or what is asked for."""
    asked = np.atleast_1d(np.asarray(given, np.int64))
    if asked.min(initial=0) < 0 or asked.max(initial=-1) >= n:
        raise ConfigError(f"{name} numbers must be in 0 .. {n - 1}")
    return asked


def _unit(vectors: F32) -> F32:
    """Return vectors of length 1; NaN, which never enters a list, for those that are nothing but rounding."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    known = length > ROUNDING * length.max(initial=0.0)
    unit = np.full(vectors.shape, np.nan, np.float32)
    np.divide(vectors, length, out=unit, where=known)
    return unit


def _with_each(pairs: Interactions, items: I64) -> Interactions:
    """Add the same items to every row."""
    extra = np.unique(items)
    rows = [
        np.union1d(pairs.item_ix[a:b], extra)
        for a, b in zip(pairs.ptr, pairs.ptr[1:], strict=False)
    ]
    ptr = np.concatenate([[0], np.cumsum([row.size for row in rows])]).astype(np.int64)
    return Interactions(pairs.n_items, ptr, np.concatenate(rows).astype(np.int32))
