"""A synthetic world: users with tastes, items with genres and titles, a long tail, drift.

Everything is determined by the seed; titles are made from our own lists of words. Half of the
variance of ratings can be learned (tastes, good items, strict users); the rest is noise.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.types import F64, I64

GENRES = {
    "adventure": ("Lantern", "Harbour", "Ridge", "Compass", "Ferry", "Caravan"),
    "comedy": ("Umbrella", "Neighbour", "Pancake", "Trombone", "Wedding", "Parrot"),
    "crime": ("Alibi", "Ledger", "Inspector", "Vault", "Witness", "Cellar"),
    "documentary": ("River", "Orchard", "Archive", "Glacier", "Market", "Beekeeper"),
    "fantasy": ("Hedge", "Crown", "Willow", "Dragonfly", "Oracle", "Thicket"),
    "romance": ("Letter", "Balcony", "Garden", "Waltz", "Lighthouse", "Spring"),
    "science fiction": ("Orbit", "Signal", "Engine", "Colony", "Nebula", "Archivist"),
    "thriller": ("Shadow", "Tunnel", "Hour", "Frost", "Passenger", "Echo"),
}
FIRST_WORDS = (
    "Silent", "Crooked", "Second", "Golden", "Borrowed", "Distant", "Paper", "Hollow", "Northern",
    "Forgotten", "Clockwork", "Velvet", "Burning", "Gentle", "Seventh", "Wandering", "Copper",
    "Midnight", "Careless", "Painted",
)  # fmt: skip
SHAPES = ("The {first} {noun}", "{first} {noun}", "A {first} {noun}", "The {noun} of {place}")
PLACES = ("Amber Bay", "Old Mill", "Saltmoor", "Vell", "Ninefold", "Thornwick", "Low Water", "Esk")

STRENGTH = 1.0
"""Standard deviation of a taste's contribution to the rating of an item of one genre, in stars."""
NOISE = 0.45
"""Standard deviation of the noise, in stars."""
START_MS = 1_767_225_600_000
"""1 January 2026: a fixed time, so that the same seed gives the same events."""
BLOCK = 4096


@dataclass(frozen=True)
class Item:
    """An item of the catalogue."""

    id: str
    title: str
    genres: tuple[str, ...]

    def document(self) -> dict[str, object]:
        """Return the item as a line of ``POST /v1/items``."""
        return {"item": self.id, "categories": list(self.genres), "features": {"title": self.title}}


@dataclass(frozen=True)
class Event:
    """One rating, 1..5; ``timestamp_ms`` UTC."""

    user: str
    item: str
    rating: int
    timestamp_ms: int


@dataclass(frozen=True)
class Ratings:
    """Ratings as arrays (n,): user_ix, item_ix i64 into the lists, rating f64, timestamp_ms i64."""

    user_ix: I64
    item_ix: I64
    rating: F64
    timestamp_ms: I64


