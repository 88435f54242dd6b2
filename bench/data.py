"""The rating data sets that the benches use; none of them is part of this repository."""

import gzip
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.online import evaluate
from core.types import F64, I64
from service.demo.sample_world import SampleWorld

FOLDER = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
FILES = {
    "ML-100K": FOLDER / "ml-100k" / "ratings.csv.gz",
    "ML-1M": FOLDER / "ml-1m" / "ratings.csv.gz",
    "FilmTrust": FOLDER / "filmtrust" / "ratings.csv.gz",
    "Jester": FOLDER / "jester-1" / "ratings.csv.gz",
}
SCALES = {
    "ML-100K": (1.0, 5.0),
    "ML-1M": (1.0, 5.0),
    "FilmTrust": (0.5, 4.0),
    "Jester": (-10.0, 10.0),
}


@dataclass(frozen=True)
class Ratings:
    """n ratings in file order; ``user`` and ``item`` are (n,) i64, numbered from 0 without gaps."""

    name: str
    low: float
    high: float
    user: I64
    item: I64
    rating: F64
    user_ids: tuple[str, ...]
    item_ids: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.rating)

    def rows(self, rows: I64) -> "Ratings":
        """Return the given rows in the given order; the numbering and the ids stay the same."""
        return Ratings(
            self.name,
            self.low,
            self.high,
            self.user[rows],
            self.item[rows],
            self.rating[rows],
            self.user_ids,
            self.item_ids,
        )


def available(name: str) -> bool:
    """Return whether the file of the data set exists."""
    return FILES[name].is_file()


def require(name: str) -> None:
    """Exit with a message naming the missing file unless the data set is available."""
    if not available(name):
        sys.exit(f"{FILES[name]} is missing")


def read(name: str) -> Ratings:
    """Return the ratings of one of FILES."""
    with gzip.open(FILES[name], "rt") as lines:
        header = next(lines).strip().split(",")
        columns = [header.index(column) for column in ("user", "item", "rating")]
        table = np.loadtxt(lines, delimiter=",", usecols=columns)
    return from_columns(
        name, *SCALES[name], table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2]
    )


def from_columns(
    name: str, low: float, high: float, users: I64, items: I64, rating: F64
) -> Ratings:
    """Return ratings whose users and items are numbered from 0; the ratings stay in order."""
    user_ids, user = np.unique(users, return_inverse=True)
    item_ids, item = np.unique(items, return_inverse=True)
    return Ratings(
        name,
        low,
        high,
        user.astype(np.int64),
        item.astype(np.int64),
        np.ascontiguousarray(rating, dtype=np.float64),
        tuple(map(str, user_ids.tolist())),
        tuple(map(str, item_ids.tolist())),
    )


def sample_world(n: int = 1_000_000) -> Ratings:
    """Return ratings of a generated world about as large as ML-1M."""
    world = SampleWorld(seed=0, n_users=6_000, n_items=3_700)
    made = world.ratings(n)
    items = tuple(item.id for item in world.items)
    users = tuple(world.users)
    return Ratings("sample world", 1.0, 5.0, made.user_ix, made.item_ix, made.rating, users, items)


def random_split(ratings: Ratings, seed: int) -> tuple[Ratings, Ratings]:
    """Return (train, test) as split by `hedgerow eval online --order random --seed seed`."""
    split = evaluate.random_split(len(ratings), 0.2, seed)
    return ratings.rows(split.train), ratings.rows(split.test)
