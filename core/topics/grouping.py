"""Topics of a catalogue: clusters of item vectors by how they differ from the mean item."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.batch.row_objective import learned
from core.types import F32, F64, I32, I64

MOST_TOPICS = 10
"""Largest number of topics; a list of more is not read."""
STARTS = 5
"""Number of random starts; the tightest clusters of them are kept."""
SWEEPS = 30
"""Largest number of sweeps of one start; most settle before."""
TRIED = 8
"""Candidates for each further centre of a start."""
FITTED = 20_000
"""Largest number of items that move the centres, those that most people took."""
BLOCK = 1 << 14
"""Items whose directions are in memory at a time."""
POWER = 0.75
"""Power of the number of people by which an item weighs in the centres."""


@dataclass(frozen=True, eq=False)
class Topics:
    """The topics of n items, numbered from 0; the topic that most people like comes first."""

    topic: I32
    """The topic of each item, (n,); -1 for an item without a vector."""
    strength: F32
    """How typical an item is of its topic, (n,): at most 1, and 0 for an item without one."""
    share: F64
    """The share of each topic in what people took, (k,); they sum to 1."""

    @cached_property
    def members(self) -> list[I32]:
        """Return the items of each topic, the most typical first."""
        order = np.argsort(-self.strength, kind="stable").astype(np.int32)
        return [order[self.topic[order] == topic] for topic in range(self.share.size)]

    def shares(self, items: I32, weight: F32) -> tuple[F64, I32]:
        """Return the share of each topic in some weighted items, and those of them with a topic.

        The shares sum to 1, or are all 0 if none of the items has a topic.

        >>> topic, even = np.array([0, 1, 0, -1], np.int32), np.ones(2) / 2
        >>> topics = Topics(topic, np.ones(4, np.float32), even)
        >>> topics.shares(np.array([1, 2, 3, 9], np.int32), np.array([1, 3, 1, 1], np.float32))
        (array([0.75, 0.25]), array([1, 2], dtype=int32))
        """
        known = items < self.topic.size
        known[known] = self.topic[items[known]] >= 0
        part = np.bincount(self.topic[items[known]], weight[known], minlength=self.share.size)
        return part / max(part.sum(), np.finfo(np.float64).tiny), items[known]


def topics_of(vectors: F32, taken: F32, *, seed: int = 0) -> Topics:
    """Return the topics of items with these vectors; each item is in the one that it fits best.

    Equation   x = unit(unit(q) - mean unit(q)); clusters maximise sum t^POWER x c(x), c unit
               vectors; strength = x c(x) t / (t + mean t)
    Shapes     vectors q (n, g), a zero row for an item that was not learned · taken (n,), how
               many people took each item; t = max(taken, 1)

    Without the mean item every topic would begin with the items that everybody likes. By the
    power a popular item counts more than a rare one, whose vector is mostly chance, but not as much
    as all others together. There are sqrt(n / 2) topics, at most MOST_TOPICS.
    """
    known = np.flatnonzero(learned(vectors))
    topic, strength = np.full(len(vectors), -1, np.int32), np.zeros(len(vectors), np.float32)
    if not known.size:
        return Topics(topic, strength, np.empty(0))
    count = np.maximum(taken[known], 1.0).astype(np.float64)
    lifting = _Lifting.of(vectors, known)
    centres = _centres(lifting, count, seed)
    member, best = lifting.nearest(centres)
    # the topic that most people like comes first
    size = np.bincount(member, weights=count, minlength=len(centres))
    order = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
    rank = np.full(len(centres), -1, np.int32)
    rank[order] = np.arange(order.size)
    topic[known] = rank[member]
    strength[known] = best * count / (count + count.mean())
    return Topics(topic, strength, size[order] / size.sum())


def n_topics(n_items: int) -> int:
    """Return the number of topics for so many items.

    >>> n_topics(0), n_topics(1), n_topics(36), n_topics(3_500)
    (0, 1, 4, 10)
    """
    return min(MOST_TOPICS, max(int((n_items / 2) ** 0.5), min(n_items, 1)))


@dataclass(frozen=True, eq=False)
class _Lifting:
    """The directions in which m vectors differ from their mean direction, made block by block."""

    vectors: F32
    known: I64
    """Rows of the vectors, (m,)."""
    mean: F64
    """Mean direction (g,); 0 where all items are alike, which makes them one topic."""

    @classmethod
    def of(cls, vectors: F32, known: I64) -> "_Lifting":
        plain = cls(vectors, known, np.zeros(vectors.shape[1]))
        mean = sum(plain.rows(some).sum(axis=0) for some in plain.blocks()) / known.size
        lifting = cls(vectors, known, mean)
        return lifting if any(lifting.rows(some).any() for some in lifting.blocks()) else plain

    def blocks(self) -> Iterator[slice]:
        """Yield parts of the m rows."""
        return (slice(first, first + BLOCK) for first in range(0, self.known.size, BLOCK))

    def rows(self, some: I64 | slice) -> F64:
        """Return some of the directions."""
        return _unit(_unit(self.vectors[self.known[some]].astype(np.float64)) - self.mean)

    def nearest(self, centres: F64) -> tuple[I64, F64]:
        """Return the nearest centre of each of the m rows, and how near it is, at least 0."""
        member, best = np.empty(self.known.size, np.int64), np.empty(self.known.size)
        for some in self.blocks():
            fit = self.rows(some) @ centres.T
            member[some], best[some] = fit.argmax(axis=1), np.maximum(fit.max(axis=1), 0.0)
        return member, best


def _centres(lifting: _Lifting, count: F64, seed: int) -> F64:
    """Return the centres of the tightest clusters of all starts, (k, g)."""
    most = np.argsort(-count, kind="stable")[:FITTED]
    rows, weight = lifting.rows(most), count[most] ** POWER
    starts = (
        _settled(rows, weight, n_topics(len(count)), np.random.default_rng((seed, start)))
        for start in range(STARTS)
    )
    return max(starts, key=lambda found: found[1])[0]


def _settled(rows: F64, weight: F64, k: int, rng: np.random.Generator) -> tuple[F64, float]:
    """Return the centres of one start, and how tight their clusters are."""
    centres, member = _spread(rows, weight, k, rng), np.full(len(rows), -1)
    for _ in range(SWEEPS):
        before, member = member, np.argmax(rows @ centres.T, axis=1)
        if np.array_equal(before, member):
            break
        centres = _means(rows, weight, member, centres)
    return centres, float(weight @ np.max(rows @ centres.T, axis=1))


def _spread(rows: F64, weight: F64, k: int, rng: np.random.Generator) -> F64:
    """Return k rows that are far from each other; the first is the heaviest."""
    centres = [rows[int(np.argmax(weight))]]
    far = np.maximum(1.0 - rows @ centres[0], 0.0)
    while len(centres) < k and (chance := weight * far).sum() > 0.0:
        tried = rng.choice(len(rows), TRIED, p=chance / chance.sum())
        left = np.minimum(far[:, None], np.maximum(1.0 - rows @ rows[tried].T, 0.0))
        best = int(np.argmin(weight @ left))
        centres.append(rows[tried[best]])
        far = left[:, best]
    return np.array(centres)


def _means(rows: F64, weight: F64, member: I64, centres: F64) -> F64:
    """Return the mean direction of each cluster; an empty one keeps its centre."""
    inside = np.zeros((len(rows), len(centres)))
    inside[np.arange(len(rows)), member] = weight
    means = _unit(inside.T @ rows)
    return np.where(means.any(axis=1, keepdims=True), means, centres)


def _unit(rows: F64) -> F64:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: F64 = np.divide(rows, length, out=np.zeros_like(rows), where=length > 1e-12)
    return unit
