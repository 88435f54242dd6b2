"""Fit a stack to held-out pairs of which nobody knows how they were drawn.

Some test pairs are a random sample of all pairs; others, as those that users take later, have more
of the frequent items. Weights that suit the one lose by the other: a weight of popularity that
gains 2 % on Gowalla's published test loses 1 % on a random sample of Last.fm. So pairs are held out
in both ways, and those weights are chosen whose gain is largest where it is smallest.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import DataError
from core.stack.choices import Choices, joined
from core.stack.fitting import fit
from core.stack.guard import FOLDS, Guarded
from core.stack.lists import Lists
from core.stack.logit import Logit
from core.types import F32, F64, I64

SHARES = (0.0, 0.25, 0.5, 1.0)
"""Shares of the second sample's events that are tried beside all of the first one's."""
SURE = 2.5
"""Standard errors by which a stack must be better than the best ranker, or this one answers alone.

The best of several stacks looks better than it is, because it was chosen for looking best."""

_Ndcg10 = Sequence[F64]
"""The ndcg@10 of each list of both samples."""


@dataclass(frozen=True, eq=False)
class _Events:
    """The events of both samples; the sets of events that shares choose contain each other."""

    choices: Choices
    fold: I64
    """(e,)"""
    needs: F64
    """(e,) least share with which an event is learned."""


def balanced(
    samples: tuple[Lists, Lists],
    names: Sequence[str],
    scores: Mapping[str, int],
    most: int,
    rng: np.random.Generator,
) -> Guarded:
    """Return the stack with the largest gain on the worse of two samples, by cross-fitting.

    The first sample is random, the second one is not; at most ``most`` events of each are learned.
    ``scores`` names for each ranker the column of its own score. Unless the stack is surely worth
    more than the best ranker, this ranker answers alone.

    Equation   worth = min over samples of (mean ndcg@10 / that of the sample's best ranker)
    """
    own = {at: _ndcg10(samples, [one.signals[:, at] for one in samples]) for at in scores.values()}
    leads = np.array([_means(one) for one in own.values()]).max(axis=0)
    # where no ranker finds anything, all are worth the same
    worths = {at: _worth(one, np.where(leads > 0.0, leads, 1.0)) for at, one in own.items()}
    best = max(scores, key=lambda name: worths[scores[name]])
    ndcg10 = {name: float(_means(own[at]).mean()) for name, at in scores.items()}
    folds = rng.integers(0, FOLDS, 1 + max(int(one.user.max(initial=0)) for one in samples))
    events = _events(samples, folds, most, rng)
    fits = _cross_fitted(samples, folds, events, names)
    if not fits or not (leads > 0.0).all():
        return Guarded(fit(events.choices, names), best, ndcg10)
    share = max(fits, key=lambda share: _worth(fits[share], leads))
    more = _worth(fits[share], leads) - worths[scores[best]]
    is_sure = more > SURE * _error(samples, fits[share], own[scores[best]], leads)
    return Guarded(
        fit(events.choices.keep(events.needs <= share), names),
        alone=None if is_sure else best,
        ndcg10={"mixture": float(_means(fits[share]).mean()), **ndcg10},
    )


def _events(
    samples: tuple[Lists, Lists], folds: I64, most: int, rng: np.random.Generator
) -> _Events:
    (plain, of_plain), (other, of_other) = (one.events(most, rng) for one in samples)
    users = np.concatenate([samples[0].user[of_plain], samples[1].user[of_other]])
    needs = np.concatenate([np.zeros(len(plain)), rng.random(len(other))])
    return _Events(joined([plain, other]), folds[users], needs)


def _cross_fitted(
    samples: tuple[Lists, Lists], folds: I64, events: _Events, names: Sequence[str]
) -> dict[float, _Ndcg10]:
    """Return the ndcg@10 of all lists of both samples by share, each by a fit to other users.

    It is empty if a fold leaves nothing to learn from.
    """
    found = {share: [np.zeros(len(one.signals)) for one in samples] for share in SHARES}
    for fold in range(FOLDS):
        begin: Logit | None = None
        for share, scores in found.items():
            learned = (events.fold != fold) & (events.needs <= share)
            try:
                begin = fit(events.choices.keep(learned), names, begin=begin)
            except DataError:
                return {}
            for lists, score in zip(samples, scores, strict=True):
                rows = folds[lists.user][lists.list_of] == fold
                score[rows] = begin.score_all(lists.choices)[rows]
    return {share: _ndcg10(samples, scores) for share, scores in found.items()}


def _ndcg10(samples: tuple[Lists, Lists], scores: Sequence[F32 | F64]) -> _Ndcg10:
    """Return the ndcg@10 of the lists of each sample in the order of a score."""
    return [one.ndcg10(score) for one, score in zip(samples, scores, strict=True)]


def _means(found: _Ndcg10) -> F64:
    return np.array([one.mean() for one in found])


def _worth(found: _Ndcg10, leads: F64) -> float:
    return float((_means(found) / leads).min())


def _error(samples: tuple[Lists, Lists], one: _Ndcg10, other: _Ndcg10, leads: F64) -> float:
    """Return the larger standard error of the difference, of those of the two samples.

    A user may have several lists of a sample. They are alike, so users are counted, not lists.
    """
    errors = []
    for lists, ours, theirs in zip(samples, one, other, strict=True):
        more = ours - theirs
        users, of = np.unique(lists.user, return_inverse=True)
        sums = np.bincount(of, more - more.mean())
        n = users.size
        errors.append(
            math.sqrt(n / (n - 1) * float(sums @ sums)) / more.size if n > 1 else math.inf
        )
    return float((np.array(errors) / leads).max())
