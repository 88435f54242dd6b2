"""Data sets of positives for the ranking benches, and their splits."""

import gzip

import numpy as np

from bench.data import FOLDER
from core.interactions import Interactions, from_pairs, random_split

FILES = {
    "ML-100K": "ml-100k/ratings.csv.gz",
    "ML-1M": "ml-1m/ratings.csv.gz",
    "Last.fm": "lastfm-hetrec/user_artists.csv.gz",
    "FilmTrust": "filmtrust/ratings.csv.gz",
}
GOWALLA = "gowalla/train.csv.gz", "gowalla/test.csv.gz"
NAMES = ("Gowalla", *FILES)


def split(name: str, seed: int) -> tuple[Interactions, Interactions]:
    """Return (train, test): the published split of Gowalla, a random 80/20 of the others; every row is a positive."""
    if name == "Gowalla":
        train, test = map(_columns, GOWALLA)
        n_users, n_items = np.concatenate([train, test]).max(0) + 1
        return (
            from_pairs(train[:, 0], train[:, 1], n_users=n_users, n_items=n_items),
            from_pairs(test[:, 0], test[:, 1], n_users=n_users, n_items=n_items),
        )
    table = _columns(FILES[name])
    user, item = (np.unique(column, return_inverse=True)[1] for column in table.T)
    return random_split(from_pairs(user, item), 0.2, np.random.default_rng(seed))


def generated(n: int, seed: int = 0) -> Interactions:
    """Return about n positives of n / 50 users with 20 tastes and items of Zipf's popularity."""
    rng = np.random.default_rng(seed)
    n_users, n_items, tastes = n // 50, n // 250, 20
    user = rng.integers(0, n_users, n)
    place = (n_items ** rng.random(n)).astype(np.int64) - 1
    own = rng.random(n) < 0.7
    taste = np.where(own, user % tastes, rng.integers(0, tastes, n))
    item = np.minimum(place // tastes * tastes + taste, n_items - 1)
    return from_pairs(user, item, n_users=n_users, n_items=n_items)


def _columns(file: str) -> np.ndarray:
    with gzip.open(FOLDER / file, "rt") as lines:
        header = next(lines).strip().split(",")
        wanted = header.index("user"), header.index("item")
        return np.loadtxt(lines, delimiter=",", usecols=wanted).astype(np.int64)
