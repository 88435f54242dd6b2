"""A graph of links between users, and its Laplacian for the regulariser."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from core.errors import DataError, ShapeError
from core.interactions import whole_numbers
from core.types import F32

WANTED = "give the graph as a sparse matrix or as (links, 2) user numbers"


def similarity(links: Any, n_users: int) -> sp.csr_array:
    """Return the symmetric non-negative matrix S (n, n) of links between users.

    ``links`` is a sparse matrix of weights, or (links, 2) user numbers whose links weigh 1. If a
    link has different weights in its two directions, the larger one counts. Links of a user to
    itself are dropped. Raises ShapeError or DataError if the links are not of this form.

    >>> similarity([(0, 1), (1, 2)], n_users=3).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]], dtype=float32)
    """
    given = _matrix(links, n_users)
    if given.shape != (n_users, n_users):
        size = " x ".join(map(str, given.shape))
        raise ShapeError(f"the graph is {size} for {n_users} users")
    if not np.isfinite(given.data).all() or (given.data < 0).any():
        raise DataError("a link's weight is NaN, infinite or negative: correct or remove the link")
    both: Any = given.maximum(given.T).tocoo()
    other = (both.row != both.col) & (both.data > 0)
    ends = both.row[other], both.col[other]
    return _sparse(both.data[other].astype(np.float32), ends, n_users)


def laplacian(similar: sp.csr_array) -> sp.csr_array:
    """Return the Laplacian L = D - S; users without links have an empty row.

    >>> laplacian(sp.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]]))).toarray()
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    return sp.csr_array(sp.diags_array(similar.sum(axis=1)) - similar)


def _matrix(links: Any, n_users: int) -> sp.csr_array:
    try:
        if not isinstance(links, list | tuple | np.ndarray):
            given: sp.csr_array = sp.csr_array(links)
            return given
        pairs = whole_numbers("user", links)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{WANTED}: {error}") from error
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ShapeError(WANTED)
    if pairs.min(initial=0) < 0 or pairs.max(initial=-1) >= n_users:
        raise DataError(f"the graph names a user outside 0 .. {n_users - 1}")
    pairs = np.unique(pairs, axis=0)
    return _sparse(np.ones(len(pairs), np.float32), (pairs[:, 0], pairs[:, 1]), n_users)


def _sparse(weight: F32, ends: tuple[Any, Any], n_users: int) -> sp.csr_array:
    matrix: sp.csr_array = sp.csr_array((weight, ends), shape=(n_users, n_users))
    return matrix
