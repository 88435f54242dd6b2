"""The search for settings of context models: its axes, and the validation of a trial.

If pairs have times, each user's newest pair is held out, otherwise a random share. For large data
the search uses a sample of the users.
"""

from typing import Any

import numpy as np

from core import ranking_metrics
from core.batch.contexts.config import ContextConfig, with_settings
from core.batch.contexts.ranker import ContextRanker
from core.batch.ranker import rank
from core.batch.weighting import mean_count, mean_weight, unit_reg
from core.errors import DataError
from core.interactions import Interactions
from core.search.search import Axis, Budget, Outcome, Search
from core.splits import leave_last_out, split_within_users
from core.types import I64

HELD_OUT, DEPTH = 0.2, 20
"""Share of the pairs held out if they have no times, and depth of the ndcg that scores a trial."""
MOST_PAIRS = 100_000
"""Most pairs in a search; beyond them it uses a sample of the users."""
MOST_EPOCHS, EVERY, PATIENCE = 80, 5, 2
"""Most epochs, epochs between validations, and validations without a gain that end a trial."""
FEWEST_USERS = 10
"""Fewest users that can validate a trial."""
FEWEST_HELD_OUT, MOST_HELD_OUT, MOST_SCORES = 500, 6_000, 1.5e8
"""Bounds of the number of users that validate a trial, and most scores (users times items)."""
MOST_TRIALS = 60
ROUGH_ALPHA0, ROUGH_RATE = 12.0, 0.5
"""Initial alpha0 and plain learning rate, in the units of the data."""
FEWEST_FACTORS, MOST_FACTORS = 8, 64
"""Bounds of the number of factors."""


def search(
    pairs: Interactions,
    base: ContextConfig,
    budget: Budget,
    *,
    item_features: Any = None,
    fixed: frozenset[str] = frozenset(),
) -> ContextConfig:
    """Return the best settings found within the budget; those in ``fixed`` stay as in ``base``.

    A budget of 0 returns rough settings for data of this size and density, without validation.
    """
    start = with_settings(base, {k: v for k, v in rough(pairs, base).items() if k not in fixed})
    axes = [axis for axis in axes_for(pairs, base) if axis.name not in fixed]
    exact = "epochs" in fixed
    if budget.seconds <= 0.0 or (not axes and exact):
        return start
    rng = np.random.default_rng([base.descent.seed, 5])
    validation = _Validation(pairs, item_features, rng, budget, exact=exact)
    if not axes:
        return _found(start, {}, validation(start))
    looking = Search(
        axes,
        lambda settings: validation(with_settings(start, settings)),
        lambda settings: float(settings.get("factors", start.factors)) + FEWEST_FACTORS,
        rng,
    )
    best = looking.run(_first(axes, start, rng), budget, most=MOST_TRIALS)
    return _found(start, best.settings, best.outcome)


def _found(start: ContextConfig, settings: dict[str, Any], outcome: Outcome) -> ContextConfig:
    """Return the settings found, or the rough ones if no held-out user's list had a hit."""
    return with_settings(start, settings | outcome.found if outcome.score else {})


def rough(pairs: Interactions, base: ContextConfig) -> dict[str, Any]:
    """Return the rough settings, from which a search begins."""
    return {
        "factors": 32,
        "alpha0": ROUGH_ALPHA0 * _unit_alpha0(pairs, base),
        "reg": 0.003 * unit_reg(pairs),
        "nu": 0.5,
        "epochs": 40,
        **({"learning_rate": ROUGH_RATE * _unit_rate(pairs, base)} if _is_plain(base) else {}),
    }


def axes_for(pairs: Interactions, base: ContextConfig) -> list[Axis]:
    """Return the axes, in units that follow from size, density and weights of the data."""
    alpha0, reg = _unit_alpha0(pairs, base), unit_reg(pairs)
    rate = _unit_rate(pairs, base)
    return [
        Axis("alpha0", alpha0, 150.0 * alpha0, log=True),
        Axis("reg", 0.0001 * reg, 0.1 * reg, log=True),
        Axis("nu", 0.0, 1.0),
        Axis("rho", 0.0, 0.6),
        Axis("factors", FEWEST_FACTORS, MOST_FACTORS, log=True, multiple=8),
        *([Axis("learning_rate", 0.01 * rate, 4.0 * rate, log=True)] if _is_plain(base) else []),
    ]


def _unit_alpha0(pairs: Interactions, base: ContextConfig) -> float:
    """Return the mean total weight of a context's pairs.

    If a context contains the previous item, every event has a context of its own: one pair.
    """
    alone = _is_of_users(pairs, base)
    return mean_weight(pairs) * (mean_count(pairs.user_counts) if alone else 1.0)


