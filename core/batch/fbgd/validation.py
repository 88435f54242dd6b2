"""How settings of fBGD are judged: fitted on a part of the pairs, they rank what was held out, beside the best so far.

Most settings are no good, and that shows soon. So they are given up at an epoch, a split or a few judges, and only what
keeps up with the best is judged by all.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core import ranking_metrics
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.ranker import rank
from core.batch.row_objective import RowObjective
from core.batch.shrinkage import shrunk
from core.interactions import Interactions, split_within_users
from core.search.search import Outcome
from core.types import F64, I64

HELD_OUT = 0.2
"""By the split that judges alone; half as much by each of several: more pairs carry more factors, as in the end."""
TILT = 0.3
"""For every other user, items that many have taken are likelier to be held out, by their count to this power.

What users will do is no random part of what they have done. Settings that are good for both kinds of hold-out also hold
where the future leans to what is frequent, and are no worse where it does not.
"""
DEPTH = 20
"""A trial's score is ndcg at this depth."""
GLANCED_SCORES, FEWEST_JUDGES, JUDGES, MOST_SPLITS = 5e7, 500, 6000, 4
"""Scores of items for users that an epoch is judged by, and so the users; with fewer users, several splits judge."""
ALL_SCORES, ALL_JUDGES = 4e8, 12_000
"""The same for settings that keep up with the best: they are judged so once."""
MOST_EPOCHS, PATIENCE = 40, 2
BLIND = 6
"""A trial without a hit ends after so many epochs."""
SLACK = 0.001
"""The fewest epochs within this share of the best are taken."""
BEHIND = 0.02
"""Settings that are behind the best by this share for the first judges see no others; after n of them by this / sqrt(n)."""
HOPELESS = 0.75
"""From the third epoch on a trial below this share of the best is given up, however steeply it rises."""


@dataclass(frozen=True)
class Jury:
    """Users: the pairs that they are folded in from, and those that were held out."""

    seen: Interactions
    held: Interactions

    @property
    def size(self) -> int:
        """Return how many users they are."""
        return self.seen.n_users

    def score(self, fitted: RowObjective) -> float:
        """Return the mean ndcg of the users; 0 where there are none."""
        if not self.size:
            return 0.0
        ids, _ = rank(fitted.vectors(self.seen), fitted.item_factors, self.seen, DEPTH)
        found = ranking_metrics.hits(ids, self.held)
        return float(ranking_metrics.ndcg(found, DEPTH).mean())


class Split:
    """One validation split: a few users judge each epoch, the others, if it is the only one, what seems good to these."""

    def __init__(
        self,
        pairs: Interactions,
        rng: np.random.Generator,
        *,
        alone: bool = True,
        n_few: int | None = None,
    ) -> None:
        """``n_few`` users judge each epoch; None: as many as suits the number of items."""
        tilt = np.where(rng.random(pairs.n_users) < 0.5, TILT, 0.0)
        self.fit, held = split_within_users(pairs, HELD_OUT if alone else HELD_OUT / 2, rng, tilt)
        held = held.liked
        users = rng.permutation(np.flatnonzero(held.user_counts))
        few = glancing(pairs) if n_few is None else n_few
        most = int(np.clip(ALL_SCORES / pairs.n_items, few, ALL_JUDGES)) if alone else few
        self.few, self.others = self._jury(held, users[:few]), self._jury(held, users[few:most])
        self._share = len(self.fit) / len(pairs)

    def adapted(self, config: FbgdConfig) -> FbgdConfig:
        """Return the settings for this part that mean what ``config`` means for all pairs.

        Where fewer pairs are observed, unlabelled ones must weigh less by the same share for the expected loss to
        have the same minimiser: what is held out looks like what was not taken.
        """
        return replace(config, alpha0=config.alpha0 * self._share)

    def by_all(self, of_few: float, fitted: RowObjective) -> float:
        """Return the score by all judges of a model to which the few have given theirs."""
        few, others = self.few.size, self.others.size
        if not others:
            return of_few
        return (few * of_few + others * self.others.score(fitted)) / (few + others)

    def _jury(self, held: Interactions, users: I64) -> Jury:
        users = np.sort(users)
        return Jury(self.fit.rows(users), held.rows(users))


def glancing(pairs: Interactions) -> int:
    """Return how many users judge an epoch: fewer where they score many items."""
    return int(np.clip(GLANCED_SCORES / max(pairs.n_items, 1), FEWEST_JUDGES, JUDGES))


def splits_of(pairs: Interactions, rng: np.random.Generator) -> list[Split]:
    """Return several splits where one has too few judges."""
    wanted = min(2 * glancing(pairs), JUDGES)
    n = int(np.clip(np.ceil(wanted / max(pairs.n_users, 1)), 1, MOST_SPLITS))
    return [Split(pairs, rng, alone=n == 1) for _ in range(n)]


