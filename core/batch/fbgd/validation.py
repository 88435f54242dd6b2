"""Validate settings of fBGD: fit them to some of the pairs, and rank the held-out rest.

Most settings are bad, and a little evidence shows it: they are given up after a few epochs, one
split or a few users. Only settings that keep up with the best so far are validated on all held-out
users.
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
from core.interactions import Interactions
from core.search.search import Outcome
from core.splits import split_within_users
from core.types import F64, I64

HELD_OUT = 0.2
"""Share of the pairs that a single split holds out.

If there are several splits, each holds out half as much: with more pairs left, more factors pay
off, as in the final fit.
"""
TILT = 0.3
"""Exponent of an item's count in its probability of being held out, for a random half of the users.

Future events are not a random sample of past ones. Settings that are good for both halves also hold
if the future leans towards frequent items, and are no worse if it does not.
"""
DEPTH = 20
"""Depth of the ndcg that scores a trial."""
EPOCH_SCORES, FEWEST_USERS, MOST_USERS, MOST_SPLITS = 5e7, 500, 6000, 4
"""Scores (users times items) to validate an epoch, bounds of the users, and most splits.

There are several splits only if there are few users.
"""
ALL_SCORES, ALL_USERS = 4e8, 12_000
"""Most scores and users to validate settings that keep up with the best; this happens once each."""
MOST_EPOCHS, PATIENCE = 40, 2
"""Most epochs of a trial, and epochs without a gain that end it."""
BLIND = 6
"""Number of epochs after which a trial without any hit ends."""
SLACK = 0.001
"""Share of the best score that may be given up for fewer epochs."""
BEHIND = 0.02
"""Share by which settings may trail the best after one split; after n splits, this / sqrt(n)."""
HOPELESS = 0.75
"""Share of the best score below which a trial ends from the third epoch on, even if it improves."""


@dataclass(frozen=True)
class HeldOutUsers:
    """Held-out users: the pairs for their fold-in, and the pairs held out."""

    seen: Interactions
    held: Interactions

    @property
    def size(self) -> int:
        """Return the number of users."""
        return self.seen.n_users

    def score(self, fitted: RowObjective) -> float:
        """Return the mean ndcg of the users; 0 if there are none."""
        if not self.size:
            return 0.0
        ids, _ = rank(fitted.vectors(self.seen), fitted.item_factors, self.seen, DEPTH)
        found = ranking_metrics.hits(ids, self.held)
        return float(ranking_metrics.ndcg(found, DEPTH).mean())


class ValidationSplit:
    """A validation split, in which a few users validate each epoch.

    A split that is ``alone`` has other users as well, to validate settings that look good.
    """

    def __init__(
        self,
        pairs: Interactions,
        rng: np.random.Generator,
        *,
        alone: bool = True,
        n_few: int | None = None,
    ) -> None:
        """Split the pairs.

        ``n_few`` users validate each epoch (None: set by the number of items).
        """
        tilt = np.where(rng.random(pairs.n_users) < 0.5, TILT, 0.0)
        self.fit, held = split_within_users(pairs, HELD_OUT if alone else HELD_OUT / 2, rng, tilt)
        held = held.liked
        users = rng.permutation(np.flatnonzero(held.user_counts))
        few = users_per_epoch(pairs) if n_few is None else n_few
        most = int(np.clip(ALL_SCORES / pairs.n_items, few, ALL_USERS)) if alone else few
        self.few, self.others = self._users(held, users[:few]), self._users(held, users[few:most])
        self._share = len(self.fit) / len(pairs)

    def adapted(self, config: FbgdConfig) -> FbgdConfig:
        """Return the settings for this split's pairs that correspond to ``config`` for all pairs.

        Held-out pairs are unobserved. For the expected loss to keep its minimiser, ``alpha0`` is
        multiplied by the share of the pairs that is left.
        """
        return replace(config, alpha0=config.alpha0 * self._share)

    def by_all(self, of_few: float, fitted: RowObjective) -> float:
        """Return the score of all users, given the score of the few."""
        few, others = self.few.size, self.others.size
        if not others:
            return of_few
        return (few * of_few + others * self.others.score(fitted)) / (few + others)

    def _users(self, held: Interactions, users: I64) -> HeldOutUsers:
        users = np.sort(users)
        return HeldOutUsers(self.fit.rows(users), held.rows(users))


def users_per_epoch(pairs: Interactions) -> int:
    """Return the number of users that validate an epoch; the more items, the fewer."""
    return int(np.clip(EPOCH_SCORES / max(pairs.n_items, 1), FEWEST_USERS, MOST_USERS))


def splits_of(pairs: Interactions, rng: np.random.Generator) -> list[ValidationSplit]:
    """Return one validation split, or several if there are few users."""
    wanted = min(2 * users_per_epoch(pairs), MOST_USERS)
    n = int(np.clip(np.ceil(wanted / max(pairs.n_users, 1)), 1, MOST_SPLITS))
    return [ValidationSplit(pairs, rng, alone=n == 1) for _ in range(n)]


class Comparison:
    """Scores settings at their best number of epochs, compared with the best settings so far.

    Once ``is_late`` returns True the running trial is cut short; it then scores 0 unless it is the
    first.
    """

    def __init__(
        self, splits: list[ValidationSplit], is_late: Callable[[], bool] = lambda: False
    ) -> None:
        self._splits, self._is_late, self._is_first = splits, is_late, True
        self._best = [0.0] * (len(splits) + 1)
        """Scores of the best settings on the first split, the first two, ..., and on all users."""

    def score(self, config: FbgdConfig) -> Outcome:
        """Validate split by split until the settings fall behind.

        The first split bounds the epochs.
        """
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
            # a trial that was cut short is no evidence for its settings or epochs
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
        """Return the score on all users; estimate it if not all of them were measured.

        The estimate assumes that the score on the measured splits and the score on all users have
        the same ratio as for the best settings.
        """
        if len(scores) < len(self._best):
            return scores[-1] / self._best[len(scores) - 1] * self._best[-1]
        if scores[-1] > self._best[-1]:
            self._best = scores
        return scores[-1]


class _Course:
    """One fit: its score after each epoch, and the models of epochs that may still be chosen."""

    def __init__(
        self, split: ValidationSplit, config: FbgdConfig, give_up: Callable[[list[float]], bool]
    ) -> None:
        self._split, self._shrinkage, self._give_up = split, config.shrinkage, give_up
        self.scores: list[float] = []
        """Scores of the few users after each epoch; the first epoch counts as 0."""
        self._models: dict[int, RowObjective] = {}
        Fbgd(replace(split.adapted(config), shrinkage=0.0)).fit(split.fit, on_epoch=self._hear)

    def by_all(self, of_few: float, epochs: int) -> float:
        """Return the score of all users after this many epochs, given the score of the few."""
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


def scored_as_given(splits: list[ValidationSplit], config: FbgdConfig) -> Outcome:
    """Return the score of the settings after exactly their epochs.

    Only the last one is validated.
    """
    scores = []
    for split in splits:
        alone = Fbgd(replace(split.adapted(config), shrinkage=0.0)).fit(split.fit).fitted
        fitted = shrunk(alone, split.few.seen, config.shrinkage)
        scores.append(split.by_all(split.few.score(fitted), fitted))
    return Outcome(float(np.mean(scores)), {})


def _fewest(scores: Sequence[float] | F64) -> int:
    """Return the fewest epochs whose score is within SLACK of the best."""
    values = np.asarray(scores)
    return 1 + int(np.argmax(values >= (1.0 - SLACK) * values.max()))


def _hopeless(scores: list[float], best: float) -> bool:
    """Tell whether a trial is far below the best settings, or will still trail them soon.

    The forecast assumes that PATIENCE more epochs each gain as much as the last one.
    """
    if len(scores) < 3:
        return False
    gain = max(scores[-1] - scores[-2], 0.0)
    ahead = scores[-1] + PATIENCE * gain
    return max(scores) < HOPELESS * best or ahead < (1.0 - BEHIND) * best


def _stale(scores: list[float]) -> bool:
    """Tell whether the last epochs improved on those before by less than SLACK."""
    if len(scores) <= PATIENCE:
        return False
    if max(scores) == 0.0:
        return len(scores) >= BLIND
    return max(scores[-PATIENCE:]) < (1.0 + SLACK) * max(scores[:-PATIENCE])
