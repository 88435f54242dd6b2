"""The search for settings of a one-class model: its axes, and the validation of a trial.

Users are scored by their trained rows: a round ends by solving them, which equals a fold-in.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from core import ranking_metrics
from core.batch.feature_map import FeatureMap
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.model import Ocmf, users_of
from core.batch.ranker import rank
from core.batch.weighting import unit_reg
from core.errors import DataError
from core.interactions import Interactions
from core.search.search import LARGEST_TRIAL, Axis, Budget, Outcome, Search
from core.splits import split_within_users
from core.types import F32, F64, I64

HELD_OUT = 0.1
"""Share of the pairs that a split holds out."""
DEPTH = 20
"""Depth of the ndcg that scores a trial."""
MOST_HELD_OUT, MOST_SCORES, MOST_SPLITS = 6_000, 1.5e8, 3
"""Most users that validate a trial, most scores (users times items), and most splits.

There are several splits only if there are few users.
"""
FEWEST_USERS = 10
"""Fewest users with two pairs for a search."""
MOST_ROUNDS, PATIENCE = 12, 2
"""Most rounds of a trial, and rounds without a gain that end it."""
SLACK = 0.0005
"""Share of the best score that may be given up for fewer rounds."""
HOPELESS = 0.9
"""Share of the best settings' score on the first split below which no other split is used."""
MOST_TRIALS = 100
ROUGH_GRAPH = 0.01
"""Rough strength of the graph: enough to have an effect, and in no measurement harmful."""
MOST_FACTORS = 256
"""Most factors."""


class HeldOutSplit:
    """One validation split with its held-out users."""

    def __init__(self, pairs: Interactions, rng: np.random.Generator) -> None:
        self.fit, held = split_within_users(pairs, HELD_OUT, rng)
        held = held.liked
        users = np.flatnonzero(held.user_counts)
        self.users: I64 = np.sort(rng.permutation(users)[: _most_held_out(pairs)])
        """Numbers of the held-out users."""
        self._seen, self._held = self.fit.rows(self.users), held.rows(self.users)

    def score(self, vectors: F32, items: F32) -> float:
        """Return the mean ndcg of the held-out users, given their vectors (users, g).

        There must be at least one of these users.
        """
        ids, _ = rank(vectors, items, self._seen, DEPTH)
        return float(ranking_metrics.ndcg(ranking_metrics.hits(ids, self._held), DEPTH).mean())


class _Trials:
    """The trials on one split, which share features and links."""

    def __init__(self, split: HeldOutSplit, similar: sp.csr_array | None, features: Any) -> None:
        self.split, self.similar, self.features = split, similar, features
        self._feature_map = FeatureMap()

    def curve(
        self, config: OcmfConfig, give_up: Callable[[list[float]], bool] = lambda curve: False
    ) -> list[float]:
        """Return the score after each round, until ``give_up``."""
        curve: list[float] = []

        def on_round(model: Ocmf, number: int) -> bool:
            curve.append(self._score(model))
            return give_up(curve)

        mapped = None if self.features is None else self._feature_map.transform(self.features)
        Ocmf(config).fit(self.split.fit, graph=self.similar, features=mapped, on_round=on_round)
        return curve

    def _score(self, model: Ocmf) -> float:
        """Return the mean ndcg of the held-out users; 0 if there are none."""
        held_out, split = self.split.users, self.split
        if not held_out.size:
            return 0.0
        if self.features is None:
            return split.score(model.trained_users[held_out], model.item_factors)
        # pairs count beside features, as in serving
        users = users_of(model, self._feature_map)
        by_features = users.feature_vectors(self.features[held_out])
        vectors = users.vectors(split.fit.rows(held_out), feature_vectors=by_features)
        return split.score(vectors, users.row.item_factors)


def search(
    pairs: Interactions,
    base: OcmfConfig,
    budget: Budget,
    *,
    similar: sp.csr_array | None = None,
    features: Any = None,
    fixed: frozenset[str] = frozenset(),
) -> OcmfConfig:
    """Return the best settings found within the budget; those in ``fixed`` stay as in ``base``.

    With ``similar`` (``graph.similarity``) the strength of the graph is searched as well. With
    ``features`` (users, d) users are made of features. A budget of 0 returns rough settings for
    data of this size, without validation.
    """
    usual = rough(pairs, base) | ({} if similar is None else {"graph": ROUGH_GRAPH})
    start = replace(base, **{k: v for k, v in usual.items() if k not in fixed})
    axes = [axis for axis in axes_for(pairs, similar) if axis.name not in fixed]
    exact = "rounds" in fixed
    if budget.seconds <= 0.0 or (not axes and exact):
        return start
    rng = np.random.default_rng([base.seed, 4])
    splits = [_Trials(split, similar, features) for split in splits_of(pairs, rng)]
    validation = _Validation(splits, start, budget, exact=exact)
    if not axes:
        return _found(start, {}, validation({}))
    looking = Search(axes, validation, lambda settings: _work(pairs, start, settings), rng)
    best = looking.run(_first(axes, start, rng), budget, most=MOST_TRIALS)
    return _found(start, best.settings, best.outcome)


def _found(start: OcmfConfig, settings: dict[str, Any], outcome: Outcome) -> OcmfConfig:
    """Return the settings found, or the rough ones if no held-out user's list had a hit."""
    return replace(start, **settings, **outcome.found) if outcome.score else start


def rough(pairs: Interactions, base: OcmfConfig) -> dict[str, Any]:
    """Return the rough settings, from which a search begins."""
    return {
        "factors": min(64, _most_factors(pairs)),
        "weight": 0.03 if base.loss == "logistic" else base.weight,
        "reg": 0.05 * unit_reg(pairs),
        "nu": 0.5,
        "rounds": 6,
        "graph": 0.0,
    }


