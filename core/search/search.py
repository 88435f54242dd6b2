"""Finding the settings of a model on a validation part of its training data, within a budget of seconds.

A Gaussian process learns the validation score over all settings together. The next trial is the one whose expected
gain per second is best, so the cheap small models are tried first and the large ones once they promise more.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.errors import ConfigError, Diverged
from core.search.surrogate import Surrogate, expected_gain
from core.types import F64

NEAR_BEST = 0.05
"""Scores further below the best than this share differ less and less: only the neighbourhood of the best matters."""
DOUBT = 0.06
"""A score counts as less by this share where a setting lies a whole axis from the usual one, half as far by a fourth of it.

What is held out is but a sample, and of the past: of many settings that are as good there, the usual ones hold more
often than those at an end of their axis.
"""
CANDIDATES, NEIGHBOURS, NEAR = 400, 40, (0.04, 0.15)
BEST, SHARED = 5, 0.5
"""So many of the best trials have neighbours, and others that have this part of their values."""
AROUND = 0.06
"""Size of the neighbourhood that a choice is judged by."""
LEAST = 1e-300
"""A score below it is none."""
PRICE = 0.5
"""Exponent of a trial's seconds in the choice of the next."""
LARGEST_TRIAL = 0.12
"""Share of the budget that one trial may cost."""
GRACE = 0.1
"""A trial may end later than the budget by this share of it; then it is cut short, and counts for nothing."""
SLOW = 0.8
"""Share of the trials that are faster, for their size, than what must end in time."""
LEAP = 4
"""Every so many trials the best settings are tried at the next size."""
DEAR, LIKE = 0.02, 0.08
"""A trial that costs this share of the budget goes where a smaller one, as far away on no axis, has been before."""


@dataclass(frozen=True)
class Axis:
    """One setting: searched from ``low`` to ``high``, evenly in its logarithm if ``log``."""

    name: str
    low: float
    high: float
    log: bool = False
    multiple: int = 0
    """Whole numbers that are multiples of this; 0: any number."""
    usual: float | None = None
    """What does for most data."""

    def value(self, unit: float) -> float:
        """Return the setting at 0..1 of the axis."""
        if not self.log:
            value = self.low + unit * (self.high - self.low)
        else:
            value = self.low * (self.high / self.low) ** unit
        if self.multiple:
            return max(round(value / self.multiple), 1) * self.multiple
        return float(f"{value:.4g}")

    def unit(self, value: float) -> float:
        """Return where 0..1 the setting lies; 0 where there is only one value."""
        if self.high == self.low:
            return 0.0
        if not self.log:
            share = (value - self.low) / (self.high - self.low)
        else:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        return min(max(share, 0.0), 1.0)


@dataclass(frozen=True)
class Budget:
    """``now`` tells the seconds since any moment; the search may take ``seconds``."""

    now: Callable[[], float]
    seconds: float

    def begin(self) -> Callable[[], float]:
        """Return what tells the seconds that are left, from this moment on."""
        ends = self.now() + self.seconds
        return lambda: ends - self.now()

    def begin_overrun(self) -> Callable[[], bool]:
        """Return what tells whether the budget is overrun by more than a trial may, from this moment on."""
        left = self.begin()
        return lambda: left() < -GRACE * self.seconds


@dataclass(frozen=True)
class Outcome:
    """What a trial found: a score above 0, the higher the better, and what goes with it (such as epochs)."""

    score: float
    found: dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """A point (axes,) of the unit cube, its settings, its outcome and what it cost."""

    point: F64
    settings: dict[str, Any]
    outcome: Outcome
    seconds: float


Objective = Callable[[dict[str, Any]], Outcome]
"""Settings -> outcome; what raises Diverged scores 0."""
Sized = Callable[[dict[str, Any]], dict[str, Any] | None]