class SampleWorld:
    """Users, items and an endless stream of ratings, determined by the seed and the sizes.

    With ``reach`` a user rates at most that many different items, and afterwards the same again.
    """

    def __init__(
        self, seed: int = 0, *, n_users: int = 400, n_items: int = 600, reach: int | None = None
    ) -> None:
        self._seed = (seed, n_users, n_items)
        self._reach = n_items if reach is None else reach
        rng = np.random.default_rng(self._seed)
        self.users = [f"user-{number:04}" for number in range(n_users)]
        # each item has one genre, every third item a second one
        first = rng.integers(len(GENRES), size=n_items)
        second = (first + rng.integers(1, len(GENRES), size=n_items)) % len(GENRES)
        second[rng.random(n_items) > 1 / 3] = -1
        self.items = _items(rng, first, second)
        self._genre = np.zeros((n_items, len(GENRES)))
        self._genre[np.arange(n_items), first] = 1.0
        both = np.flatnonzero(second >= 0)
        self._genre[both] *= 0.6
        self._genre[both, second[both]] = 0.6
        self._quality = rng.normal(0.0, 0.4, n_items)
        self._strictness = rng.normal(0.0, 0.4, n_users)
        self._taste = rng.normal(0.0, STRENGTH, (2, n_users, len(GENRES)))
        # number of ratings after which a user's first taste has turned into the second
        self._turn = rng.uniform(60.0, 400.0, n_users)
        self._activity = _long_tail(rng, n_users, 0.6)
        self._popularity = _long_tail(rng, n_items, 0.8)

    def true_rating(self, user_ix: I64, item_ix: I64, age: I64) -> F64:
        """Return the expected ratings of n pairs; ``age`` (n,) counts each user's past ratings."""
        turned = 1.0 / (1.0 + np.exp(-10.0 * (age / self._turn[user_ix] - 1.0)))[:, None]
        taste = (1.0 - turned) * self._taste[0, user_ix] + turned * self._taste[1, user_ix]
        fits = np.einsum("ng,ng->n", taste, self._genre[item_ix])
        stars: F64 = 3.5 + self._quality[item_ix] - self._strictness[user_ix] + fits
        return stars

    def events(self) -> Iterator[Event]:
        """Yield an endless stream of ratings, the same at each call."""
        for block in self.blocks():
            rows = zip(
                block.user_ix.tolist(),
                block.item_ix.tolist(),
                block.rating.tolist(),
                block.timestamp_ms.tolist(),
                strict=True,
            )
            for user, item, rating, time in rows:
                yield Event(self.users[user], self.items[item].id, int(rating), time)

    def ratings(self, n: int) -> Ratings:
        """Return the first n ratings."""
        blocks, have = [], 0
        for block in self.blocks():
            blocks.append(block)
            have += len(block.rating)
            if have >= n:
                break
        columns = ("user_ix", "item_ix", "rating", "timestamp_ms")
        return Ratings(*(np.concatenate([getattr(b, c) for b in blocks])[:n] for c in columns))

    def blocks(self) -> Iterator[Ratings]:
        """Yield an endless stream of ratings in blocks."""
        rng = np.random.default_rng((*self._seed, 1))
        seen = np.zeros((len(self.users), len(self.items)), dtype=np.bool_)
        ever = seen.copy()
        age = np.zeros(len(self.users), dtype=np.int64)
        now_ms = START_MS
        while True:
            user, one, other = self._draw(rng)
            ages = age[user] + _earlier_ones(user)
            stars, other_stars = (self.true_rating(user, item, ages) for item in (one, other))
            # people mostly choose what they expect to like
            takes_other = (other_stars > stars) & (rng.random(BLOCK) < 0.7)
            item = np.where(takes_other, other, one)
            stars = np.where(takes_other, other_stars, stars)
            new = _first_time(user, item, seen)
            new = new[_within(user[new], item[new], ever, self._reach)]
            user, item, stars = user[new], item[new], stars[new]
            seen[user, item] = ever[user, item] = True
            # users who have seen half of the items in reach begin again
            seen[seen.sum(axis=1) > 0.5 * self._reach] = False
            np.add.at(age, user, 1)
            rating = np.clip(np.rint(stars + rng.normal(0.0, NOISE, len(stars))), 1.0, 5.0)
            times = now_ms + np.cumsum(rng.exponential(90_000.0, len(stars)).astype(np.int64))
            now_ms = int(times[-1]) if len(times) else now_ms
            yield Ratings(user, item, rating, times)

    def _draw(self, rng: np.random.Generator) -> tuple[I64, I64, I64]:
        user = rng.choice(len(self.users), BLOCK, p=self._activity)
        one, other = rng.choice(len(self.items), (2, BLOCK), p=self._popularity)
        return user, one, other


def _items(rng: np.random.Generator, first: I64, second: I64) -> list[Item]:
    names = list(GENRES)
    titles: set[str] = set()
    items = []
    for number, (one, other) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        genres = (names[one],) if other < 0 else (names[one], names[other])
        items.append(Item(f"item-{number:04}", _title(rng, GENRES[names[one]], titles), genres))
    return items


def _title(rng: np.random.Generator, nouns: tuple[str, ...], taken: set[str]) -> str:
    """Return a new title; when the words run out, sequels get a number."""
    shape, first, noun, place = (
        words[rng.integers(len(words))] for words in (SHAPES, FIRST_WORDS, nouns, PLACES)
    )
    plain = shape.format(first=first, noun=noun, place=place)
    title, part = plain, 1
    while title in taken:
        part += 1
        title = f"{plain} {part}"
    taken.add(title)
    return title


def _long_tail(rng: np.random.Generator, n: int, exponent: float) -> F64:
    """Return n probabilities that fall like a power of a random rank."""
    weight = (1.0 + rng.permutation(n)) ** -exponent
    return np.asarray(weight / weight.sum())


def _earlier_ones(values: I64) -> I64:
    """Return how often each value occurred at earlier positions, (n,)."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    position = np.arange(len(values))
    starts = np.maximum.accumulate(np.where(np.r_[True, ordered[1:] != ordered[:-1]], position, 0))
    earlier = np.empty(len(values), dtype=np.int64)
    earlier[order] = position - starts
    return earlier


def _first_time(user: I64, item: I64, seen: NDArray[np.bool_]) -> I64:
    """Return the positions of pairs that are neither in ``seen`` nor earlier in the block."""
    pair = user * seen.shape[1] + item
    firsts = np.sort(np.unique(pair, return_index=True)[1])
    return firsts[~seen[user[firsts], item[firsts]]]


def _within(user: I64, item: I64, ever: NDArray[np.bool_], reach: int) -> NDArray[np.bool_]:
    """Return which pairs leave their user with at most ``reach`` different items, (n,)."""
    allowed = ever[user, item]
    first = np.flatnonzero(~allowed)
    allowed[first] = ever.sum(axis=1)[user[first]] + _earlier_ones(user[first]) < reach
    return allowed
