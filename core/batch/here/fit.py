"""Fit lifts: counts of what was liked, drawn towards "no difference" as far as they are noise.

How far is learned for each name, by the likelihood of its counts. So a name that says nothing of
what is liked (noise) draws all its lifts to 0, and is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from core.batch.here.config import FEWEST_USERS, HereConfig
from core.batch.here.likes import ContextLikes
from core.batch.here.model import Here
from core.errors import DataError
from core.types import F64, I64

LEAST_STEADY, MOST_STEADY = 0.05, 1e4
"""Bounds of the strength of the pull, in liked items."""
LEAST_GAIN = 4.0
"""Least gain of the logarithm of the likelihood over no difference at all, for a name to count."""
SAMPLE = 200_000
"""Counts by which the strength is learned."""


@dataclass(frozen=True)
class _Name:
    """A name of contexts: how often items were liked where it had its learned texts."""

    rows: I64
    """(t,): the learned texts, as indexes in ``said``."""
    counts: F64
    """(t, n)"""
    expected: F64
    """(t, n): the counts if the text made no difference."""


def fit(likes: ContextLikes, item_counts: F64, config: HereConfig) -> Here:
    """Return the lifts; ``item_counts`` (n,) has how many users liked each item, in any context.

    Raises DataError if no name and text has enough likes, or none makes a difference.

    Equation   lift(i, c) = log((n_ic + a) / (e_ic + a)) where e_ic = n_i n_c / n
    Symbols    n_ic users who liked item i where the name had the text c · n_i, n_c, n the sums over
               texts, items, both, for this name · a the strength of the pull, of this name
    Source     the posterior mean of n_ic / e_ic, if n_ic ~ Poisson(e_ic r) and r ~ Gamma(a, a); a
               maximises the likelihood of the counts, which are then negative binomial
    """
    learned: dict[int, Any] = {}
    names = list(_names(likes, config))
    for one in names:
        steady = steadiness(one.counts, one.expected)
        if steady is not None:
            lift = np.log((one.counts + steady) / (one.expected + steady))
            learned |= dict(zip(one.rows.tolist(), lift.astype(np.float32), strict=True))
    if not names:
        raise DataError(
            f"no name and text of a context was given with {config.fewest} liked items by "
            f"{FEWEST_USERS} users, beside another text of the same name: "
            "give more events with `context`"
        )
    if not learned:
        raise DataError("what is liked is the same in all contexts")
    rows = sorted(learned)
    share = (item_counts / item_counts.sum()).astype(np.float32)
    return Here([likes.said[row] for row in rows], np.stack([learned[row] for row in rows]), share)


def steadiness(counts: F64, expected: F64) -> float | None:
    """Return the strength of the pull that makes the counts likeliest; None: they are noise.

    >>> expected = np.full((2, 500), 20.0)
    >>> steadiness(np.random.default_rng(0).poisson(expected), expected) is None
    True
    """
    n, e = counts[expected > 0.0], expected[expected > 0.0]
    if n.size > SAMPLE:
        drawn = np.random.default_rng(0).choice(n.size, SAMPLE, replace=False)
        n, e = n[drawn], e[drawn]

    def surprise(log_a: float) -> float:
        return -log_likelihood(n, e, float(np.exp(log_a)))

    bounds = (np.log(LEAST_STEADY), np.log(MOST_STEADY))
    found = minimize_scalar(surprise, bounds=bounds, method="bounded")
    if surprise(bounds[1]) - found.fun < LEAST_GAIN:
        return None
    return float(np.exp(found.x))


def log_likelihood(n: F64, e: F64, a: float) -> float:
    """Return the logarithm of the likelihood of counts, but for what does not depend on ``a``."""
    terms = gammaln(n + a) - gammaln(a) + a * np.log(a / (a + e)) - n * np.log(a + e)
    return float(terms.sum())


def _names(likes: ContextLikes, config: HereConfig) -> Iterator[_Name]:
    """Yield the names that had several texts, with the texts that have enough likes."""
    n_said = len(likes.said)
    totals = np.bincount(likes.said_ix, minlength=n_said)
    enough = np.flatnonzero((totals >= config.fewest) & (likes.n_users >= FEWEST_USERS))
    learned = enough[np.argsort(-totals[enough], kind="stable")][: config.most]
    of_name: dict[str, list[int]] = {}
    for number, (name, _) in enumerate(likes.said):
        of_name.setdefault(name, []).append(number)
    for texts in of_name.values():
        rows = np.intersect1d(texts, learned)
        if rows.size and np.count_nonzero(totals[texts]) > 1:
            yield _counted(likes, rows, np.isin(np.arange(n_said), texts))


def _counted(likes: ContextLikes, rows: I64, of_name: Any) -> _Name:
    n_items, own = likes.n_items, of_name[likes.said_ix]
    by_item = np.bincount(likes.item_ix[own], minlength=n_items).astype(np.float64)
    counts = np.stack(
        [np.bincount(likes.item_ix[likes.said_ix == row], minlength=n_items) for row in rows]
    ).astype(np.float64)
    expected = by_item * (counts.sum(axis=1) / by_item.sum())[:, None]
    return _Name(rows, counts, expected)
