"""Regression from features to users' vectors: a new user's vector follows from features alone.

It runs after a fit in which users have free vectors. On MovieLens this serves users better, with
and without a history, than a fit in which features make the vectors
(docs/explanation/retraining.md).
"""

from dataclasses import replace
from typing import Any

import numpy as np

from core.batch.feature_map import FeatureMap, Features
from core.batch.ocmf.users import StructuredUsers
from core.errors import ShapeError
from core.types import F32, F64

RIDGE = 30.0
"""Strength of the ridge: the prior evidence, in users, that a feature has no effect."""
FADING = 1.0
"""Exponent with which features fade as a history grows; at 1 they count as one of its events.

Features help with the first five events; later they would do harm.
"""
MOST_STEPS, TOLERANCE = 200, 1e-4
"""Most conjugate-gradient steps, and the residual that ends them as a share of the first one."""


def with_regression(users: StructuredUsers, vectors: F32, features: Features) -> StructuredUsers:
    """Return the users with weights W that map features (users, d) close to vectors (users, g).

    Equation   W = (X'X + RIDGE I)^-1 X'P
    Symbols    x unit rows with a constant (FeatureMap) · p the users' vectors
    """
    if features.shape[0] != vectors.shape[0]:
        raise ShapeError(f"{features.shape[0]} rows of features for {vectors.shape[0]} vectors")
    feature_map = FeatureMap()
    weights = ridge(feature_map.transform(features), vectors, RIDGE)
    return replace(
        users, weights=weights.astype(np.float32), feature_map=feature_map, fading=FADING
    )


def ridge(features: Any, targets: F32, reg: float) -> F64:
    """Return W (d, g), the solution of (X'X + reg I) W = X'Y, by conjugate gradients.

    ``features`` X (n, d) are sparse or dense, ``targets`` Y are (n, g). All columns of Y are solved
    at once, each with its own steps. No array of size d x d is made.
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