def _unit_rate(pairs: Interactions, base: ContextConfig) -> float:
    """Return about the largest plain learning rate that does not overshoot.

    The parameter that most pairs share has the steepest slope and limits it.
    """
    if base.kind == "svdfeature":
        # the constant is part of every pair, unobserved ones included
        contexts = pairs.n_users if _is_of_users(pairs, base) else len(pairs)
        return 1.0 / (ROUGH_ALPHA0 * _unit_alpha0(pairs, base) * max(contexts, 1))
    most = [max(int(counts.max(initial=1)), 1) for counts in (pairs.user_counts, pairs.item_counts)]
    # each parameter of a pairwise tensor is a factor of two products
    steepness = 4.0 if base.kind == "pitf" else 1.0
    return 1.0 / (steepness * mean_weight(pairs) * float(np.sqrt(np.prod(most))))


def _is_plain(base: ContextConfig) -> bool:
    return base.descent.optimiser == "plain"


def _is_of_users(pairs: Interactions, base: ContextConfig) -> bool:
    """Tell whether a context is a user rather than one of the user's pairs."""
    return base.kind == "mf" or pairs.time is None


def _first(
    axes: list[Axis], start: ContextConfig, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Return the rough settings and a few others of the same size."""
    values = vars(start.descent) | {"factors": start.factors}
    middle = {axis.name: axis.value(axis.unit(values[axis.name])) for axis in axes}
    size = {name: value for name, value in middle.items() if name == "factors"}
    others = [
        {axis.name: axis.value(float(rng.uniform(0.1, 0.9))) for axis in axes} | size
        for _ in range(2 * len(axes))
    ]
    return [middle, *others]


class _Validation:
    """Score settings on held-out pairs, at their best number of epochs unless ``exact``."""

    def __init__(
        self,
        pairs: Interactions,
        item_features: Any,
        rng: np.random.Generator,
        budget: Budget,
        *,
        exact: bool,
    ) -> None:
        some = pairs.rows(_some_users(pairs, rng))
        if pairs.time is None:
            self._fit, held = split_within_users(some, HELD_OUT, rng)
        else:
            self._fit, held = leave_last_out(some)
        held = held.liked
        held_out = np.flatnonzero((held.user_counts > 0) & (self._fit.user_counts > 0))
        if held_out.size < FEWEST_USERS:
            raise DataError(
                f"fewer than {FEWEST_USERS} users have two pairs, one of them liked, "
                "which is too little to choose settings: "
                "give more data, or state settings (--set) and do not search (--budget-s 0)"
            )
        most = int(np.clip(MOST_SCORES / pairs.n_items, FEWEST_HELD_OUT, MOST_HELD_OUT))
        self._users: I64 = np.sort(rng.permutation(held_out)[:most])
        self._seen, self._held = self._fit.rows(self._users), held.rows(self._users)
        self._is_late, self._is_first = budget.begin_overrun(), True
        self._pairs, self._item_features, self._exact = pairs, item_features, exact

    def __call__(self, config: ContextConfig) -> Outcome:
        curve: dict[int, float] = {}
        last = config.descent.epochs if self._exact else MOST_EPOCHS

        def on_epoch(model: ContextRanker, epoch: int) -> bool:
            is_late = self._is_late()
            if epoch == last or is_late or (not self._exact and epoch % EVERY == 0):
                curve[epoch] = self._score(model)
            return is_late or (not self._exact and _stale([*curve.values()]))

        model = ContextRanker(with_settings(self._adapted(config), {"epochs": last}))
        model.fit(self._fit, item_features=self._item_features, on_epoch=on_epoch)
        is_first, self._is_first = self._is_first, False
        best = max(curve, key=lambda epoch: curve[epoch])
        if self._is_late():
            # a trial that was cut short is no evidence for its settings or epochs
            return Outcome(curve[best] if is_first else 0.0, {})
        return Outcome(curve[best], {} if self._exact else {"epochs": best})

    def _adapted(self, config: ContextConfig) -> ContextConfig:
        """Return the settings for the fitted share of the pairs, which allows larger steps."""
        if not _is_plain(config):
            return config
        share = _unit_rate(self._fit, config) / _unit_rate(self._pairs, config)
        return with_settings(config, {"learning_rate": share * config.descent.learning_rate})

    def _score(self, model: ContextRanker) -> float:
        vectors = model.asked_vectors(self._users, self._seen)
        ids, _ = rank(vectors, model.item_factors, self._seen, DEPTH)
        return float(ranking_metrics.ndcg(ranking_metrics.hits(ids, self._held), DEPTH).mean())


def _some_users(pairs: Interactions, rng: np.random.Generator, most_pairs: int = MOST_PAIRS) -> I64:
    """Return random users with at most ``most_pairs`` pairs together; at least one user."""
    users = rng.permutation(pairs.n_users)
    enough = int(np.searchsorted(np.cumsum(pairs.user_counts[users]), most_pairs, side="right"))
    return np.sort(users[: max(enough, 1)])


def _stale(curve: list[float]) -> bool:
    """Tell whether the last validations were no better than those before."""
    if len(curve) <= PATIENCE:
        return False
    return max(curve[-PATIENCE:]) <= max(curve[:-PATIENCE])
