"""A fitted label model of items: it ranks items for users by features, and users for an item.

This module imports no fitting code.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from core.batch.feature_map import FeatureMap
from core.errors import ConfigError, ShapeError
from core.labels.space import LabelSpace
from core.types import F32, F64, I64


@dataclass(frozen=True, eq=False)
class ItemsAsLabels:
    """L items as labels of users with d features; one cluster of one learner.

    user u likes y     score = votes of neighbours for y, and h_y . z;  z = W'x, x features of u
    an unknown item    h = V'f, f its features
    similar items      cosine of vectors from SPPMI(Y'Y)
    """

    space: LabelSpace
    item_places: F32
    """(L, g), rows of length 1; 0 for items with too few users."""
    item_weights: F32 | None = None
    """V (d_items + 1, g), for item features with a constant; None without item features."""

    @cached_property
    def known(self) -> "np.typing.NDArray[np.bool_]":
        """Mask of the items that a user of the fit liked, (L,)."""
        counts: I64 = self.space.labels.item_counts
        return counts > 0

    def scores(self, features: Any) -> F32:
        """Return the scores of all items for users with these features, (n, L).

        They are -inf for items that nobody liked.
        """
        found = self.space.scores(features)
        found[:, ~self.known] = -np.inf
        return found

    def factors_of(self, features: Any) -> F32:
        """Return h of items with these features, (n, g).

        Raises ConfigError if the model was fitted without item features.
        """
        if self.item_weights is None:
            raise ConfigError(
                "the model was trained without features of items: send some and retrain it"
            )
        mapped: Any = FeatureMap().transform(features)
        if mapped.shape[1] != self.item_weights.shape[0]:
            raise ShapeError(
                f"{mapped.shape[1]} columns of items, the model has {self.item_weights.shape[0]}"
            )
        return np.asarray(mapped @ self.item_weights, np.float32)

    def audience(self, factors: F32, features: Any) -> tuple[F64, Any]:
        """Return the users' scores of one item with factors (g,), and each feature's contribution.

        Equation   h . z_u = sum_j x_uj (W h)_j: scores (users,), contributions (users, d) sparse,
                   without that of the constant
        """
        mapped: Any = self.space.mapped(features)
        says = self.space.weights[0] @ factors
        parts = mapped.multiply(says[None, :]).tocsr()
        return np.asarray(mapped @ says, np.float64), parts[:, : self.space.n_features]
