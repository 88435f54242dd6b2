"""Splits of pairs into a training part and a held-out part, always in this order."""

import numpy as np

from core.errors import ConfigError, DataError
from core.interactions import Interactions
from core.types import F64, I64


def random_split(
    pairs: Interactions, fraction: float, rng: np.random.Generator
) -> tuple[Interactions, Interactions]:
    """Hold out about ``fraction`` of all pairs, drawn at random.

    >>> from core.interactions import from_pairs
    >>> pairs = from_pairs(np.arange(10) // 5, np.arange(10), time=np.arange(10))
    >>> train, test = random_split(pairs, 0.2, np.random.default_rng(0))
    >>> len(train), len(test)
    (8, 2)
    """
    _check_fraction(fraction)
    n_held = round(len(pairs) * fraction)
    held = np.zeros(len(pairs), np.bool_)
    held[rng.permutation(len(pairs))[:n_held]] = True
    return _cut(pairs, held)


def split_within_users(
    pairs: Interactions,
    fraction: float,
    rng: np.random.Generator,
    tilt: F64 | float = 0.0,
) -> tuple[Interactions, Interactions]:
    """Hold out about ``fraction`` of each user's pairs, rounded at random, but never all of them.

    At least one pair is held out in total. The probability of a pair grows as (count of the
    item)^tilt; ``tilt`` is one number or one for each user, (users,), and 0 makes all pairs equally
    likely.

    >>> from core.interactions import from_pairs
    >>> pairs = from_pairs(np.arange(10) // 5, np.arange(10), time=np.arange(10))
    >>> train, test = split_within_users(pairs, 0.2, np.random.default_rng(0))
    >>> train.user_counts, test.user_counts
    (array([4, 4]), array([1, 1]))
    """
    _check_fraction(fraction)
    counts = pairs.user_counts
    wanted = np.minimum(
        np.floor(counts * fraction + rng.random(counts.size)).astype(np.int64),
        np.maximum(counts - 1, 0),
    )
    if not wanted.any() and (several := np.flatnonzero(counts > 1)).size:
        wanted[rng.choice(several)] = 1
    # exponential waiting times: the first ones of a row are a weighted sample without replacement
    tilts = np.repeat(np.broadcast_to(tilt, counts.shape), counts)
    waits = rng.exponential(size=len(pairs)) / pairs.item_counts[pairs.item_ix] ** tilts
    order = np.lexsort((waits, pairs.user_ix))
    rank = np.empty(len(pairs), np.int64)
    rank[order] = np.arange(len(pairs)) - np.repeat(pairs.ptr[:-1], counts)
    return _cut(pairs, rank < np.repeat(wanted, counts))


def leave_last_out(pairs: Interactions, n: int = 1) -> tuple[Interactions, Interactions]:
    """Hold out the ``n`` newest pairs of users with more pairs; ties are broken by item number.

    >>> from core.interactions import from_pairs
    >>> pairs = from_pairs(np.arange(10) // 5, np.arange(10), time=np.arange(10))
    >>> leave_last_out(pairs)[1].item_ix
    array([4, 9], dtype=int32)
    """
    if n < 1:
        raise ConfigError(f"at least one pair of each user must be held out, not {n}")
    counts = pairs.user_counts
    order = np.lexsort((_times(pairs), pairs.user_ix))
    rank = np.empty(len(pairs), np.int64)
    rank[order] = np.arange(len(pairs)) - np.repeat(pairs.ptr[:-1], counts)
    size = np.repeat(counts, counts)
    return _cut(pairs, (rank >= size - n) & (size > n))


def time_split(pairs: Interactions, fraction: float) -> tuple[Interactions, Interactions]:
    """Hold out the newest ``fraction`` of all pairs; pairs of the same time stay together.

    >>> from core.interactions import from_pairs
    >>> pairs = from_pairs(np.arange(10) // 5, np.arange(10), time=np.arange(10))
    >>> time_split(pairs, 0.2)[1].item_ix
    array([8, 9], dtype=int32)
    """
    _check_fraction(fraction)
    if len(pairs) == 0:
        raise DataError("there are no pairs to split: give at least one")
    times = _times(pairs)
    cut = np.sort(times)[max(len(pairs) - 1 - round(len(pairs) * fraction), 0)]
    return _cut(pairs, times > cut)


def _times(pairs: Interactions) -> I64:
    if pairs.time is None:
        raise ConfigError("this split needs times: give them, or split at random")
    return pairs.time


def _check_fraction(fraction: float) -> None:
    if not 0.0 < fraction < 1.0:
        raise ConfigError(f"the held-out fraction must be between 0 and 1, not {fraction}")


def _cut(
    pairs: Interactions, held: "np.typing.NDArray[np.bool_]"
) -> tuple[Interactions, Interactions]:
    return pairs.keep(~held), pairs.keep(held)
