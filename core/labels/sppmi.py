"""Association of points by shared labels: shifted positive pointwise mutual information.

It measures how much more often two points share labels than by chance, for points alone (ExMLDS1)
or for points and labels together (ExMLDS3). The matrix of shared labels is never formed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from core.errors import ConfigError, DataError
from core.interactions import Interactions
from core.kernels import sppmi as kernels
from core.labels.config import Mix
from core.types import F32, F64, I32, I64


@dataclass(frozen=True, eq=False)
class Association:
    """A symmetric matrix (n, n), its positive elements in CSR; columns of a row are unsorted."""

    ptr: I64
    """(n + 1,)"""
    ix: I32
    """(nnz,)"""
    value: F32
    """(nnz,), above 0."""

    @property
    def size(self) -> int:
        return self.ptr.size - 1

    def times(self, block: F32) -> F32:
        """Return the product with a block of vectors, (n, k)."""
        out = np.empty_like(block)
        kernels.sparse_product(self.ptr, self.ix, self.value, block, out)
        return out


def sppmi(labels: Interactions, shift: float = 1.0) -> Association:
    """Return SPPMI(Y Y') of n points, (n, n); (Y Y')_ij counts the labels that i and j share.

    SPPMI(M)_ij = max(log(M_ij sum(M) / (M_i. M_.j)) - log(shift), 0), and 0 where M_ij = 0.

    >>> two = Interactions(2, np.array([0, 1, 2]), np.array([0, 1], dtype=np.int32))
    >>> sppmi(two).value  # each point is alone: log(1 * 2 / (1 * 1))
    array([0.6931472, 0.6931472], dtype=float32)
    """
    n = labels.n_users
    nothing: Any = sparse.csr_array((n, n), dtype=np.float32)
    return _sppmi(labels, 1.0, nothing, labels.item_counts[labels.item_ix], shift)


def joint_sppmi(
    labels: Interactions, correlations: Any, mix: Mix, shift: float = 1.0
) -> Association:
    """Return SPPMI(A) of n points and L labels, (n + L, n + L).

    A = [[mu2 Y Y', mu3 Y], [mu3 Y', mu1 C]] with the label correlations C (L, L), symmetric and not
    negative.
    """
    member, known = as_matrix(labels), _checked(correlations)
    # The upper left block is empty here, because the kernel sums it from Y.
    beside: Any = sparse.block_array(
        [
            [sparse.csr_array((labels.n_users, labels.n_users)), mix.members * member],
            [mix.members * member.T, mix.labels * known],
        ],
        format="csr",
    )
    ptr = np.concatenate([labels.ptr, np.full(labels.n_items, labels.ptr[-1])])
    widened = Interactions(labels.n_items, ptr, labels.item_ix)
    together = labels.item_counts[labels.item_ix]
    return _sppmi(widened, mix.points, beside, together, shift)


def co_occurrence(labels: Interactions) -> sparse.csr_array:
    """Return Y'Y, (L, L): the number of points with both labels."""
    member = as_matrix(labels)
    return sparse.csr_array(member.T @ member)


def as_matrix(labels: Interactions) -> sparse.csr_array:
    """Return Y, (n, L) f32."""
    shape = labels.n_users, labels.n_items
    ones = np.ones(len(labels), np.float32)
    return sparse.csr_array((ones, labels.item_ix, labels.ptr), shape=shape)


def _checked(correlations: Any) -> sparse.csr_array:
    """Return C; DataError unless it is symmetric and not negative."""
    known: Any = sparse.csr_array(correlations)
    if known.nnz and not (known.data.min() >= 0.0 and np.isfinite(known.data).all()):
        raise DataError("label correlations must be finite and not negative: give counts")
    apart = abs(known - known.T)
    if apart.nnz and apart.max() > 1e-6 * known.max():
        raise DataError(
            "label correlations must be symmetric: give counts of labels that occur together"
        )
    return sparse.csr_array(known)


def _sppmi(
    labels: Interactions, scale: float, beside: Any, together: I64, shift: float
) -> Association:
    """Return SPPMI(scale Y Y' + E); ``together`` (pairs,) counts points with a pair's label."""
    if not 0.0 < shift < np.inf:
        raise ConfigError(f"the shift must be above 0, not {shift}")
    share = _shares(labels, scale, beside, together, shift)
    owners = labels.by_item()
    extra = (
        beside.indptr.astype(np.int64),
        beside.indices.astype(np.int32),
        beside.data.astype(np.float32),
    )
    given = (labels.ptr, labels.item_ix, owners.ptr, owners.item_ix, scale, *extra, share)
    counts = np.empty(share.size, np.int64)
    kernels.sppmi_counts(*given, counts)
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    ix, value = np.empty(ptr[-1], np.int32), np.empty(ptr[-1], np.float32)
    kernels.sppmi_values(*given, ptr, ix, value)
    return Association(ptr, ix, value)


def _shares(labels: Interactions, scale: float, beside: Any, together: I64, shift: float) -> F64:
    """Return sqrt(sum(A) / shift) / A_i. of each row, 0 for an empty one."""
    shared: Any = np.bincount(labels.user_ix, together.astype(np.float64), labels.n_users)
    rows = np.asarray(scale * shared + beside.sum(axis=1), np.float64)
    share = np.zeros_like(rows)
    np.divide(np.sqrt(rows.sum() / shift), rows, out=share, where=rows > 0)
    return share
