"""A small world of ratings by users with features of items with features."""

import numpy as np
from scipy import sparse

from core.ordinal.fit_stars import RatedPairs

N_USERS, N_ITEMS = 60, 40


def one_hot(kind: np.ndarray, n: int) -> sparse.csr_array:
    return sparse.csr_array(np.eye(n, dtype=np.float32)[kind])


def world(n: int = 500, seed: int = 0) -> tuple[sparse.csr_array, sparse.csr_array, RatedPairs]:
    """Return features of users and items, and ratings: high where both are of the same kind.

    There are three kinds. Nobody has rated the last five items.
    """
    rng = np.random.default_rng(seed)
    user_ix, item_ix = rng.integers(0, N_USERS, n), rng.integers(0, N_ITEMS - 5, n)
    same_kind = user_ix % 3 == item_ix % 3
    value = np.clip(np.where(same_kind, 4.5, 2.0) + rng.normal(0, 0.7, n), 1, 5).round()
    users, items = one_hot(np.arange(N_USERS) % 3, 3), one_hot(np.arange(N_ITEMS) % 3, 3)
    return users, items, RatedPairs(user_ix, item_ix, value.astype(np.float32))
