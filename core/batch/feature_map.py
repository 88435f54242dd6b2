"""Prepare features of users or instances for a linear model: unit rows and a constant column.

In a row without features only the constant is left, so such a user gets popular items.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core.batch.nystroem import Nystroem, fit_nystroem
from core.errors import DataError, ShapeError

Features = sp.csr_array | NDArray[np.floating[Any]]

CONSTANT = 0.3
"""Value of the constant column, beside rows of length 1.

Its weights are regularised about ten times as strongly as those of the features.
"""

LARGEST_FEATURE = 1e12
"""Largest absolute value of a feature: sums of squares stay within float32."""

WANTED = (
    "features must be a matrix of numbers: encode texts as columns (core.features.FeatureEncoder)"
)

MOST_DENSE = 1 << 28
"""Most elements of a sparse matrix that is made dense to add non-linear features (1 GB)."""


def checked(features: Any) -> Features:
    """Return the features as float32, in CSR if they are sparse.

    Raises ShapeError unless they are a matrix, DataError for values that are not finite numbers or
    are too large.
    """
    matrix: Any = _numbers(features)
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    if matrix.ndim != 2:
        raise ShapeError("features must be a matrix: one row for each user")
    if not np.isfinite(values).all():
        raise DataError("a feature is NaN or infinite: correct or remove it")
    if np.abs(values).max(initial=0.0) > LARGEST_FEATURE:
        raise DataError(
            f"a feature exceeds {LARGEST_FEATURE:g} in absolute value: divide it by a constant"
        )
    ready: Features = matrix
    return ready


def _numbers(features: Any) -> Features:
    try:
        # a number too large for float32 becomes infinity, which ``checked`` refuses
        with np.errstate(over="ignore"):
            if not isinstance(features, list | tuple | np.ndarray):
                return sp.csr_array(features, dtype=np.float32)
            given = np.asarray(features)
            # other dtypes are refused: numpy would read "1" as 1, and dates as days
            if given.dtype.kind in "biufO":
                return np.ascontiguousarray(given, np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{WANTED}: {error}") from error
    raise DataError(WANTED)


def unit_rows(features: Features) -> Features:
    """Return rows of length 1; an empty row stays empty."""
    rows: Any = features
    if isinstance(rows, np.ndarray):
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Any = rows / np.where(length > 0, length, 1.0)
    else:
        length = np.sqrt(rows.multiply(rows).sum(axis=1))
        unit = sp.csr_array(sp.diags_array(1.0 / np.where(length > 0, length, 1.0)) @ rows)
    ready: Features = unit.astype(np.float32)
    return ready


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """A map of features to unit rows, a constant column and, if fitted, non-linear features.

    >>> FeatureMap().transform(np.array([[3.0, 4.0]])).round(1)
    array([[0.6, 0.8, 0.3]], dtype=float32)
    """

    nystroem: Nystroem | None = None

    def transform(self, features: Any) -> Features:
        rows: Any = unit_rows(checked(features))
        parts: list[Any] = [np.full((rows.shape[0], 1), CONSTANT, np.float32)]
        if self.nystroem is not None:
            parts.append(self.nystroem.transform(rows))
        if isinstance(rows, np.ndarray):
            joined: Any = np.hstack([rows, *parts])
        elif self.nystroem is None or rows.shape[0] * rows.shape[1] > MOST_DENSE:
            joined = sp.csr_array(sp.hstack([rows, *parts]))
        else:
            joined = np.hstack([rows.toarray(), *parts])
        ready: Features = joined
        return ready


def fit_features(
    features: Any, *, centres: int = 0, gamma: float = 1.0, seed: int = 0
) -> FeatureMap:
    """Return the map for such features; 0 ``centres`` means no non-linear features.

    >>> x = np.random.default_rng(0).random((20, 3))
    >>> fit_features(x, centres=5).transform(x).shape  # three features, five centres, a constant
    (20, 9)
    """
    if centres == 0:
        return FeatureMap()
    rows = unit_rows(checked(features))
    return FeatureMap(fit_nystroem(rows, centres, gamma, np.random.default_rng(seed)))
