"""The search for settings of fBGD: its axes and initial settings.

``validation.py`` scores trials.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.validation import (
    Comparison,
    ValidationSplit,
    scored_as_given,
    splits_of,
    users_per_epoch,
)
from core.batch.row_objective import FAMILIAR
from core.batch.weighting import mean_count, mean_weight, unit_reg
from core.errors import DataError
from core.interactions import Interactions
from core.search.search import Axis, Budget, Outcome, Search

MOST_TRIALS = 150
SPREAD = 0.2
"""Standard deviation of the first settings around the rough ones, as a share of an axis."""
FEWEST_FACTORS, MOST_FACTORS = 16, 512
"""Bounds of the number of factors."""
ROUGH_ALPHA0, ROUGH_REG = 12.0, 0.07
"""Rough settings that suit most data, in units that follow from size, density and weights."""
SHRINKAGES, MIDDLE_SHRINKAGE = (0.25, 8.0), 2.0
"""Bounds of the shrinkage, and its initial value.

It is searched together with the other settings, because their best values depend on it if histories
are short.
"""
LEAST_SHARE_OF_SHRINKAGE = 0.2
"""Smallest mean share of the shrinkage that histories must get for it to be searched.

Below it one more axis costs more trials than it is worth.
"""


def search(
    pairs: Interactions,
    base: FbgdConfig,
    budget: Budget,
    *,
    fixed: frozenset[str] = frozenset(),
) -> FbgdConfig:
    """Return the best settings found within the budget; those in ``fixed`` stay as in ``base``.

    A budget of 0 returns rough settings for data of this size and density, without validation.
    """
    start = replace(base, **{k: v for k, v in rough(pairs).items() if k not in fixed})
    axes = axes_for(pairs, fixed)
    middle = (
        replace(start, shrinkage=MIDDLE_SHRINKAGE)
        if "shrinkage" in {axis.name for axis in axes}
        else start
    )
    exact = "epochs" in fixed
    if budget.seconds <= 0.0 or (not axes and exact):
        return start
    rng = np.random.default_rng([base.seed, 1])
    splits = _splits(pairs, rng)
    comparison = Comparison(splits, budget.begin_overrun())

    def objective(settings: dict[str, Any]) -> Outcome:
        config = _with(start, settings)
        return scored_as_given(splits, config) if exact else comparison.score(config)

    if not axes:
        return _found(start, {}, objective({}))
    looking = Search(
        axes,
        objective,
        lambda settings: _work(pairs, int(settings.get("factors", start.factors))),
        rng,
        lambda settings: _larger(settings, _most_useful_factors(pairs)),
        _smaller,
    )
    best = looking.run(_first(axes, middle, rng), budget, most=MOST_TRIALS)
    return _found(start, best.settings, best.outcome)


def _found(start: FbgdConfig, settings: dict[str, Any], outcome: Outcome) -> FbgdConfig:
    """Return the settings found, or the rough ones if no held-out user's list had a hit."""
    return _with(start, settings | outcome.found) if outcome.score else start


def rough(pairs: Interactions) -> dict[str, Any]:
    """Return the rough settings, from which a search begins."""
    return {
        "factors": min(64, _most_useful_factors(pairs)),
        "alpha0": ROUGH_ALPHA0 * _unit_alpha0(pairs),
        "reg": ROUGH_REG * unit_reg(pairs),
        "nu_user": 0.5,
        "nu_item": 0.5,
        "rho": 0.0,
        "epochs": 6,
    }


