"""What a one-class fit begins with: the first item factors, and the negatives that are listed."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from core.batch.ocmf.config import Negatives
from core.errors import ConfigError
from core.interactions import Interactions, from_pairs
from core.types import F32

START_PASSES = 4
"""Products with Y'Y that find the first item factors."""
MOST_LISTED = 50_000_000
"""Pairs that a fit which lists all of them may have."""


def start_items(pairs: Interactions, factors: int, *, seed: int) -> F32:
    """Return the leading directions of the users' rows, (items, k): what plain dimension reduction would keep.

    More factors than items or users add nothing: a product of such matrices has no higher rank.
    """
    k = min(factors, pairs.n_items, pairs.n_users)
    positive = pairs.keep(pairs.target > 0) if pairs.target is not None else pairs
    ones = np.ones(len(positive), np.float32)
    matrix = sp.csr_array((ones, positive.item_ix, positive.ptr), (pairs.n_users, pairs.n_items))
    rng = np.random.default_rng(seed)
    wide = min(k + 8, pairs.n_items)
    basis: Any = rng.normal(size=(pairs.n_items, wide)).astype(np.float32)
    for _ in range(START_PASSES):
        basis = np.linalg.qr(matrix.T @ (matrix @ basis))[0]
    image = matrix @ basis
    _, turn = np.linalg.eigh(image.T @ image)
    return np.ascontiguousarray((basis @ turn)[:, ::-1][:, :k], np.float32)


def with_negatives(
    pairs: Interactions,
    negatives: Negatives,
    weight: float,
    *,
    seed: int,
    most_listed: int = MOST_LISTED,
) -> Interactions:
    """Return the pairs with the negatives that are to be listed: none, as many as positives, or all."""
    if negatives == "all":
        return pairs
    every = pairs.n_users * pairs.n_items
    if negatives == "listed" and every > most_listed:
        raise ConfigError(
            f"{every} pairs are too many to list (at most {most_listed}): let negatives be all"
        )
    rng = np.random.default_rng(seed)
    if negatives == "listed":
        users, items = np.divmod(np.arange(every), pairs.n_items)
    else:
        users = rng.integers(0, pairs.n_users, len(pairs))
        items = rng.integers(0, pairs.n_items, len(pairs))
    ones = np.ones(len(pairs), np.float32)
    known = ones if pairs.weight is None else pairs.weight
    target = ones if pairs.target is None else pairs.target
    # of several rows of one pair the last one counts: the known pairs
    return from_pairs(
        np.concatenate([users, pairs.user_ix]),
        np.concatenate([items, pairs.item_ix]),
        n_users=pairs.n_users,
        n_items=pairs.n_items,
        weight=np.concatenate([np.full(users.size, weight, np.float32), known]),
        target=np.concatenate([np.zeros(users.size, np.float32), target]),
    )
