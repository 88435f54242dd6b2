"""Validate settings of fBGD: fit them to some of the pairs and rank the held-out rest, compared with the best so far.

Most settings are bad, and a little evidence shows it. They are given up after an epoch, a split or a few users; only
settings that keep up with the best are validated on all held-out users.
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
"""Share of the pairs that a single split holds out. Each of several holds out half as much: more pairs carry more
factors, as in the final fit."""
TILT = 0.3
"""Exponent of an item's count in its chance to be held out, for every other user.

Future events are no random sample of past ones. Settings that are good for both kinds of held-out pairs also hold where
the future leans to frequent items, and are no worse where it does not.
"""
DEPTH = 20
"""Depth of the ndcg that a trial is scored by."""
EPOCH_SCORES, FEWEST_USERS, MOST_USERS, MOST_SPLITS = 5e7, 500, 6000, 4
"""Scores (users times items) that validate an epoch, bounds of the users, and most splits where users are few."""
ALL_SCORES, ALL_USERS = 4e8, 12_000
"""The same for settings that keep up with the best, which are validated once so."""
MOST_EPOCHS, PATIENCE = 40, 2
BLIND = 6
"""Epochs after which a trial without a hit ends."""
SLACK = 0.001
"""Share by which fewer epochs may be worse than the best number of them."""
BEHIND = 0.02
"""Share by which settings may be behind the best after the first split; after n splits this / sqrt(n)."""
HOPELESS = 0.75
"""Share of the best score below which a trial is given up from the third epoch on, however steeply it rises."""


@dataclass(frozen=True)
class HeldOutUsers:
    """Users that validate: the pairs that they are folded in from, and those that were held out."""

    seen: Interactions
    held: Interactions

    @property
    def size(self) -> int:
        """Return the number of users."""
        return self.seen.n_users

    def score(self, fitted: RowObjective) -> float:
        """Return the mean ndcg of the users; 0 where there are none."""
        if not self.size:
            return 0.0
        ids, _ = rank(fitted.vectors(self.seen), fitted.item_factors, self.seen, DEPTH)
        found = ranking_metrics.hits(ids, self.held)
        return float(ranking_metrics.ndcg(found, DEPTH).mean())


class Split:
    """One validation split: a few users validate each epoch; a single split has others for the settings that look good."""

    def __init__(
        self,
        pairs: Interactions,
        rng: np.random.Generator,
        *,
        alone: bool = True,
        n_few: int | None = None,
    ) -> None:
        """``n_few`` users validate each epoch; None: as many as suits the number of items."""
        tilt = np.where(rng.random(pairs.n_users) < 0.5, TILT, 0.0)
        self.fit, held = split_within_users(pairs, HELD_OUT if alone else HELD_OUT / 2, rng, tilt)
        held = held.liked
        users = rng.permutation(np.flatnonzero(held.user_counts))
        few = users_per_epoch(pairs) if n_few is None else n_few
        most = int(np.clip(ALL_SCORES / pairs.n_items, few, ALL_USERS)) if alone else few
        self.few, self.others = self._users(held, users[:few]), self._users(held, users[few:most])
        self._share = len(self.fit) / len(pairs)

    def adapted(self, config: FbgdConfig) -> FbgdConfig:
        """Return the settings that mean for this split's pairs what ``config`` means for all pairs.

        Held-out pairs look unlabelled. The unlabelled ones must weigh less by the share of the pairs that is left, for
        the expected loss to have the same minimiser.
        """
        return replace(config, alpha0=config.alpha0 * self._share)

    def by_all(self, of_few: float, fitted: RowObjective) -> float:
        """Return the score for all users, given the one for the few."""
        few, others = self.few.size, self.others.size
        if not others:
            return of_few
        return (few * of_few + others * self.others.score(fitted)) / (few + others)

    def _users(self, held: Interactions, users: I64) -> HeldOutUsers:
        users = np.sort(users)
        return HeldOutUsers(self.fit.rows(users), held.rows(users))


def users_per_epoch(pairs: Interactions) -> int:
    """Return the number of users that validate an epoch: fewer where there are many items."""
    return int(np.clip(EPOCH_SCORES / max(pairs.n_items, 1), FEWEST_USERS, MOST_USERS))


def splits_of(pairs: Interactions, rng: np.random.Generator) -> list[Split]:
    """Return one validation split, or several where there are few users."""
    wanted = min(2 * users_per_epoch(pairs), MOST_USERS)
    n = int(np.clip(np.ceil(wanted / max(pairs.n_users, 1)), 1, MOST_SPLITS))
    return [Split(pairs, rng, alone=n == 1) for _ in range(n)]


class Comparison:
    """Scores settings at their best number of epochs, compared with the best settings so far on the same splits.

    A trial that runs while ``is_late`` is cut short, and counts only if it is the first.
    """

    def __init__(self, splits: list[Split], is_late: Callable[[], bool] = lambda: False) -> None:
        self._splits, self._is_late, self._is_first = splits, is_late, True
        self._best = [0.0] * (len(splits) + 1)
        """Scores of the best settings on the first split, the first two, ..., and for all users."""

    def score(self, config: FbgdConfig) -> Outcome:
        """Validate on more and more splits until the settings fall behind; the first one bounds the epochs."""
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
        """Return the score for all users; what was not measured is taken to differ as it did for the best settings."""
        if len(scores) < len(self._best):
            return scores[-1] / self._best[len(scores) - 1] * self._best[-1]
        if scores[-1] > self._best[-1]:
            self._best = scores
        return scores[-1]


class _Course:
    """One fit: the score after each epoch, and the models of those epochs that may still be chosen."""

    def __init__(
        self, split: Split, config: FbgdConfig, give_up: Callable[[list[float]], bool]
    ) -> None:
        self._split, self._shrinkage, self._give_up = split, config.shrinkage, give_up
        self.scores: list[float] = []
        """For the few users; the first epoch counts as 0."""
        self._models: dict[int, RowObjective] = {}
        Fbgd(replace(split.adapted(config), shrinkage=0.0)).fit(split.fit, on_epoch=self._hear)

    def by_all(self, of_few: float, epochs: int) -> float:
        """Return the score for all users after so many epochs, given the one for the few."""
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


def scored_as_given(splits: list[Split], config: FbgdConfig) -> Outcome:
    """Score the settings after exactly their epochs: only the last one is validated."""
    scores = []
    for split in splits:
        alone = Fbgd(replace(split.adapted(config), shrinkage=0.0)).fit(split.fit).fitted
        fitted = shrunk(alone, split.few.seen, config.shrinkage)
        scores.append(split.by_all(split.few.score(fitted), fitted))
    return Outcome(float(np.mean(scores)), {})


def _fewest(scores: Sequence[float] | F64) -> int:
    """Return the fewest epochs whose score is as good as the best."""
    found = np.asarray(scores)
    return 1 + int(np.argmax(found >= (1.0 - SLACK) * found.max()))


def _hopeless(scores: list[float], best: float) -> bool:
    """Tell whether a trial is far below the best, or would be if PATIENCE more epochs gained as much as the last one."""
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
