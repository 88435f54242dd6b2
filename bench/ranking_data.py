"""Data sets of positives for the ranking benches, and their splits."""

import gzip
from pathlib import Path

import numpy as np

from bench.data import FOLDER
from core.interactions import Interactions, from_pairs
from core.splits import random_split

FILES = {
    "ML-100K": "ml-100k/ratings.csv.gz",
    "ML-1M": "ml-1m/ratings.csv.gz",
    "Last.fm": "lastfm-hetrec/user_artists.csv.gz",
    "FilmTrust": "filmtrust/ratings.csv.gz",
}
UNSEEN = {
    "Last.fm tags": ("lastfm-hetrec/user_taggedartists.csv.gz", "user", "tag"),
    "Artist tags": ("lastfm-hetrec/user_taggedartists.csv.gz", "item", "tag"),
    "Jester": ("jester-1/ratings.csv.gz", "user", "item"),
}
"""Data sets that no setting was ever tuned on.

Their pairs are users and the tags they used, artists and the tags they got, and users and the jokes
they rated FUNNY or higher.
"""
FUNNY, FEWEST = 4.0, 3
"""Limits on the pairs of the unseen sets.

FUNNY is the least rating of a Jester positive, FEWEST the least number of pairs per user and item.
"""
GOWALLA = "gowalla/train.csv.gz", "gowalla/test.csv.gz"
NAMES = ("Gowalla", *FILES)
TASTES = 48
"""Number of tastes in the generated world."""
USER_BLOCK = 20_000
"""Number of users generated at a time."""


def split(name: str, seed: int, folder: Path = FOLDER) -> tuple[Interactions, Interactions]:
    """Return (train, test) of positives.

    Gowalla has a published split, the others a random 80/20 one; every row of a file is a positive.
    """
    if name == "Gowalla":
        train, test = (_columns(folder / file).astype(np.int64) for file in GOWALLA)
        n_users, n_items = np.concatenate([train, test]).max(0) + 1
        return (
            from_pairs(train[:, 0], train[:, 1], n_users=n_users, n_items=n_items),
            from_pairs(test[:, 0], test[:, 1], n_users=n_users, n_items=n_items),
        )
    table = _unseen(name, folder) if name in UNSEEN else _columns(folder / FILES[name])
    user, item = (np.unique(column, return_inverse=True)[1] for column in table.T)
    return random_split(from_pairs(user, item), 0.2, np.random.default_rng(seed))


def generated(
    n: int, *, n_users: int, n_items: int, seed: int = 0, user_block: int = USER_BLOCK
) -> Interactions:
    """Return about n positives of a generated world with TASTES latent tastes.

    P(item | user) = sum over tastes of theta_user,taste phi_taste,item. phi is Zipf's popularity
    times a log-normal factor of each item and taste; theta has few large entries. The users'
    activity is log-normal. Users are generated in blocks, so that besides the result only one block
    and the table of tastes are in memory.
    """
    rng = np.random.default_rng(seed)
    cumulative = _tastes(n_items, rng)
    activity = rng.lognormal(0.0, 0.8, n_users)
    # about a seventh of the draws are repetitions
    wanted = rng.poisson(1.15 * n * activity / activity.sum()) + 1
    counts, parts = [], []
    for first in range(0, n_users, user_block):
        block = wanted[first : first + user_block]
        rows = np.repeat(np.arange(block.size), block)
        taste = _drawn_tastes(rows, block.size, rng)
        # a single search over all tastes: the values of each table lie one above the previous
        # table's
        at = np.searchsorted(cumulative, taste + rng.random(rows.size))
        item = np.minimum(at - taste * n_items, n_items - 1)
        pairs = np.unique(rows * n_items + item)
        counts.append(np.bincount(pairs // n_items, minlength=block.size))
        parts.append((pairs % n_items).astype(np.int32))
    ptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64)
    return Interactions(n_items, ptr, np.concatenate(parts))


def _tastes(n_items: int, rng: np.random.Generator) -> np.ndarray:
    """Return each taste's cumulative distribution over the items, flattened to (tastes * items,).

    The values of each taste lie one above those of the previous taste.
    """
    popularity = rng.permutation(1.0 / np.arange(10, n_items + 10) ** 0.8)
    chance = popularity * rng.lognormal(0.0, 2.0, (TASTES, n_items))
    chance /= chance.sum(1, keepdims=True)
    table: np.ndarray = np.arange(TASTES)[:, None] + np.cumsum(chance, 1)
    return table.ravel()


def _drawn_tastes(rows: np.ndarray, n_users: int, rng: np.random.Generator) -> np.ndarray:
    """Return for each draw one of its user's tastes."""
    theta = rng.dirichlet(np.full(TASTES, 0.08), n_users)
    cumulative = (np.arange(n_users)[:, None] + np.cumsum(theta, 1)).ravel()
    at = np.searchsorted(cumulative, rows + rng.random(rows.size))
    return np.clip(at - rows * TASTES, 0, TASTES - 1)


def _columns(path: Path, *named: str) -> np.ndarray:
    with gzip.open(path, "rt") as lines:
        header = next(lines).strip().split(",")
        wanted = [header.index(name) for name in named or ("user", "item")]
        return np.loadtxt(lines, delimiter=",", usecols=wanted, dtype=np.float64)


def _unseen(name: str, folder: Path) -> np.ndarray:
    """Return the distinct pairs of an unseen set, without users and items that have too few."""
    file, user, item = UNSEEN[name]
    if name == "Jester":
        rated = _columns(folder / file, user, item, "rating")
        pairs = rated[rated[:, 2] >= FUNNY, :2]
    else:
        pairs = np.unique(_columns(folder / file, user, item), axis=0)
    while True:
        counts = [np.unique(side, return_inverse=True, return_counts=True)[1:] for side in pairs.T]
        kept = np.all([count[at] >= FEWEST for at, count in counts], axis=0)
        if kept.all():
            return pairs
        pairs = pairs[kept]
