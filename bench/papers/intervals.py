"""Means and their 95 % intervals, by what was repeated."""

from dataclasses import dataclass

from scipy.stats import t as student

from core.types import F64


@dataclass(frozen=True)
class Estimate:
    """A mean, its 95 % interval and the number of repeats; one repeat has no width."""

    mean: float
    low: float
    high: float
    repeats: int

    @classmethod
    def single(cls, value: float) -> "Estimate":
        return cls(value, value, value, 1)


def of_splits(values: F64, test_share: float) -> Estimate:
    """Return the mean over random splits of one data set.

    The training parts of random splits overlap, so that the plain interval of a mean would be too
    narrow. Its variance s^2 / n becomes s^2 (1 / n + test : train) [Nadeau and Bengio 2003].

    >>> import numpy as np
    >>> of_splits(np.array([1.0, 3.0]), 0.5).mean
    2.0
    """
    spread = 1.0 / len(values) + test_share / (1.0 - test_share)
    return _student(values, float(values.std(ddof=1) * spread**0.5) if len(values) > 1 else 0.0)


def of_draws(values: F64) -> Estimate:
    """Return the mean over independent draws."""
    n = len(values)
    return _student(values, float(values.std(ddof=1) / n**0.5) if n > 1 else 0.0)


def _student(values: F64, error: float) -> Estimate:
    n, mean = len(values), float(values.mean())
    half = float(student.ppf(0.975, n - 1)) * error if n > 1 else 0.0
    return Estimate(mean, mean - half, mean + half, n)