def axes_for(pairs: Interactions, fixed: frozenset[str] = frozenset()) -> list[Axis]:
    """Return the axes, in units that follow from size, density and weights of the data.

    Both sides share one ``nu``: with two, validation improves but the test gets worse (Gowalla).
    ``rho`` is not searched and is 0 unless given: in the best trials on eleven data sets it was
    near 0.
    """
    alpha0, reg, most = _unit_alpha0(pairs), unit_reg(pairs), _most_useful_factors(pairs)
    axes = [
        Axis("alpha0", alpha0, 150.0 * alpha0, log=True, usual=ROUGH_ALPHA0 * alpha0),
        Axis("reg", 0.007 * reg, 0.7 * reg, log=True, usual=ROUGH_REG * reg),
    ]
    if most > FEWEST_FACTORS:
        axes.append(Axis("factors", FEWEST_FACTORS, most, log=True, multiple=8))
    sides = {"nu_user", "nu_item"}
    nus = ["nu"] if not sides & fixed else sorted(sides)
    axes += [Axis(name, 0.0, 1.0) for name in nus]
    if _mean_share_of_shrinkage(pairs) > LEAST_SHARE_OF_SHRINKAGE:
        axes.append(Axis("shrinkage", *SHRINKAGES, log=True))
    return [axis for axis in axes if axis.name not in fixed]


def _mean_share_of_shrinkage(pairs: Interactions) -> float:
    """Return the mean share of the shrinkage over histories: (1 - n / FAMILIAR)^2 for n pairs."""
    counts = pairs.user_counts[pairs.user_counts > 1]
    return float(np.square(np.maximum(1.0 - counts / FAMILIAR, 0.0)).mean()) if counts.size else 0.0


def _with(start: FbgdConfig, settings: dict[str, Any]) -> FbgdConfig:
    rest = {name: value for name, value in settings.items() if name != "nu"}
    if "nu" in settings:
        rest |= {"nu_user": settings["nu"], "nu_item": settings["nu"]}
    return replace(start, **rest)


def _most_useful_factors(pairs: Interactions) -> int:
    return min(MOST_FACTORS, max(FEWEST_FACTORS, min(pairs.n_users, pairs.n_items) // 16 * 8))


def _unit_alpha0(pairs: Interactions) -> float:
    """Return the mean total weight of a user's pairs."""
    return mean_weight(pairs) * mean_count(pairs.user_counts)


def _splits(pairs: Interactions, rng: np.random.Generator) -> list[ValidationSplit]:
    if int((pairs.user_counts > 1).sum()) < 10:
        raise DataError(
            "fewer than 10 users have two pairs, which is too little to choose settings: "
            "give more data, or state settings (--set) and do not search (--budget-s 0)"
        )
    return splits_of(pairs, rng)


def _first(axes: list[Axis], start: FbgdConfig, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return the rough settings and random ones around them, with the same number of factors."""
    values = {**vars(start), "nu": start.nu_user}
    middle = np.array([axis.unit(values[axis.name]) for axis in axes])
    points = middle + SPREAD * rng.standard_normal((len(axes) + 2, len(axes)))
    points[0] = middle
    # points beyond an end are reflected: clipping would pile them up at the end
    points = 1.0 - np.abs(1.0 - np.abs(points))
    settings = [
        {axis.name: axis.value(float(unit)) for axis, unit in zip(axes, point, strict=True)}
        for point in np.clip(points, 0.0, 1.0)
    ]
    return [
        {
            name: start.factors if name == "factors" else value
            for name, value in point_settings.items()
        }
        for point_settings in settings
    ]


def _larger(settings: dict[str, Any], most: int) -> dict[str, Any] | None:
    factors = settings.get("factors")
    if factors is None or factors >= most:
        return None
    return {**settings, "factors": min(2 * int(factors), most)}


def _smaller(settings: dict[str, Any]) -> dict[str, Any] | None:
    factors = int(settings.get("factors", 0)) // 16 * 8
    return {**settings, "factors": factors} if factors >= FEWEST_FACTORS else None


def _work(pairs: Interactions, factors: int) -> float:
    """Return the approximate number of operations of an epoch and its validation."""
    rows = pairs.n_users + pairs.n_items
    scored = min(users_per_epoch(pairs), pairs.n_users) * pairs.n_items
    return (
        float(factors) * (30.0 * len(pairs) + 4.0 * scored)
        + 8.0 * rows * factors**2
        + 30.0 * factors**3
    )
