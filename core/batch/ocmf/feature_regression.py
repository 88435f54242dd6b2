"""Regression of users' features to their vectors, after a fit: the vector of a new user, from features alone.

The users of the fit keep free vectors, and features are fitted to these. On MovieLens both the users with a history
and those without one are served better so than by a fit whose users are made of features (docs/explanation/retraining.md).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from core.batch.feature_map import FeatureMap, Features
from core.batch.ocmf.users import StructuredUsers
from core.errors import ShapeError
from core.types import F32, F64

RIDGE = 30.0
"""Prior evidence that a feature says nothing, in users."""
FADING = 1.0
"""Exponent of the fading of features with the length of a history: at 1 they count as one of its events. They help with the
first five events, later they would do harm."""
MOST_STEPS, TOLERANCE = 200, 1e-4


def with_regression(users: StructuredUsers, vectors: F32, features: Features) -> StructuredUsers:
    """Return the same users with W such that features (users, d) come near their vectors (users, g).

    Equation   W = (X'X + RIDGE I)^-1 X'P,  x of length 1 and a constant (FeatureMap), p the users' vectors
    """
    if features.shape[0] != vectors.shape[0]:
        raise ShapeError(f"features of {features.shape[0]} users for {vectors.shape[0]} vectors")
    known = FeatureMap()
    weights = ridge(known.transform(features), vectors, RIDGE)
    return replace(users, weights=weights.astype(np.float32), feature_map=known, fading=FADING)


def ridge(features: Any, targets: F32, reg: float) -> F64:
    """Solve (X'X + reg I) W = X'Y by conjugate gradients, column by column of Y at once.

    features X (n, d) sparse or dense · targets Y (n, g); returns W (d, g). Nothing of the size d x d is made.
    """
    weights = np.zeros((features.shape[1], targets.shape[1]))
    residual = np.asarray(features.T @ targets.astype(np.float64))
    direction, size = residual.copy(), np.square(residual).sum(0)
    enough = size * TOLERANCE**2
    for _ in range(MOST_STEPS):
        if (size <= enough).all():
            break
        ahead = np.asarray(features.T @ (features @ direction)) + reg * direction
        step = size / np.maximum((direction * ahead).sum(0), 1e-300)
        weights += step * direction
        residual -= step * ahead
        before, size = size, np.square(residual).sum(0)
        direction = residual + size / np.maximum(before, 1e-300) * direction
    return weights
