"""Topics of a catalogue: axes along which few items differ much from the mean item."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.batch.row_objective import learned
from core.types import F32, F64, I32, I64

MOST_TOPICS = 10
"""Largest number of topics; a list of more is not read."""
SWEEPS, SETTLED = 100, 1e-6
"""Most steps of the rotation, and the relative gain of a step below which it ends."""
LEAST_SPREAD = 1e-9
"""Least spread along an axis, as a share of the largest: less is rounding."""
FITTED = 20_000
"""Largest number of items that turn the axes, those that most people took."""
BLOCK = 1 << 14
"""Items whose directions are in memory at a time."""
POWER = 0.75
"""Power of the number of people by which an item weighs in the axes."""


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


def topics_of(vectors: F32, taken: F32) -> Topics:
    """Return the topics of items with these vectors; each item is in the one that it fits best.

    Equation   x = unit(unit(q) - mean unit(q)); its topic is the nearest axis a (``_axes``);
               strength = x a t / (t + mean t)
    Shapes     vectors q (n, g), a zero row for an item that was not learned · taken (n,), how
               many people took each item; t = max(taken, 1)

    Without the mean item every topic would begin with the items that everybody likes. By the
    power a popular item counts more than a rare one, whose vector is mostly chance, but not as much
    as all others together. There are sqrt(n / 2) topics, at most MOST_TOPICS, and not more than
    the directions in which items differ.
    """
    known = np.flatnonzero(learned(vectors))
    topic, strength = np.full(len(vectors), -1, np.int32), np.zeros(len(vectors), np.float32)
    if not known.size:
        return Topics(topic, strength, np.empty(0))
    count = np.maximum(taken[known], 1.0).astype(np.float64)
    lifting = _Lifting.of(vectors, known)
    axes = _axes(lifting, count)
    member, best = lifting.nearest(axes)
    # the topic that most people like comes first
    size = np.bincount(member, weights=count, minlength=len(axes))
    order = np.argsort(-size, kind="stable")[: np.count_nonzero(size)]
    rank = np.full(len(axes), -1, np.int32)
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

    def nearest(self, axes: F64) -> tuple[I64, F64]:
        """Return the nearest axis of each of the m rows, and how near it is, at least 0."""
        member, best = np.empty(self.known.size, np.int64), np.empty(self.known.size)
        for some in self.blocks():
            fit = self.rows(some) @ axes.T
            member[some], best[some] = fit.argmax(axis=1), np.maximum(fit.max(axis=1), 0.0)
        return member, best


def _axes(lifting: _Lifting, count: F64) -> F64:
    """Return the axes of the topics (k, g), of length 1 and orthogonal to each other.

    Equation   R = argmax sum over topics of var((X V R)^2), R orthogonal; axes (V R)'
    Shapes     X (m, g) directions of the items that most people took, times t^(POWER / 2) ·
               V (g, k) the first principal axes of X
    Reference  varimax [Kaiser 1958]
    """
    most = np.argsort(-count, kind="stable")[:FITTED]
    rows = lifting.rows(most) * count[most, None] ** (POWER / 2)
    spread, directions = np.linalg.eigh(rows.T @ rows)
    first = np.argsort(-spread, kind="stable")[: n_topics(count.size)]
    principal = directions[:, first[spread[first] > LEAST_SPREAD * spread.max()]]
    axes = principal @ _varimax(rows @ principal)
    # an axis points to where a few items lie far out, not to where most lie near the middle
    axes *= np.where(((rows @ axes) ** 3).sum(axis=0) < 0.0, -1.0, 1.0)
    return np.ascontiguousarray(axes.T)


def _varimax(loads: F64) -> F64:
    """Return the rotation (k, k) after which each row has few large loads, of loads (m, k)."""
    rotation, before = np.eye(loads.shape[1]), 0.0
    for _ in range(SWEEPS):
        turned = loads @ rotation
        left, sizes, right = np.linalg.svd(
            loads.T @ (turned**3 - turned * np.square(turned).mean(axis=0))
        )
        rotation, now = left @ right, float(sizes.sum())
        if now <= before * (1.0 + SETTLED):
            break
        before = now
    return rotation


def _unit(rows: F64) -> F64:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: F64 = np.divide(rows, length, out=np.zeros_like(rows), where=length > 1e-12)
    return unit
