"""The fit of the autoregression: ridge regression of the next items on the latest ones.

    B = (G + R)^-1 (C + back C'),    G = X'X,  C = X'Y,  R = reg (g / m)^nu

g is the diagonal of G, m the mean of g.

X is never dense: its products are added up row by row. Where items^2 does not fit into memory, each
target has a regression of its own on the items that most often precede it. With a large ``reg`` B
becomes R^-1 C, the counts of what follows what; so a search that may raise ``reg`` and ``nu`` finds
them where they are better. A low rank loses more than either: docs/explanation/sequences.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from core.batch.autoregression.config import AutoregressionConfig
from core.batch.autoregression.model import Autoregression, Dense, Sparse
from core.batch.autoregression.windows import age_weights, rows_of
from core.errors import DataError, Diverged
from core.kernels import autoregression as kernels
from core.steps import Steps
from core.types import F32, I64


@dataclass(frozen=True)
class Moments:
    """The products that a fit needs: G = X'X and C = X'Y (items, items), dense or sparse."""

    gram: Any
    """If dense, its upper triangle alone."""
    cross: Any


def fit(steps: Steps, config: AutoregressionConfig) -> Autoregression:
    """Return the model fitted to these steps; raise DataError if no user has two."""
    check_steps(steps)
    if is_exact(steps, config):
        values = _exact(dense_moments(steps, config), config)
        return Autoregression(Dense(values), age_weights(config))
    return Autoregression(on_supports(sparse_moments(steps, config), config), age_weights(config))


def is_exact(steps: Steps, config: AutoregressionConfig) -> bool:
    """Return whether the catalogue is small enough for the exact solution."""
    return steps.n_items <= config.exact_up_to


def check_steps(steps: Steps) -> None:
    """Raise DataError unless somebody took two steps."""
    if not (np.diff(steps.user_ptr) > 1).any():
        raise DataError("no user has two events, so nothing is known of their order")
    if not (np.isfinite(steps.weight).all() and (steps.weight > 0.0).all()):
        raise DataError("the weights of steps must be finite and above 0")


def dense_moments(steps: Steps, config: AutoregressionConfig) -> Moments:
    """Return G and C with what ``back`` adds, both (items, items) float32."""
    shape = steps.n_items, steps.n_items
    gram, cross = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    for rows in rows_of(steps, config):
        kernels.add_products(*_csr(rows.x), *_csr(rows.y), gram, cross)
    if config.back:
        backwards = np.float32(config.back) * cross.T
        np.fill_diagonal(backwards, 0.0)
        cross += backwards
    return Moments(gram, cross)


def factorised(moments: Moments, config: AutoregressionConfig) -> Any:
    """Return the Cholesky factor of G + R; ``moments.gram`` is overwritten."""
    gram = moments.gram
    gram[np.diag_indices_from(gram)] += _reg(np.diag(gram), config)
    try:
        return linalg.cho_factor(gram.T, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError as error:
        raise Diverged("the regression is not positive definite: raise reg") from error


def popularity_scale(cross: Any, config: AutoregressionConfig) -> F32:
    """Return the factor (items,) by which scores are multiplied, smaller for frequent items."""
    taken = 1.0 + np.asarray(cross.sum(axis=0), np.float64).ravel()
    scale: F32 = ((taken / taken.mean()) ** -config.popularity).astype(np.float32)
    return scale


def _exact(moments: Moments, config: AutoregressionConfig) -> F32:
    scale = popularity_scale(moments.cross, config)
    values = linalg.cho_solve(factorised(moments, config), moments.cross, check_finite=False)
    return np.ascontiguousarray(values * scale, np.float32)


def _reg(own: F32, config: AutoregressionConfig) -> F32:
    """Return R (items,); an item that occurs nowhere counts as one that occurs once."""
    mean = float(own[own > 0.0].mean())
    reg: F32 = (config.reg * ((own + 1.0) / mean) ** config.nu).astype(np.float32)
    return reg


def sparse_moments(steps: Steps, config: AutoregressionConfig) -> Moments:
    """Return G and C with what ``back`` adds, both (items, items) in CSR."""
    shape = steps.n_items, steps.n_items
    gram: Any = sparse.csr_array(shape, dtype=np.float32)
    cross: Any = sparse.csr_array(shape, dtype=np.float32)
    for rows in rows_of(steps, config):
        gram = gram + rows.x.T @ rows.x
        cross = cross + rows.x.T @ rows.y
    if config.back:
        cross = cross + config.back * (cross - sparse.diags_array(cross.diagonal())).T
    return Moments(sparse.csr_array(gram), sparse.csr_array(cross))


def on_supports(moments: Moments, config: AutoregressionConfig) -> Sparse:
    """Return the coefficients of each target's most frequent sources."""
    gram, scale = moments.gram, popularity_scale(moments.cross, config)
    sources: Any = _most_frequent(sparse.csr_array(moments.cross.T), config.sources)
    gram.sort_indices()
    ptr, ix, cross = _csr(sources)
    out = np.empty_like(cross)
    reg = _reg(gram.diagonal(), config)
    kernels.solve_on_support(ptr, ix, cross, *_csr(gram), reg, out)
    out *= np.repeat(scale, np.diff(ptr))
    found: Any = sparse.csr_array(sparse.csr_array((out, ix, ptr), shape=gram.shape).T)
    found.sort_indices()
    return Sparse(*_csr(found))


def _most_frequent(rows: Any, most: int) -> Any:
    """Return a CSR matrix with the largest entries of each row, columns rising."""
    rows.eliminate_zeros()
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, -rows.data, row))
    rank = np.arange(row.size) - rows.indptr[row]
    kept = order[rank < most]
    chosen: Any = sparse.coo_array(
        (rows.data[kept], (row[kept], rows.indices[kept])), shape=rows.shape
    ).tocsr()
    chosen.sort_indices()
    return chosen


def _csr(matrix: Any) -> tuple[I64, Any, F32]:
    """Return the arrays of a CSR matrix in the types of the kernels."""
    return (
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float32),
    )