class Search:
    """The loop: first the given settings, then whatever promises most."""

    def __init__(
        self,
        axes: Sequence[Axis],
        objective: Objective,
        work: Callable[[dict[str, Any]], float],
        rng: np.random.Generator,
        larger: Sized = lambda settings: None,
        smaller: Sized = lambda settings: None,
    ) -> None:
        """``work`` tells what a trial costs in any unit: measured trials turn it into seconds.

        ``larger`` returns settings of the next size, which usually score more, None where there are none; ``smaller``
        such as cost much less and tell nearly as much.
        """
        if not axes:
            raise ConfigError("nothing is left to search: leave at least one setting open")
        self.axes = tuple(axes)
        self.trials: list[Trial] = []
        self._objective, self._work, self._rng = objective, work, rng
        self._larger, self._smaller = larger, smaller
        self._diverged: list[Diverged] = []
        self._surrogate = Surrogate(rng)

    def run(
        self,
        first: Sequence[dict[str, Any]],
        budget: Budget,
        *,
        most: int,
        on_trial: Callable[[float], None] = lambda share: None,
    ) -> Trial:
        """Try ``first`` and then up to ``most`` settings in all; return the best by what was learned.

        Where every trial diverged, so does the search.
        """
        started = budget.now()
        while len(self.trials) < most:
            left = budget.seconds - (budget.now() - started)
            settings = self._next(first, left, budget.seconds)
            if self.trials and (settings is None or left <= 0.0):
                break
            self._try(settings or dict(first[0]), budget.now)
            on_trial(min(max(1.0 - left / budget.seconds, len(self.trials) / most), 1.0))
        if len(self._diverged) == len(self.trials):
            raise self._diverged[-1]
        return self.best()

    def _try(self, settings: dict[str, Any], now: Callable[[], float]) -> None:
        begun = now()
        try:
            outcome = self._objective(settings)
        except Diverged as error:
            self._diverged.append(error)
            outcome = Outcome(0.0, {})
        seconds = now() - begun
        self.trials.append(Trial(self._points([settings])[0], settings, outcome, seconds))

    def _next(
        self, first: Sequence[dict[str, Any]], left: float, seconds: float
    ) -> dict[str, Any] | None:
        if not self.trials:
            return dict(first[0])
        if len(self.trials) < len(first):
            given = dict(first[len(self.trials)])
            return given if self._fits(self._seconds([given]), left, np.inf)[0] else None
        if (leap := self._leap(left, seconds)) is not None:
            return leap
        known = [trial.settings for trial in self.trials]
        settings = [one for one in self._candidates() if one not in known]
        costs = self._seconds(settings)
        affordable = np.flatnonzero(self._fits(costs, left, seconds))
        if affordable.size == 0:
            return None
        mean, spread = self._believed().predict(self._points([settings[at] for at in affordable]))
        gain = expected_gain(mean, spread, float(self._scores().max()))
        chosen = affordable[int(np.argmax(gain / costs[affordable] ** PRICE))]
        best = settings[int(chosen)]
        if costs[chosen] > DEAR * seconds and (scout := self._scout(best)) is not None:
            return scout
        return best

    def _scout(self, settings: dict[str, Any]) -> dict[str, Any] | None:
        """Return smaller settings to try first, None where trials of at least their size have been near."""
        smaller = self._smaller(settings)
        if smaller is None:
            return None
        there, least = self._points([settings, smaller])
        been = np.array([trial.point for trial in self.trials])
        alike = np.abs(been - there) <= np.where(there == least, LIKE, there - least + 1e-9)
        return None if alike.all(axis=1).any() else smaller

    def _leap(self, left: float, seconds: float) -> dict[str, Any] | None:
        """Return the best settings so far at the next size, if that is due, affordable and new."""
        if len(self.trials) % LEAP:
            return None
        settings = self._larger(self._by_score()[0].settings)
        if settings is None or any(trial.settings == settings for trial in self.trials):
            return None
        return settings if self._fits(self._seconds([settings]), left, seconds)[0] else None

    def _fits(self, costs: F64, left: float, seconds: float) -> "np.typing.NDArray[np.bool_]":
        """Tell which trials of these seconds are not too large, and end in time even if they are among the slow ones."""
        rates = self._rates()
        slow = costs * (np.quantile(rates, SLOW) / np.median(rates))
        fits: np.typing.NDArray[np.bool_] = (slow < left) & (costs < LARGEST_TRIAL * seconds)
        return fits

    def _believed(self) -> Surrogate:
        """Learn from all trials."""
        points = np.array([trial.point for trial in self.trials])
        return self._surrogate.fit(points, self._scores())

    def _scores(self) -> F64:
        """Return how far each score is below the best, 0 for that: -n log(1 + b / n), b = log(best / score) with its doubts.

        One of 0, which diverged, lies where the worst of the others does: further below, it would blur all these.
        """
        scores = self._found()
        sound = scores > 0.0
        counted = np.log(np.maximum(scores, LEAST)) - self._doubts()
        if sound.any():
            counted[~sound] = counted[sound].min()
        behind = counted.max() - counted
        below: F64 = -NEAR_BEST * np.log1p(behind / NEAR_BEST)
        return below

    def _doubts(self) -> F64:
        """Return what each score's logarithm counts less for being found far from what is usual."""
        usual = np.array(
            [np.nan if axis.usual is None else axis.unit(axis.usual) for axis in self.axes]
        )
        points = np.array([trial.point for trial in self.trials])
        doubts: F64 = DOUBT * np.nansum(np.square(points - usual), axis=1)
        return doubts

    def _found(self) -> F64:
        return np.array([trial.outcome.score for trial in self.trials])

    def _candidates(self) -> list[dict[str, Any]]:
        """Return settings from everywhere, from around the best so far, and with some values of one of these.

        With neighbours alone a search stays where the best are: hardly anything else has as many factors as they.
        """
        best = np.array([trial.point for trial in self._by_score()[:BEST]])
        anywhere, elsewhere = self._rng.random((2, CANDIDATES, len(self.axes)))
        near = [
            one + step * self._rng.standard_normal((NEIGHBOURS, len(self.axes)))
            for one in best
            for step in NEAR
        ]
        sharing = best[self._rng.integers(0, len(best), CANDIDATES)]
        mixed = np.where(self._rng.random(sharing.shape) < SHARED, sharing, elsewhere)
        points = np.clip(np.concatenate([anywhere, mixed, *near]), 0.0, 1.0)
        return [
            {axis.name: axis.value(unit) for axis, unit in zip(self.axes, point, strict=True)}
            for point in points.tolist()
        ]

    def _by_score(self) -> list[Trial]:
        """Return the trials, the best first, those that diverged last."""
        order = np.lexsort((-self._scores(), self._found() == 0.0))
        return [self.trials[at] for at in order]

    def _points(self, settings: Sequence[dict[str, Any]]) -> F64:
        """Return where settings lie in the unit cube, (n, axes); whole numbers are rounded already."""
        return np.array([[axis.unit(one[axis.name]) for axis in self.axes] for one in settings])

    def _seconds(self, settings: Sequence[dict[str, Any]]) -> F64:
        """Return what trials will take, by those that were made."""
        work = np.array([self._work(one) for one in settings])
        seconds: F64 = np.median(self._rates()) * work + 1e-6
        return seconds

    def _rates(self) -> F64:
        """Return the seconds that each trial took for a unit of work."""
        return np.array([trial.seconds / self._work(trial.settings) for trial in self.trials])

    def best(self) -> Trial:
        """Return the trial in the middle of the best region, among those that only luck tells from the best score.

        Each is believed to score what its neighbourhood does: a lucky score among many is pulled down, and so
        is one at an edge, which another sample of the data would move.
        """
        sound = self._found() > 0.0
        if len(self.trials) < 2 * len(self.axes) or not sound.any():
            return self._by_score()[0]
        believed = self._believed()
        steps = AROUND * self._rng.standard_normal((64, len(self.axes)))
        alike = np.flatnonzero(sound & (self._scores() >= -believed.noise))
        means = [
            believed.predict(np.clip(self.trials[at].point + steps, 0.0, 1.0))[0].mean()
            for at in alike
        ]
        return self.trials[int(alike[int(np.argmax(means))])]
