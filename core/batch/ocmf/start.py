"""The start of a one-class fit: the initial item factors, and the listed negatives."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from core.batch.ocmf.config import Negatives
from core.errors import ConfigError
from core.interactions import Interactions, from_pairs
from core.types import F32

START_PASSES = 4
"""Number of products with Y'Y that find the initial item factors."""
MOST_LISTED = 50_000_000
"""Most pairs (users times items) of a fit that lists all of them."""


def start_items(pairs: Interactions, factors: int, *, seed: int) -> F32:
    """Return the leading right singular vectors of the positive pairs, (items, k).

    k is at most the number of users and of items, since more factors cannot raise the rank of the
    product.
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
    """Return the pairs with listed negatives: none, as many as there are positives, or all.

    Raises ConfigError if there are too many to list.
    """
    if negatives == "all":
        return pairs
    every = pairs.n_users * pairs.n_items
    if negatives == "listed" and every > most_listed:
        raise ConfigError(
            f"{every} pairs are too many to list (at most {most_listed}): set negatives to all"
        )
    rng = np.random.default_rng(seed)
    if negatives == "listed":
        users, items = np.divmod(np.arange(every), pairs.n_items)
    else:
        users = rng.integers(0, pairs.n_users, len(pairs))
        items = rng.integers(0, pairs.n_items, len(pairs))
    ones = np.ones(len(pairs), np.float32)
    weights = ones if pairs.weight is None else pairs.weight
    target = ones if pairs.target is None else pairs.target
    # for a repeated pair from_pairs keeps the last one, so that given pairs win over negatives
    return from_pairs(
        np.concatenate([users, pairs.user_ix]),
        np.concatenate([items, pairs.item_ix]),
        n_users=pairs.n_users,
        n_items=pairs.n_items,
        weight=np.concatenate([np.full(users.size, weight, np.float32), weights]),
        target=np.concatenate([np.zeros(users.size, np.float32), target]),
    )
