"""The settings of fBGD for a data set: what is searched, and how a trial is judged."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from core import ranking_metrics
from core.batch.fbgd import Fbgd, FbgdConfig
from core.batch.ranker import rank
from core.batch.search import Axis, Budget, Outcome, Search
from core.batch.weighting import mean_count
from core.errors import DataError
from core.interactions import Interactions, split_within_users
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
JUDGES, JUDGED_SCORES, MOST_SPLITS = 6000, 1e8, 4
"""Users that judge a trial, fewer where they score many items; with fewer users, several splits judge."""
MOST_EPOCHS, PATIENCE = 40, 3
SLACK = 0.0005
"""The fewest epochs within this share of the best are taken."""
HOPELESS = 0.75
"""After three epochs a trial below this share of the best is given up."""
BEHIND = 0.02
"""A trial that is behind the best by this share on the first split sees no other; on n splits by this / sqrt(n)."""
MOST_TRIALS = 150
SPREAD = 0.15
"""Deviation of the first settings from the rough ones, of the whole axis."""
FEWEST, LARGEST = 16, 512


class _Split:
    """One validation split with the users that judge."""

    def __init__(
        self, pairs: Interactions, rng: np.random.Generator, held_out: float = HELD_OUT
    ) -> None:
        tilt = np.where(rng.random(pairs.n_users) < 0.5, TILT, 0.0)
        self.fit, held = split_within_users(pairs, held_out, rng, tilt)
        users = np.flatnonzero(held.user_counts)
        judges: I64 = np.sort(rng.permutation(users)[: _judges(pairs)])
        self.seen, self.held = self.fit.rows(judges), held.rows(judges)
        self._share = len(self.fit) / len(pairs)

    def adapted(self, config: FbgdConfig) -> FbgdConfig:
        """Return the settings for this part that mean what ``config`` means for all pairs.

        Where fewer pairs are observed, unlabelled ones must weigh less by the same share for the expected loss to
        have the same minimiser: what is held out looks like what was not taken.
        """
        return replace(config, alpha0=config.alpha0 * self._share)

    def score(self, model: Fbgd) -> float:
        """Return the mean ndcg of the judges, folded in from what was fitted."""
        ids, _ = rank(model.user_vectors(self.seen), model.item_factors, self.seen, DEPTH)
        found = ranking_metrics.hits(ids, self.held)
        return float(ranking_metrics.ndcg(found, DEPTH).mean())


def search(
    pairs: Interactions,
    base: FbgdConfig,
    budget: Budget,
    *,
    fixed: frozenset[str] = frozenset(),
    on_trial: Callable[[float], None] = lambda share: None,
) -> FbgdConfig:
    """Return the settings found within the budget; those named in ``fixed`` stay as ``base`` has them.

    A budget of 0 returns rough settings for data of this size and density, untested.
    """
    start = replace(base, **{k: v for k, v in rough(pairs).items() if k not in fixed})
    axes = axes_for(pairs, fixed)
    exact = "epochs" in fixed
    if budget.seconds <= 0.0 or (not axes and exact):
        return start
    rng = np.random.default_rng([base.seed, 1])
    splits = _splits(pairs, rng)
    race = _Race(splits)

    def objective(settings: dict[str, Any], best: float) -> Outcome:
        config = _with(start, settings)
        return _judge_as_given(splits, config) if exact else race.judge(config)

    if not axes:
        return _with(start, objective({}, 0.0).found)
    looking = Search(
        axes,
        objective,
        lambda settings: _work(pairs, int(settings.get("factors", start.factors))),
        rng,
        lambda settings: _larger(settings, _most_factors(pairs)),
    )
    best = looking.run(_first(axes, start, rng), budget, most=MOST_TRIALS, on_trial=on_trial)
    return _with(start, best.settings | best.outcome.found)


def rough(pairs: Interactions) -> dict[str, Any]:
    """Return where a search begins."""
    return {
        "factors": min(64, _most_factors(pairs)),
        "alpha0": 12.0 * mean_count(pairs.user_counts),
        "reg": 0.07 * _unit_reg(pairs),
        "nu_user": 0.5,
        "nu_item": 0.5,
        "rho": 0.0,
        "epochs": 6,
    }


def axes_for(pairs: Interactions, fixed: frozenset[str] = frozenset()) -> list[Axis]:
    """Return what is searched, in units that the size and density of the data suggest.

    Both sides share one ``nu``: apart they fit the validation part better and the test part worse (Gowalla).
    ``rho`` stays as it is, 0 unless stated: on eleven data sets the best trials had it near 0.
    """
    per_user, reg, most = mean_count(pairs.user_counts), _unit_reg(pairs), _most_factors(pairs)
    axes = [
        Axis("alpha0", 1.0 * per_user, 150.0 * per_user, log=True),
        Axis("reg", 0.007 * reg, 0.7 * reg, log=True),
    ]
    if most > FEWEST:
        axes.append(Axis("factors", FEWEST, most, log=True, multiple=8))
    sides = {"nu_user", "nu_item"}
    nus = ["nu"] if not sides & fixed else sorted(sides)
    axes += [Axis(name, 0.0, 1.0) for name in nus]
    return [axis for axis in axes if axis.name not in fixed]


def _with(start: FbgdConfig, settings: dict[str, Any]) -> FbgdConfig:
    rest = {name: value for name, value in settings.items() if name != "nu"}
    if "nu" in settings:
        rest |= {"nu_user": settings["nu"], "nu_item": settings["nu"]}
    return replace(start, **rest)


def _most_factors(pairs: Interactions) -> int:
    return min(LARGEST, max(FEWEST, min(pairs.n_users, pairs.n_items) // 16 * 8))


def _unit_reg(pairs: Interactions) -> float:
    """Return the size of the singular values of a random matrix with these counts."""
    return float(np.sqrt(mean_count(pairs.user_counts) * mean_count(pairs.item_counts)))


def _judges(pairs: Interactions) -> int:
    return int(np.clip(JUDGED_SCORES / max(pairs.n_items, 1), 500, JUDGES))


def _splits(pairs: Interactions, rng: np.random.Generator) -> list[_Split]:
    if int((pairs.user_counts > 1).sum()) < 10:
        raise DataError(
            "fewer than 10 users have two pairs: too little to choose settings on; "
            "give more data, or settings of your own (--set) and no search (--budget-s 0)"
        )
    n = int(np.clip(np.ceil(_judges(pairs) / max(pairs.n_users, 1)), 1, MOST_SPLITS))
    return [_Split(pairs, rng, HELD_OUT if n == 1 else HELD_OUT / 2) for _ in range(n)]


def _first(axes: list[Axis], start: FbgdConfig, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return the rough settings and some of the same size around them."""
    known = {**vars(start), "nu": start.nu_user}
    middle = np.array([axis.unit(known[axis.name]) for axis in axes])
    points = middle + SPREAD * rng.standard_normal((len(axes) + 2, len(axes)))
    points[0] = middle
    # a point beyond an end is reflected, so that an end is no more likely than the rest
    points = 1.0 - np.abs(1.0 - np.abs(points))
    settings = [
        {axis.name: axis.value(float(unit)) for axis, unit in zip(axes, point, strict=True)}
        for point in np.clip(points, 0.0, 1.0)
    ]
    return [
        {name: start.factors if name == "factors" else value for name, value in one.items()}
        for one in settings
    ]


