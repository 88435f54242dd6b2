"""Search for a model's settings on a validation split of its training data, within a time budget.

A Gaussian process learns the validation score as a function of all settings. The next trial is the
one with the best expected gain per second, so cheap small models are tried first, and large models
once they promise more.
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
"""Relative distance to the best score beyond which differences in score are compressed."""
DOUBT = 0.06
"""Penalty, as a share of the score, for a setting a whole axis away from its usual value.

It grows with the square of the distance. The validation split is only a sample, and of the past:
among settings with equal scores, usual values hold up more often than those at an end of an axis.
"""
CANDIDATES, NEIGHBOURS, NEAR = 400, 40, (0.04, 0.15)
"""Random candidates, candidates near each of the best trials, and the step sizes to the latter."""
BEST, SHARED = 5, 0.5
"""Number of best trials that seed candidates, and share of values a candidate takes from one."""
AROUND = 0.06
"""Radius of the neighbourhood over which the final choice averages."""
LEAST = 1e-300
"""Lower bound of a score, so that its logarithm is finite."""
PRICE = 0.5
"""Exponent of a trial's expected seconds in the choice of the next trial."""
LARGEST_TRIAL = 0.12
"""Maximum cost of one trial, as a share of the budget."""
GRACE = 0.1
"""Time, as a share of the budget, by which a trial may overrun it before it is stopped."""
SLOW = 0.8
"""Quantile of the seconds per unit of work with which a trial must still end in time."""
LEAP = 4
"""Trials between two attempts at the best settings in the next size."""
DEAR, LIKE = 0.02, 0.08
"""A trial that costs more than DEAR (a share of the budget) needs a smaller trial nearby first.

Nearby means within LIKE on every axis along which the smaller settings do not differ.
"""


@dataclass(frozen=True)
class Axis:
    """One setting, searched from ``low`` to ``high``, on a logarithmic scale if ``log``."""

    name: str
    low: float
    high: float
    log: bool = False
    multiple: int = 0
    """Positive: values are whole multiples of this number; 0: any number."""
    usual: float | None = None
    """A value that works for most data."""

    def value(self, unit: float) -> float:
        """Return the value at position ``unit`` (0..1) of the axis."""
        if not self.log:
            value = self.low + unit * (self.high - self.low)
        else:
            value = self.low * (self.high / self.low) ** unit
        if self.multiple:
            return max(round(value / self.multiple), 1) * self.multiple
        return float(f"{value:.4g}")

    def unit(self, value: float) -> float:
        """Return the position (0..1) of a value on the axis; 0 if the axis has only one value."""
        if self.high == self.low:
            return 0.0
        if not self.log:
            share = (value - self.low) / (self.high - self.low)
        else:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        return min(max(share, 0.0), 1.0)


OnShare = Callable[[float], None]
"""Is told the share of a search that is done, 0 to 1."""


@dataclass(frozen=True)
class Budget:
    """A time limit of ``seconds``, by the clock ``now`` (seconds since any moment)."""

    now: Callable[[], float]
    seconds: float
    on_share: OnShare = lambda share: None
    """Called after each trial."""

    def part(self, share: float, begins: float = 0.0) -> "Budget":
        """Return the budget of a part of the search; ``begins`` is the share that is done then."""
        return Budget(
            self.now, share * self.seconds, lambda done: self.on_share(begins + share * done)
        )

    def begin(self) -> Callable[[], float]:
        """Start the clock; return a function that returns the seconds left."""
        ends = self.now() + self.seconds
        return lambda: ends - self.now()

    def begin_overrun(self) -> Callable[[], bool]:
        """Start the clock; return a function that says if more than GRACE is overrun."""
        left = self.begin()
        return lambda: left() < -GRACE * self.seconds


@dataclass(frozen=True)
class Outcome:
    """The result of a trial: a score above 0, higher is better, and extra values such as epochs."""

    score: float
    found: dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """A point (axes,) of the unit cube with its settings, its outcome and its cost in seconds."""

    point: F64
    settings: dict[str, Any]
    outcome: Outcome
    seconds: float