def axes_for(pairs: Interactions, similar: sp.csr_array | None) -> list[Axis]:
    """Return the axes, in units that follow from size, density and weights of the data."""
    reg = unit_reg(pairs)
    return [
        Axis("weight", 0.001, 1.0, log=True),
        Axis("reg", 0.003 * reg, 0.7 * reg, log=True),
        Axis("nu", 0.0, 1.0),
        Axis("factors", min(16, _most_factors(pairs)), _most_factors(pairs), log=True, multiple=8),
        *([] if similar is None else [Axis("graph", 0.001, 3.0, log=True)]),
    ]


def _most_factors(pairs: Interactions) -> int:
    return min(MOST_FACTORS, max(16, min(pairs.n_users, pairs.n_items) // 16 * 8))


def _most_held_out(pairs: Interactions) -> int:
    return int(np.clip(MOST_SCORES / max(pairs.n_items, 1), 500, MOST_HELD_OUT))


def splits_of(pairs: Interactions, rng: np.random.Generator) -> list[HeldOutSplit]:
    """Return validation splits: the fewer users, the more splits.

    Raises DataError if too few users could be held out.
    """
    if int((pairs.user_counts > 1).sum()) < FEWEST_USERS:
        raise DataError(
            f"fewer than {FEWEST_USERS} users have two pairs, which is too little "
            "to choose settings: "
            "give more data, or state settings (--set) and do not search (--budget-s 0)"
        )
    n = int(np.clip(np.ceil(_most_held_out(pairs) / max(pairs.n_users, 1)), 1, MOST_SPLITS))
    return [HeldOutSplit(pairs, rng) for _ in range(n)]


def _first(axes: list[Axis], start: OcmfConfig, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return the rough settings and random ones with the same number of factors."""
    middle = {
        axis.name: axis.value(axis.unit(getattr(start, axis.name) or axis.low)) for axis in axes
    }
    points = [middle]
    for _ in range(2 * len(axes)):
        point = {axis.name: axis.value(float(rng.uniform(0.1, 0.9))) for axis in axes}
        points.append({**point, **{k: v for k, v in middle.items() if k == "factors"}})
    return points


class _Validation:
    """Scores settings at their best number of rounds, or at the given one if ``exact``."""

    def __init__(
        self, splits: list[_Trials], start: OcmfConfig, budget: Budget, *, exact: bool
    ) -> None:
        self._splits, self._start, self._exact = splits, start, exact
        self._trial_s, self._left = LARGEST_TRIAL * budget.seconds, budget.begin()
        self._is_first = True
        self._best = self._best_first = 0.0
        """Scores of the best settings on all splits, and on the first one."""

    def __call__(self, settings: dict[str, Any]) -> Outcome:
        """Validate on the first split, which bounds the rounds, and on others if there is hope."""
        outcome = self._validated(settings)
        self._best, self._is_first = max(self._best, outcome.score), False
        return outcome

    def _validated(self, settings: dict[str, Any]) -> Outcome:
        config = replace(self._start, **settings)
        begun = self._left()
        most = config if self._exact else replace(config, rounds=MOST_ROUNDS)
        first = self._splits[0].curve(most, self._gives_up)
        if self._is_first:
            # keep as many splits as a trial has time for
            affordable = self._trial_s / max(begun - self._left(), 1e-9)
            del self._splits[max(int(affordable), 1) :]
        same = replace(config, rounds=len(first))
        is_hopeless = self._score(first) < HOPELESS * self._best_first
        others = [] if is_hopeless else self._splits[1:]
        curves = [split.curve(same, self._is_late) for split in others if not self._is_late()]
        # curves that were cut short are shorter: zip keeps the common rounds
        mean: F64 = np.mean([*zip(first, *curves, strict=False)], axis=1)
        if self._is_late():
            # a trial that was cut short is no evidence for its settings or rounds
            return Outcome(float(mean.max()) if self._is_first else 0.0, {})
        found = {} if self._exact else {"rounds": _rounds(mean)}
        if is_hopeless:
            # estimate: assume the ratio to the first split that the best settings have
            return Outcome(self._best * self._score(first) / self._best_first, found)
        if (score := self._score(mean)) > self._best:
            self._best_first = self._score(first)
        return Outcome(score, found)

    def _score(self, curve: Sequence[float] | F64) -> float:
        return float(curve[-1] if self._exact else max(curve))

    def _gives_up(self, curve: list[float]) -> bool:
        return self._is_late(curve) or (not self._exact and _stale(curve))

    def _is_late(self, curve: Sequence[float] = ()) -> bool:
        return self._left() <= 0.0


def _rounds(mean: F64) -> int:
    return 1 + int(np.argmax(mean >= (1.0 - SLACK) * mean.max()))


def _stale(curve: list[float]) -> bool:
    """Tell whether the last rounds improved on those before by less than SLACK."""
    if len(curve) <= PATIENCE:
        return False
    return max(curve[-PATIENCE:]) < (1.0 + SLACK) * max(curve[:-PATIENCE])


def _work(pairs: Interactions, start: OcmfConfig, settings: dict[str, Any]) -> float:
    """Return the approximate number of operations of a round and its validation."""
    scored = min(_most_held_out(pairs), pairs.n_users) * pairs.n_items
    factors = float(settings.get("factors", start.factors))
    return factors * (80.0 * len(pairs) + 4.0 * scored) + 10.0 * factors**3
