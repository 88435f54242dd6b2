"""Finding the settings of a model on a validation part of its training data, within a budget of seconds.

A Gaussian process learns the validation score over all settings together. The next trial is the one whose expected
gain per second is best, so the cheap small models are tried first and the large ones once they promise more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.batch.surrogate import Surrogate, expected_gain
from core.errors import ConfigError
from core.types import F64

FLOOR = 0.7
"""Scores below this share of the best are as good as it: only the neighbourhood of the best matters."""
CANDIDATES, NEIGHBOURS, NEAR = 1000, 100, (0.04, 0.15)
PRICE = 0.5
"""Exponent of a trial's seconds in the choice of the next."""
LARGEST_TRIAL = 0.12
"""Share of the budget that one trial may cost."""


@dataclass(frozen=True)
class Axis:
    """One setting: searched from ``low`` to ``high``, evenly in its logarithm if ``log``."""

    name: str
    low: float
    high: float
    log: bool = False
    multiple: int = 0
    """Whole numbers that are multiples of this; 0: any number."""

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
        """Return where 0..1 the setting lies."""
        if not self.log:
            return float(np.clip((value - self.low) / (self.high - self.low), 0.0, 1.0))
        share = np.log(value / self.low) / np.log(self.high / self.low)
        return float(np.clip(share, 0.0, 1.0))


@dataclass(frozen=True)
class Budget:
    """``now`` tells the seconds since any moment; the search may take ``seconds``."""

    now: Callable[[], float]
    seconds: float


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


Objective = Callable[[dict[str, Any], float], Outcome]
"""Settings and the best score so far (to give up early) -> outcome."""


class Search:
    """The loop: first the given settings, then whatever promises most."""

    def __init__(
        self,
        axes: Sequence[Axis],
        objective: Objective,
        work: Callable[[dict[str, Any]], float],
        rng: np.random.Generator,
    ) -> None:
        """``work`` tells what a trial costs in any unit: measured trials turn it into seconds."""
        if not axes:
            raise ConfigError("nothing is left to search: leave at least one setting open")
        self.axes = tuple(axes)
        self.trials: list[Trial] = []
        self._objective, self._work, self._rng = objective, work, rng
        self._surrogate = Surrogate(rng)
        self._fitted = 0

    def run(
        self,
        first: Sequence[dict[str, Any]],
        budget: Budget,
        *,
        most: int,
        on_trial: Callable[[float], None] = lambda share: None,
    ) -> Trial:
        """Try ``first`` and then up to ``most`` settings in all; return the best by what was learned."""
        started = budget.now()
        while len(self.trials) < most:
            left = budget.seconds - (budget.now() - started)
            settings = self._next(first, left, budget.seconds)
            if self.trials and (settings is None or left <= 0.0):
                break
            self._try(settings or dict(first[0]), budget.now)
            on_trial(min(max(1.0 - left / budget.seconds, len(self.trials) / most), 1.0))
        return self.best()

    def _try(self, settings: dict[str, Any], now: Callable[[], float]) -> None:
        best = max((trial.outcome.score for trial in self.trials), default=0.0)
        begun = now()
        outcome = self._objective(settings, best)
        point = np.array([axis.unit(settings[axis.name]) for axis in self.axes])
        self.trials.append(Trial(point, settings, outcome, now() - begun))

    def _next(
        self, first: Sequence[dict[str, Any]], left: float, seconds: float
    ) -> dict[str, Any] | None:
        if len(self.trials) < len(first):
            return dict(first[len(self.trials)])
        points = self._candidates()
        costs = self._seconds(points)
        affordable = costs < min(left, LARGEST_TRIAL * seconds)
        if not affordable.any():
            return None
        points, costs = points[affordable], costs[affordable]
        mean, spread = self._believed().predict(points)
        gain = expected_gain(mean, spread, float(self._scores().max()))
        return self._settings(points[int(np.argmax(gain / costs**PRICE))])

    def _believed(self) -> Surrogate:
        """Learn from all trials; new lengths only when their number has grown."""
        points = np.array([trial.point for trial in self.trials])
        return self._surrogate.fit(points, self._scores())

    def _scores(self) -> F64:
        """Return the logarithm of each score over the best, not below that of FLOOR."""
        scores = np.array([trial.outcome.score for trial in self.trials])
        top = max(float(scores.max()), 1e-300)
        logarithm: F64 = np.log(np.maximum(scores / top, FLOOR))
        return logarithm

    def _candidates(self) -> F64:
        anywhere = self._rng.random((CANDIDATES, len(self.axes)))
        order = np.argsort([-trial.outcome.score for trial in self.trials])[:5]
        near = [
            self.trials[at].point + step * self._rng.standard_normal((NEIGHBOURS, len(self.axes)))
            for at in order
            for step in NEAR
        ]
        points = np.clip(np.concatenate([anywhere, *near]), 0.0, 1.0)
        # what is tried is what the rounding leaves of a point
        snapped = [self._settings(point) for point in points]
        return np.array([[axis.unit(one[axis.name]) for axis in self.axes] for one in snapped])

    def _settings(self, point: F64) -> dict[str, Any]:
        return {
            axis.name: axis.value(float(unit)) for axis, unit in zip(self.axes, point, strict=True)
        }

    def _seconds(self, points: F64) -> F64:
        rate = np.median([trial.seconds / self._work(trial.settings) for trial in self.trials])
        work = np.array([self._work(self._settings(point)) for point in points])
        seconds: F64 = rate * work + 1e-6
        return seconds

    def best(self) -> Trial:
        """Return the trial of the highest belief: a lucky score among many is pulled to its neighbours'."""
        if len(self.trials) < 3:
            return max(self.trials, key=lambda trial: trial.outcome.score)
        mean, _ = self._believed().predict(np.array([trial.point for trial in self.trials]))
        return self.trials[int(np.argmax(mean))]
