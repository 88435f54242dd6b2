"""Popularity: everybody gets the items that most users have. The rival of every other model."""

from typing import Any, Self

import numpy as np

from core.batch.ranker import Ranker, liked_counts
from core.errors import ConfigError
from core.interactions import as_interactions
from core.types import F32


class Popular(Ranker):
    """The score of an item is the number of users who have it with a target above 0.

    >>> from hedgerow import Popular, from_pairs
    >>> pairs = from_pairs([0, 1, 1, 2], [1, 1, 0, 2])
    >>> Popular().fit(pairs).recommend(2, pairs, N=2)[0]
    array([1, 0], dtype=int32)
    """

    def fit(self, user_items: Any) -> Self:
        """Count."""
        self._item_factors = self._popular = liked_counts(as_interactions(user_items))
        return self

    def user_vectors(self, user_items: Any) -> F32:
        """Return 1 for everybody."""
        return np.ones((self._known(user_items).n_users, 1), np.float32)

    @property
    def likeness(self) -> F32:
        """Refuse: what is alike is nothing that counting tells."""
        raise ConfigError("popularity knows of no item what it is like: ask a model such as Fbgd")
