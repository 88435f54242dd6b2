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
        asked = np.atleast_1d(np.asarray(user, np.int64))
        if asked.min(initial=0) < 0 or asked.max(initial=-1) >= pairs.n_users:
            raise ConfigError(f"user numbers must be in 0 .. {pairs.n_users - 1}")
        rows = pairs.rows(asked)
        left_out = rows if exclude_seen else rows.keep(np.zeros(len(rows), np.bool_))
        if exclude is not None:
            left_out = _with_each(left_out, np.asarray(exclude, np.int64))
        ids, scores = rank(self.asked_vectors(asked, rows), self.item_factors, left_out, n)
        return (ids[0], scores[0]) if np.ndim(user) == 0 else (ids, scores)

    def similar_items(self, item: int, n: int = 10) -> tuple[I32, F32]:
        """Return the items of the nearest direction (cosine), the item itself first."""
        if not 0 <= item < self.item_factors.shape[0]:
            raise ConfigError(f"item numbers must be in 0 .. {self.item_factors.shape[0] - 1}")
        length = np.linalg.norm(self.item_factors, axis=1, keepdims=True)
        unit = np.ascontiguousarray(self.item_factors / np.maximum(length, 1e-12), np.float32)
        ids, scores = np.empty(n, np.int32), np.empty(n, np.float32)
        topk.top_k(unit[item], unit, np.empty(0, np.int32), ids, scores)
        return ids, scores

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


def _with_each(pairs: Interactions, items: I64) -> Interactions:
    """Add the same items to every row."""
    extra = np.unique(items)
    rows = [
        np.union1d(pairs.item_ix[a:b], extra)
        for a, b in zip(pairs.ptr, pairs.ptr[1:], strict=False)
    ]
    ptr = np.concatenate([[0], np.cumsum([row.size for row in rows])]).astype(np.int64)
    return Interactions(pairs.n_items, ptr, np.concatenate(rows).astype(np.int32))
