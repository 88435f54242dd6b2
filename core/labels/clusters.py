"""Clusters of points by direction (k-means), each small enough for a model of its own."""

from typing import Any

import numpy as np
from scipy import sparse

from core.batch.feature_map import Features
from core.types import F32, I64

SWEEPS = 7
BLOCK = 8_192


def direction_clusters(rows: Features, k: int, rng: np.random.Generator) -> tuple[F32, list[I64]]:
    """Return the centres (c, d) of at most k clusters, and the row numbers of each cluster.

    ``rows`` (n, d) must have length 1. A row belongs to the centre with the largest product; no
    cluster is empty.
    """
    X: Any = rows
    n = X.shape[0]
    if k <= 1 or n <= 1:
        return np.zeros((1, X.shape[1]), np.float32), [np.arange(n)]
    centres = _dense(X[np.sort(rng.choice(n, min(k, n), replace=False))])
    for _ in range(SWEEPS):
        member = nearest_centre(X, centres)
        sums = _dense(_indicator(member, len(centres)) @ X)
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(length > 0, sums / np.maximum(length, 1e-12), centres)
    # Assign once more, so that the fit uses the clusters that prediction will find.
    member = nearest_centre(X, centres)
    used = np.flatnonzero(np.bincount(member, minlength=len(centres)))
    return np.ascontiguousarray(centres[used], np.float32), [
        np.flatnonzero(member == part) for part in used
    ]


def nearest_centre(rows: Features, centres: F32) -> I64:
    """Return the number of each row's centre, (n,); among equal ones the first."""
    X: Any = rows
    turned = np.ascontiguousarray(centres.T)
    blocks = [
        np.argmax(X[at : at + BLOCK] @ turned, axis=1) for at in range(0, max(X.shape[0], 1), BLOCK)
    ]
    return np.concatenate(blocks).astype(np.int64)


def _indicator(member: I64, k: int) -> sparse.csr_array:
    ones = np.ones(member.size, np.float32)
    return sparse.csr_array((ones, (member, np.arange(member.size))), shape=(k, member.size))


def _dense(rows: Any) -> F32:
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), np.float32)
