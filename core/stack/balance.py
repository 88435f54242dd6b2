"""Fit a stack to held-out pairs of which nobody knows how they were drawn.

Some test pairs are a random sample of all pairs; others, as those that users take later, have more
of the frequent items. Weights that suit the one lose by the other: a weight of popularity that
gains 2 % on Gowalla's published test loses 1 % on a random sample of Last.fm. So pairs are held out
in both ways, and those weights are chosen whose gain is largest where it is smallest.
"""

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
    ``scores`` names for each ranker the column of its own score. If that stack ranks worse than the
    best ranker in the mean of both, or there are too few events to know, this ranker answers alone.

    Equation   gain = min over samples of (mean ndcg@10 of the stack / that of the best ranker - 1)
    """
    columns = np.array(list(scores.values()))
    own = np.array([_means(samples, [one.signals[:, at] for one in samples]) for at in columns])
    leads = own.max(axis=0)
    known = bool((leads > 0.0).all())
    best = [*scores][int((own / leads if known else own).sum(axis=1).argmax())]
    ndcg10 = dict(zip(scores, own.mean(axis=1).tolist(), strict=True))
    folds = rng.integers(0, FOLDS, 1 + max(int(one.user.max(initial=0)) for one in samples))
    events = _events(samples, folds, most, rng)
    fits = _cross_fitted(samples, folds, events, names)
    if not fits or not known:
        return Guarded(fit(events.choices, names), best, ndcg10)
    gains = {share: means / leads - 1.0 for share, means in fits.items()}
    share = max(gains, key=lambda share: float(gains[share].min()))
    return Guarded(
        fit(events.choices.keep(events.needs <= share), names),
        alone=best if gains[share].mean() < 0.0 else None,
        ndcg10={"mixture": float(fits[share].mean()), **ndcg10},
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
) -> dict[float, F64]:
    """Return the mean ndcg@10 in both samples (2,) by share, each list by a fit to other users.

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
    return {share: _means(samples, scores) for share, scores in found.items()}


def _means(samples: tuple[Lists, Lists], scores: Sequence[F32 | F64]) -> F64:
    """Return the mean ndcg@10 of each sample in the order of a score, (2,)."""
    found = [one.ndcg10(score).mean() for one, score in zip(samples, scores, strict=True)]
    return np.array(found)
