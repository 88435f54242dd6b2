"""The fitted autoregression: how strongly each item predicts each item that may come next.

    score = x B,    x = latest items, weighted by age, length 1;  B = (G + R)^-1 C

``fit.py`` makes B, which is dense for small catalogues and sparse for large ones.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from core.kernels import rows as kernels
from core.types import F32, I32, I64


class Coefficients(Protocol):
    """B (items, items): row i holds how strongly item i predicts each target."""

    @property
    def n_items(self) -> int: ...

    @property
    def learned(self) -> NDArray[np.bool_]:
        """Return which rows have a coefficient other than 0, (items,)."""

    def combined(self, items: I32, weight: F32) -> F32:
        """Return the weighted sum of some rows, (items,)."""

    def among(self, items: I32, targets: I32) -> F32:
        """Return the coefficients of items (k,) for targets (m,), (k, m)."""


@dataclass(frozen=True)
class Dense:
    """All coefficients."""

    values: F32
    """(items, items)"""

    @property
    def n_items(self) -> int:
        return len(self.values)

    @property
    def learned(self) -> NDArray[np.bool_]:
        return np.asarray(self.values.any(axis=1))

    def combined(self, items: I32, weight: F32) -> F32:
        scores = np.zeros(self.n_items, np.float32)
        kernels.add_rows(items, weight, self.values, scores)
        return scores

    def among(self, items: I32, targets: I32) -> F32:
        return self.values[np.ix_(items, targets)]


@dataclass(frozen=True)
class Sparse:
    """Coefficients other than 0: row i is ``target[ptr[i]:ptr[i + 1]]``."""

    ptr: I64
    """(items + 1,)"""
    target: I32
    """(n,), rising within a row."""
    value: F32
    """(n,)"""

    @property
    def n_items(self) -> int:
        return self.ptr.size - 1

    @property
    def learned(self) -> NDArray[np.bool_]:
        return np.diff(self.ptr) > 0

    @property
    def matrix(self) -> Any:
        """Return B (items, items) in CSR."""
        shape = self.n_items, self.n_items
        return sparse.csr_array((self.value, self.target, self.ptr), shape=shape)

    def combined(self, items: I32, weight: F32) -> F32:
        scores = np.zeros(self.n_items, np.float32)
        kernels.add_sparse_rows(items, weight, self.ptr, self.target, self.value, scores)
        return scores

    def among(self, items: I32, targets: I32) -> F32:
        return np.array([self.combined(items[[at]], _ONE)[targets] for at in range(items.size)])


_ONE = np.ones(1, np.float32)


@dataclass(frozen=True, eq=False)
class Autoregression:
    """Ranks items by the user's latest ones.

    >>> b = Dense(np.array([[0, 1], [1, 0]], np.float32))
    >>> Autoregression(b, np.ones(2, np.float32)).scores(np.array([0], np.int32)).tolist()
    [-inf, 1.0]
    """

    coefficients: Coefficients
    age_weight: F32
    """Weight of the latest items by age, (L,)."""

    @property
    def n_items(self) -> int:
        return self.coefficients.n_items

    @cached_property
    def learned(self) -> NDArray[np.bool_]:
        """Return which items predict any other, (items,)."""
        return self.coefficients.learned

    def knows(self, latest: I32) -> bool:
        """Return whether any of the latest items predicts another."""
        if latest.size and latest[0] < self.n_items and self.learned[latest[0]]:
            return True
        return bool(self.learned[self._read(latest)].any())

    def row(self, latest: I32) -> tuple[I32, F32]:
        """Return the known ones of the latest items, newest first, and their weights."""
        items = self._read(latest)
        weight = self.age_weight[: items.size]
        return items, weight / max(float(np.linalg.norm(weight)), 1e-30)

    def _read(self, latest: I32) -> I32:
        return latest[latest < self.n_items][: self.age_weight.size]

    def scores(self, latest: I32) -> F32:
        """Return x B, (items,), for items newest first; -inf for items of which nothing is known.

        An item whose score is exactly 0 never came after the latest ones or anything like them.
        """
        scores = self.coefficients.combined(*self.row(latest))
        scores[scores == 0.0] = -np.inf
        return scores

    def parts(self, latest: I32, targets: I32) -> Any:
        """Return the known latest items and the part of each in the targets' scores, (k, m)."""
        items, weight = self.row(latest)
        return items, weight[:, None] * self.coefficients.among(items, targets)
