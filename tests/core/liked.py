"""A small world of likes by users with features."""

import numpy as np
from scipy import sparse

from core.interactions import Interactions, from_pairs


def world(n: int = 200, n_items: int = 24, seed: int = 0) -> tuple[sparse.csr_array, Interactions]:
    """Return features of users, and their likes: mostly of items of their own kind.

    There are four kinds. Nobody likes the last item.
    """
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 4
    same_kind = (np.arange(n_items) % 4)[None, :] == kind[:, None]
    likes = rng.random((n, n_items)) < np.where(same_kind, 0.6, 0.05)
    likes[:, -1] = False
    features = sparse.csr_array(np.eye(4, dtype=np.float32)[kind])
    return features, from_pairs(*np.nonzero(likes), n_users=n, n_items=n_items)


def item_kinds(n_items: int = 24) -> sparse.csr_array:
    """Return features of the items: their kinds."""
    return sparse.csr_array(np.eye(4, dtype=np.float32)[np.arange(n_items) % 4])