def _larger(settings: dict[str, Any], most: int) -> dict[str, Any] | None:
    factors = settings.get("factors")
    if factors is None or factors >= most:
        return None
    return {**settings, "factors": min(2 * int(factors), most)}


class _Race:
    """Scores settings at their best number of epochs, beside the best settings so far on the same splits."""

    def __init__(self, splits: list[_Split]) -> None:
        self._splits = splits
        self._best = [0.0] * len(splits)
        """Of the best settings, the score on the first split, the first two, ..."""

    def judge(self, config: FbgdConfig) -> Outcome:
        """Go through the splits until the settings fall behind; the first decides how many epochs are looked at."""
        config = replace(config, epochs=MOST_EPOCHS)
        curves = [_curve(self._splits[0], config, self._give_up)]
        config = replace(config, epochs=len(curves[0]))
        scores = [max(curves[0])]
        for split in self._splits[1:]:
            n = len(scores)
            if scores[-1] < (1.0 - BEHIND / np.sqrt(n)) * self._best[n - 1]:
                break
            curves.append(_curve(split, config, lambda curve: False))
            scores.append(float(np.mean(curves, axis=0).max()))
        mean: F64 = np.mean(curves, axis=0)
        epochs = 1 + int(np.argmax(mean >= (1.0 - SLACK) * mean.max()))
        return Outcome(self._on_all(scores), {"epochs": epochs})

    def _give_up(self, curve: list[float]) -> bool:
        return _stale(curve) or _hopeless(curve, self._best[0])

    def _on_all(self, scores: list[float]) -> float:
        """Return the score on all splits: those not seen are as much easier as they were for the best settings."""
        if len(scores) < len(self._splits):
            return scores[-1] / self._best[len(scores) - 1] * self._best[-1]
        if scores[-1] > self._best[-1]:
            self._best = scores
        return scores[-1]


def _judge_as_given(splits: list[_Split], config: FbgdConfig) -> Outcome:
    """Score the settings after exactly their epochs."""
    scores = [split.score(Fbgd(split.adapted(config)).fit(split.fit)) for split in splits]
    return Outcome(float(np.mean(scores)), {})


def _curve(
    split: _Split, config: FbgdConfig, give_up: Callable[[list[float]], bool]
) -> list[float]:
    """Return the score after each epoch, until ``give_up``; the first epoch of several only counts as 0."""
    curve: list[float] = []

    def on_epoch(model: Fbgd, epoch: int) -> bool:
        curve.append(split.score(model) if epoch > 1 or config.epochs == 1 else 0.0)
        return give_up(curve)

    Fbgd(split.adapted(config)).fit(split.fit, on_epoch=on_epoch)
    return curve


def _hopeless(curve: list[float], best: float) -> bool:
    return len(curve) >= 3 and max(curve) < HOPELESS * best


def _stale(curve: list[float]) -> bool:
    """Tell whether the last epochs were no better than those before by more than SLACK."""
    if len(curve) <= PATIENCE:
        return False
    return max(curve[-PATIENCE:]) < (1.0 + SLACK) * max(curve[:-PATIENCE])


def _work(pairs: Interactions, factors: int) -> float:
    """Return the operations of an epoch and its judgement."""
    rows = pairs.n_users + pairs.n_items
    judged = min(_judges(pairs), pairs.n_users) * pairs.n_items
    return (
        float(factors) * (30.0 * len(pairs) + 4.0 * judged)
        + 8.0 * rows * factors**2
        + 30.0 * factors**3
    )
