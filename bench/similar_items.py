"""Similar items: a held-out item of a user among those similar to one of the user's others.

    python -m bench.similar_items FILE.csv.gz [--budget-s 10] [--users 3000]

A tenth of each user's pairs is held out. For each user one of the others is drawn, and each trained
family names the ten items most similar to it that the user does not have.
"""

import argparse
import csv
import gzip
from pathlib import Path

import numpy as np

from core.interactions import Interactions, from_pairs
from core.splits import split_within_users
from core.types import F64, I64
from service.evaluation.rankers import families_that_rank, settled
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.training.data.material import Material

K = 10
LIKED = 4.0
"""Ratings from here on count as pairs; without ratings, all do."""


def pairs_of(path: Path) -> Interactions:
    """Return the pairs of a file whose first two columns are user and item."""
    with gzip.open(path, "rt") as lines:
        rows = [row for row in csv.DictReader(lines) if float(row.get("rating", LIKED)) >= LIKED]
    users, items = (np.array([[*row.values()][at] for row in rows]) for at in (0, 1))
    return from_pairs(
        np.unique(users, return_inverse=True)[1], np.unique(items, return_inverse=True)[1]
    )


def quality(ranker: Ranker, known: Interactions, held: Interactions, users: I64) -> F64:
    """Return the share of users with a hit and the mean ndcg@10, (2,)."""
    rng, allowed = np.random.default_rng(1), np.ones(known.n_items, np.bool_)
    found = np.zeros((users.size, 2))
    for at, user in enumerate(users.tolist()):
        own = known.item_ix[known.ptr[user] : known.ptr[user + 1]]
        item, wanted = int(rng.choice(own)), held.item_ix[held.ptr[user] : held.ptr[user + 1]]
        if ranker.has(item):
            listed, _ = ranker.similar(item, Pool(allowed, own), K)
            gain = np.isin(listed, wanted) / np.log2(2.0 + np.arange(listed.size))
            best = (1.0 / np.log2(2.0 + np.arange(min(K, wanted.size)))).sum()
            found[at] = gain.any(), gain.sum() / best
    mean: F64 = found.mean(axis=0)
    return mean


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--budget-s", type=float, default=10.0)
    parser.add_argument("--users", type=int, default=3_000)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    known, held = split_within_users(pairs_of(given.file), 0.1, rng)
    users = np.flatnonzero((held.user_counts > 0) & (known.user_counts > 0))
    users = rng.permutation(users)[: given.users]
    print("| family | hit@10 | ndcg@10 |\n|---|---:|---:|")
    names = families_that_rank(ordered=False)
    for one in settled(names, Material(known), given.budget_s, 0, lambda share: None):
        ranker = one.ranker(Material(known))
        if ranker.family.compares_items:
            hit, ndcg = quality(ranker, known, held, users)
            print(f"| {ranker.strategy} | {hit:.3f} | {ndcg:.4f} |")


if __name__ == "__main__":
    main()