class Race:
    """Scores settings at their best number of epochs, beside the best settings so far on the same splits.

    Once ``is_late``, a trial is cut short; only the first one counts all the same.
    """

    def __init__(self, splits: list[Split], is_late: Callable[[], bool] = lambda: False) -> None:
        self._splits, self._is_late, self._is_first = splits, is_late, True
        self._best = [0.0] * (len(splits) + 1)
        """Of the best settings, the score on the first split, the first two, ..., and by all judges."""

    def judge(self, config: FbgdConfig) -> Outcome:
        """Let more and more judge until the settings fall behind; the first split decides how many epochs are looked at."""
        course = _Course(self._splits[0], replace(config, epochs=MOST_EPOCHS), self._give_up)
        curves, scores = [course.scores], [max(course.scores)]
        config = replace(config, epochs=len(course.scores))
        for split in self._splits[1:]:
            if self._is_late() or not self._keeps_up(scores):
                break
            curve = _Course(split, config, lambda _: self._is_late()).scores
            if len(curve) < len(curves[0]):
                break
            curves.append(curve)
            scores.append(float(np.mean(curves, axis=0).max()))
        mean: F64 = np.mean(curves, axis=0)
        epochs = _fewest(mean)
        is_first, self._is_first = self._is_first, False
        if self._is_late():
            # tells too little to be chosen, or to choose the epochs by
            return Outcome(float(mean.max()) if is_first else 0.0, {})
        if len(scores) == len(self._splits) and self._keeps_up(scores):
            scores.append(course.by_all(float(mean[epochs - 1]), epochs))
        return Outcome(self._on_all(scores), {"epochs": epochs})

    def _give_up(self, scores: list[float]) -> bool:
        return self._is_late() or _stale(scores) or _hopeless(scores, self._best[0])

    def _keeps_up(self, scores: list[float]) -> bool:
        n = len(scores)
        return scores[-1] >= (1.0 - BEHIND / math.sqrt(n)) * self._best[n - 1]

    def _on_all(self, scores: list[float]) -> float:
        """Return the score by all: those who were not asked are as much kinder as they were to the best settings."""
        if len(scores) < len(self._best):
            return scores[-1] / self._best[len(scores) - 1] * self._best[-1]
        if scores[-1] > self._best[-1]:
            self._best = scores
        return scores[-1]


class _Course:
    """One fit: the score after each epoch, and the models of those that may yet turn out to be the ones to take."""

    def __init__(
        self, split: Split, config: FbgdConfig, give_up: Callable[[list[float]], bool]
    ) -> None:
        self._split, self._shrinkage, self._give_up = split, config.shrinkage, give_up
        self.scores: list[float] = []
        """By the few; the first epoch only counts as 0."""
        self._models: dict[int, RowObjective] = {}
        Fbgd(replace(split.adapted(config), shrinkage=0.0)).fit(split.fit, on_epoch=self._hear)

    def by_all(self, of_few: float, epochs: int) -> float:
        """Return the score by all judges after so many epochs, of which the few have given theirs."""
        if not self._models:
            return of_few
        return self._split.by_all(of_few, self._models[epochs])

    def _hear(self, model: Fbgd, epoch: int) -> bool:
        fitted = shrunk(model.fitted, self._split.few.seen, self._shrinkage)
        self.scores.append(self._split.few.score(fitted) if epoch > 1 else 0.0)
        if self._split.others.size:
            self._models[epoch] = fitted
            for earlier in range(1, _fewest(self.scores)):
                self._models.pop(earlier, None)
        return self._give_up(self.scores)


def judged_as_given(splits: list[Split], config: FbgdConfig) -> Outcome:
    """Score the settings after exactly their epochs: only the last one is judged."""
    scores = []
    for split in splits:
        alone = Fbgd(replace(split.adapted(config), shrinkage=0.0)).fit(split.fit).fitted
        fitted = shrunk(alone, split.few.seen, config.shrinkage)
        scores.append(split.by_all(split.few.score(fitted), fitted))
    return Outcome(float(np.mean(scores)), {})


def _fewest(scores: Sequence[float] | F64) -> int:
    """Return after how many epochs the score is as good as the best."""
    found = np.asarray(scores)
    return 1 + int(np.argmax(found >= (1.0 - SLACK) * found.max()))


def _hopeless(scores: list[float], best: float) -> bool:
    """Tell whether it is far below the best, or would not keep up if PATIENCE more epochs gained what the last one did."""
    if len(scores) < 3:
        return False
    gain = max(scores[-1] - scores[-2], 0.0)
    ahead = scores[-1] + PATIENCE * gain
    return max(scores) < HOPELESS * best or ahead < (1.0 - BEHIND) * best


def _stale(scores: list[float]) -> bool:
    """Tell whether the last epochs were no better than those before by more than SLACK."""
    if len(scores) <= PATIENCE:
        return False
    if max(scores) == 0.0:
        return len(scores) >= BLIND
    return max(scores[-PATIENCE:]) < (1.0 + SLACK) * max(scores[:-PATIENCE])
