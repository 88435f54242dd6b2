"""MovieLens 1M with the documents of its users and movies.

Features are encoded exactly as the service encodes them.
"""

import csv
import gzip
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.data import FOLDER
from core.features import Document, EncoderFit, FeatureEncoder, of_item
from core.types import F32, I64


@dataclass(frozen=True, eq=False)
class Movielens:
    """n ratings; ``user_ix`` and ``item_ix`` (n,) are rows of ``users`` and ``items``."""

    users: list[Document]
    items: list[Document]
    user_ix: I64
    item_ix: I64
    value: F32
    seconds: I64


def movielens() -> Movielens:
    """Return the ratings and documents of the three files."""
    users, movies, ratings = (_table(name) for name in ("users", "movies", "ratings"))
    user_rows = {row[0]: at for at, row in enumerate(users)}
    item_rows = {row[0]: at for at, row in enumerate(movies)}
    return Movielens(
        [{"gender": row[1], "age": row[2], "occupation": row[3]} for row in users],
        [_movie(title, genres) for _, title, genres in movies],
        np.array([user_rows[row[0]] for row in ratings]),
        np.array([item_rows[row[1]] for row in ratings]),
        np.array([row[2] for row in ratings], np.float32),
        np.array([row[3] for row in ratings], np.int64),
    )


def encoder(documents: Sequence[Document], seed: int) -> FeatureEncoder:
    """Return an encoder fitted to these documents."""
    fit = EncoderFit(np.random.default_rng(seed))
    fit.add(documents)
    return fit.encoder()


def folds(n: int, parts: int) -> list[tuple[I64, I64]]:
    """Return ``parts`` folds of n rows as (held out, the others); each row is held out once."""
    held = [
        np.sort(part) for part in np.array_split(np.random.default_rng(0).permutation(n), parts)
    ]
    return [(part, np.setdiff1d(np.arange(n), part)) for part in held]


def _movie(title: str, genres: str) -> Document:
    year = int(title.rstrip()[-5:-1])
    return of_item({"categories": genres.split("|"), "features": {"year": year}})


def _table(name: str) -> list[list[str]]:
    with gzip.open(FOLDER / "ml-1m" / f"{name}.csv.gz", "rt") as lines:
        return list(csv.reader(lines))[1:]
