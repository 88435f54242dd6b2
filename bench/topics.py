"""Topics of MovieLens: how far they overlap, and what the genres of their films say of them.

    python -m bench.topics [--factors 64]

Ratings of 4 and 5 are the likes; genres only judge. The topics are made as the service makes them,
of the item vectors of fBGD. Takes some seconds.
"""

import argparse
import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bench.data import FOLDER
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.interactions import Interactions, from_pairs
from core.topics.grouping import topics_of
from core.types import F64

LIKED = 4.0
TOP, OVERLAP = 20, 10
"""Items of a topic that are judged; of these, those that are compared between topics."""
SUPPORT = 0.25
"""Least share of a topic's films with a genre that leads it by lift."""


@dataclass(frozen=True, eq=False)
class Films:
    """The likes of n films, and which film has which genre, (n, genres)."""

    likes: Interactions
    genre: F64
    genres: Sequence[str]
    titles: Sequence[str]


def films(name: str) -> Films:
    """Return the films of a data set."""
    rows, movies = (_rows(name, table) for table in ("ratings", "movies"))
    number = {film["item"]: at for at, film in enumerate(movies)}
    liked = [row for row in rows if float(row["rating"]) >= LIKED]
    users = np.unique([row["user"] for row in liked], return_inverse=True)[1]
    of_each = [set(film["genres"].split("|")) for film in movies]
    genres = sorted(set().union(*of_each))
    return Films(
        from_pairs(users, np.array([number[row["item"]] for row in liked]), n_items=len(movies)),
        np.array([[genre in own for genre in genres] for own in of_each], np.float64),
        genres,
        [film["title"] for film in movies],
    )


def judged(name: str, factors: int, seed: int) -> str:
    """Return the figures of one data set as a row of the table."""
    known = films(name)
    model = Fbgd(FbgdConfig(factors=factors, seed=seed)).fit(known.likes)
    if model.objective is None:
        raise RuntimeError("a fit has an objective")
    taken = np.bincount(known.likes.item_ix, minlength=known.likes.n_items).astype(np.float32)
    members = topics_of(model.objective.item_factors, taken).members
    tops = [items[:TOP] for items in members]
    pairs = [*combinations([set(items[:OVERLAP].tolist()) for items in tops], 2)]
    jaccard = np.mean([len(one & other) / len(one | other) for one, other in pairs])
    share = np.array([known.genre[items].mean(axis=0) for items in tops])
    lift = share / known.genre.mean(axis=0)
    commonest = lift[np.arange(len(tops)), np.argmax(share, axis=1)]
    strongest = np.where(share >= SUPPORT, lift, 0.0)
    leading = ", ".join(
        f"{known.genres[at]} {one[at]:.1f}"
        for one, at in zip(lift, np.argmax(strongest, axis=1).tolist(), strict=True)
    )
    return (
        f"| {name} | {factors} | {len(tops)} | {jaccard:.3f} "
        f"| {np.count_nonzero(strongest.max(axis=1) >= 2.5)} "
        f"| {np.count_nonzero(commonest >= 2.5)} | {leading} |"
    )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--factors", type=int, nargs="+", default=[32, 64, 128])
    given = parser.parse_args()
    print("| data | factors | topics | overlap | by lift | by share | leading genres and lifts |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for name in ("ml-100k", "ml-1m"):
        for factors in given.factors:
            print(judged(name, factors, seed=0))


def _rows(name: str, table: str) -> list[dict[str, str]]:
    with gzip.open(FOLDER / name / f"{table}.csv.gz", "rt") as lines:
        return list(csv.DictReader(lines))


if __name__ == "__main__":
    main()
