"""Small worlds for the tests of the ranking models."""

from dataclasses import replace

import numpy as np

from core.interactions import from_pairs


def tiny(seed=0, *, users=9, items=7, density=0.35, weighted=False):
    """Return random pairs, ``weighted`` with weights and negatives; user 0 and item 0 have none."""
    rng = np.random.default_rng(seed)
    known = rng.random((users, items)) < density
    known[0], known[:, 0] = False, False
    known[1, 1] = True
    u, i = np.nonzero(known)
    weight = rng.uniform(0.5, 2.0, u.size) if weighted else None
    target = rng.choice([0.0, 1.0, 1.5], u.size) if weighted else None
    return from_pairs(u, i, n_users=users, n_items=items, weight=weight, target=target)


def tribes(users=120, items=60, tribes=4, seed=0):
    """Return pairs of users who mostly take items of their own tribe, so that models can learn."""
    rng = np.random.default_rng(seed)
    own = (np.arange(users)[:, None] % tribes) == (np.arange(items)[None, :] % tribes)
    popular = 1.5 / (1.0 + np.arange(items) / 10.0)
    chance = np.where(own, 0.45, 0.03) * popular[None, :]
    u, i = np.nonzero(rng.random((users, items)) < chance)
    return from_pairs(u, i, n_users=users, n_items=items, time=rng.integers(0, 10**6, u.size))


def weighing(pairs, weight):
    """Return the same pairs, each of this weight."""
    return replace(pairs, weight=np.full(len(pairs), weight, np.float32))
