"""Predicted stars of user-item pairs from the features of both.

The score of one ordinal model is a product of two vectors: the cosine of a sum decomposes into
products, so the contribution of an item is a vector of its own. Ranking all items for a user takes
one product per item, as with factors. Unrated items have vectors, too.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from core.errors import ShapeError
from core.ordinal.model import OrdinalModel
from core.types import F32, F64


@dataclass(frozen=True, eq=False)
class Stars:
    """A score of pairs, f(u, y) = p_u . q_y - offset.

    Symbols    q_y = [cos b, sin b], b = W'z of the item's features · a = W'z of the user's
               p_u = [c cos a + s sin a, s cos a - c sin a], c and s the weights of cosines and
               sines
    """

    model: OrdinalModel
    n_user_features: int
    values: F64
    """Rating that each level stands for, (levels,)."""
    item_vectors: F32
    """q (items, 2m); 0 for items without features."""

    def user_vectors(self, features: Any) -> F32:
        """Return p of users with these features, (n, 2m)."""
        cosine, sine = self._waves(features, self._user)
        c, s = np.split(self.model.weights, 2)
        return np.hstack([c * cosine + s * sine, s * cosine - c * sine])

    def vectors_of(self, features: Any) -> F32:
        """Return q of items with these features, (n, 2m); 0 for rows without any."""
        vectors = np.hstack(self._waves(features, self._item))
        vectors[np.diff(features.indptr) == 0] = 0.0
        return vectors

    def scores(self, features: Any) -> F32:
        """Return f of users with these features and all items, (n, items).

        It is -inf for items without features.
        """
        found = self.user_vectors(features) @ self.item_vectors.T - np.float32(self.model.offset)
        found[:, ~self.item_vectors.any(axis=1)] = -np.inf
        return found

    def of_pairs(self, users: Any, items: Any) -> F64:
        """Return f of n pairs with these features, (n,)."""
        products = self.user_vectors(users) * np.hstack(self._waves(items, self._item))
        scores: F64 = products.sum(axis=1, dtype=np.float64) - self.model.offset
        return scores

    def _waves(self, features: Any, part: slice) -> tuple[F32, F32]:
        model = self.model
        width = len(range(*part.indices(model.low.size)))
        if features.shape[1] != width:
            raise ShapeError(f"{features.shape[1]} features, the model needs {width}")
        # Computes z' W without forming z, which the lower ends of the ranges would make dense.
        inverse, ends = model.inverse_range[part], model.low[part] * model.inverse_range[part]
        scaled = sparse.csr_array(features, copy=True)
        scaled.data = (scaled.data * inverse[scaled.indices]).astype(np.float32)
        moved = np.flatnonzero(ends)
        frequencies = model.frequencies[part]
        angles = scaled @ frequencies - (ends[moved] @ frequencies[moved]).astype(np.float32)
        return np.cos(angles), np.sin(angles)

    @property
    def _user(self) -> slice:
        return slice(0, self.n_user_features)

    @property
    def _item(self) -> slice:
        return slice(self.n_user_features, None)