Objective = Callable[[dict[str, Any]], Outcome]
"""Function that trains and validates settings; if it raises Diverged, the score is 0."""
Sized = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Function that returns the settings in another size, None if there is none."""


class Search:
    """The search loop: tries the given settings first, then those that promise most."""

    def __init__(
        self,
        axes: Sequence[Axis],
        objective: Objective,
        work: Callable[[dict[str, Any]], float],
        rng: np.random.Generator,
        larger: Sized = lambda settings: None,
        smaller: Sized = lambda settings: None,
    ) -> None:
        """Prepare a search over ``axes``.

        ``work`` estimates the cost of a trial in any unit; measured trials turn it into seconds.
        ``larger`` returns the settings in the next size, which usually score more; ``smaller``
        returns settings that cost much less and are nearly as informative.
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
    ) -> Trial:
        """Try ``first``, then more, up to ``most`` trials in all; return the best trial (``best``).

        Raise Diverged if every trial diverged.
        """
        started = budget.now()
        while len(self.trials) < most:
            left = budget.seconds - (budget.now() - started)
            settings = self._next(first, left, budget.seconds)
            if self.trials and (settings is None or left <= 0.0):
                break
            self._try(settings or dict(first[0]), budget.now)
            budget.on_share(min(max(1.0 - left / budget.seconds, len(self.trials) / most), 1.0))
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
        tried = [trial.settings for trial in self.trials]
        settings = [candidate for candidate in self._candidates() if candidate not in tried]
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
        """Return smaller settings to try first, None if trials of that size were nearby."""
        smaller = self._smaller(settings)
        if smaller is None:
            return None
        point, least = self._points([settings, smaller])
        tried = np.array([trial.point for trial in self.trials])
        alike = np.abs(tried - point) <= np.where(point == least, LIKE, point - least + 1e-9)
        return None if alike.all(axis=1).any() else smaller

    def _leap(self, left: float, seconds: float) -> dict[str, Any] | None:
        """Return the best settings so far in the next size, if that is due, affordable and new."""
        if len(self.trials) % LEAP:
            return None
        settings = self._larger(self._by_score()[0].settings)
        if settings is None or any(trial.settings == settings for trial in self.trials):
            return None
        return settings if self._fits(self._seconds([settings]), left, seconds)[0] else None

    def _fits(self, costs: F64, left: float, seconds: float) -> "np.typing.NDArray[np.bool_]":
        """Mark trials that are small enough and end in time even at the SLOW quantile of speed."""
        rates = self._rates()
        slow = costs * (np.quantile(rates, SLOW) / np.median(rates))
        fits: np.typing.NDArray[np.bool_] = (slow < left) & (costs < LARGEST_TRIAL * seconds)
        return fits

    def _believed(self) -> Surrogate:
        """Return the surrogate, fitted on all trials."""
        points = np.array([trial.point for trial in self.trials])
        return self._surrogate.fit(points, self._scores())

    def _scores(self) -> F64:
        """Return how far each score lies below the best: -n log(1 + b / n), n = NEAR_BEST.

        b is log(best / score) after the penalties of ``_doubts``; the best has 0. A diverged trial
        counts as the worst of the others, because a lower value would blur the differences among
        them.
        """
        scores = self._raw_scores()
        sound = scores > 0.0
        counted = np.log(np.maximum(scores, LEAST)) - self._doubts()
        if sound.any():
            counted[~sound] = counted[sound].min()
        behind = counted.max() - counted
        below: F64 = -NEAR_BEST * np.log1p(behind / NEAR_BEST)
        return below

    def _doubts(self) -> F64:
        """Return the penalty on each score's logarithm for distance from the usual values."""
        usual = np.array(
            [np.nan if axis.usual is None else axis.unit(axis.usual) for axis in self.axes]
        )
        points = np.array([trial.point for trial in self.trials])
        doubts: F64 = DOUBT * np.nansum(np.square(points - usual), axis=1)
        return doubts

    def _raw_scores(self) -> F64:
        return np.array([trial.outcome.score for trial in self.trials])

    def _candidates(self) -> list[dict[str, Any]]:
        """Return random settings, settings near the best so far, and mixtures of the two.

        Neighbours alone would keep the search where the best trials are: random settings rarely
        have as many factors as those.
        """
        best = np.array([trial.point for trial in self._by_score()[:BEST]])
        anywhere, elsewhere = self._rng.random((2, CANDIDATES, len(self.axes)))
        near = [
            point + step * self._rng.standard_normal((NEIGHBOURS, len(self.axes)))
            for point in best
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
        """Return the trials, best first and diverged ones last."""
        order = np.lexsort((-self._scores(), self._raw_scores() == 0.0))
        return [self.trials[at] for at in order]

    def _points(self, settings: Sequence[dict[str, Any]]) -> F64:
        """Return the points of settings in the unit cube, (n, axes)."""
        return np.array(
            [[axis.unit(values[axis.name]) for axis in self.axes] for values in settings]
        )

    def _seconds(self, settings: Sequence[dict[str, Any]]) -> F64:
        """Return the expected seconds of trials, (n,), by the speed of those so far."""
        work = np.array([self._work(values) for values in settings])
        seconds: F64 = np.median(self._rates()) * work + 1e-6
        return seconds

    def _rates(self) -> F64:
        """Return the seconds per unit of work of each trial."""
        return np.array([trial.seconds / self._work(trial.settings) for trial in self.trials])

    def best(self) -> Trial:
        """Return the most robust trial among those within noise of the best score.

        A trial is valued by the predicted mean score of its neighbourhood. This lowers a score that
        was lucky, and one at the edge of the good region, which other data would move.
        """
        sound = self._raw_scores() > 0.0
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
