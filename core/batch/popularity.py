"""Popularity: all users get the items that most users like. The baseline for all other models."""

from typing import Any, Self

import numpy as np

from core.batch.ranker import Ranker, liked_counts
from core.errors import ConfigError
from core.interactions import as_interactions
from core.types import F32


class Popular(Ranker):
    """A ranker that scores an item by the number of users who have it with a target above 0.

    >>> from hedgerow import Popular, from_pairs
    >>> pairs = from_pairs([0, 1, 1, 2], [1, 1, 0, 2])
    >>> Popular().fit(pairs).recommend(2, pairs, N=2)[0]
    array([1, 0], dtype=int32)
    """

    def fit(self, user_items: Any) -> Self:
        """Count the users of each item."""
        self._item_factors = self._popular = liked_counts(as_interactions(user_items))
        return self

    def user_vectors(self, user_items: Any) -> F32:
        """Return 1 for every user, (users, 1)."""
        return np.ones((self._known(user_items).n_users, 1), np.float32)

    @property
    def likeness(self) -> F32:
        """Raise ConfigError: counts do not say which items are similar."""
        raise ConfigError(
            "popularity does not say which items are similar: use a model such as Fbgd"
        )
