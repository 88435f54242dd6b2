"""Search of a label model's settings on held-out points, within a budget of seconds.

Embeddings are expensive and shared by many trials, so each split computes them once. Each trial
tunes the votes, too, one setting after the other.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.batch.feature_map import FeatureMap, Features
from core.batch.landmarks import first_settings, landmark_axes, with_more
from core.batch.ocmf.labels import (
    FEWEST_POINTS,
    HELD_OUT,
    IMPORTANCE,
    KS,
    MOST_HELD_OUT,
    precisions,
)
from core.errors import DataError
from core.interactions import Interactions
from core.labels.config import ExmldsConfig, Votes, with_settings
from core.labels.exmlds import Part, embedded, fitted, labelled, mapping
from core.labels.space import LabelSpace, Neighbours, blended
from core.search.search import LARGEST_TRIAL, Axis, Budget, Outcome, Search
from core.types import F32, I32, I64

LANDMARKS = (0, 400, 1_000, 2_000)
"""Candidate numbers of non-linear features."""
FEWEST_FACTORS, MOST_FACTORS = 40, 200
SEVERAL = 3
"""Number of validation splits if a single one has few points."""
MOST_TRIALS = 24
MOST_SCORES = 1 << 24
"""Largest number of scores of all held-out points; with many labels, fewer points are held out."""
VOTES: dict[str, tuple[Any, ...]] = {
    "blend": (0.0, 0.25, 0.5, 1.0, 2.0),
    "sharpness": (0.0, 10.0, 20.0, 40.0, 80.0),
    "neighbours": (10, 25, 50, 100, 200, 400),
}
START_SHARE, RATES = 0.7, (0.003, 0.01, 0.03)
"""Share of the budget for the initial regression of exmlds4, and its candidate learning rates."""
LEAST_GAIN = 0.2
"""Least gain of the climb over the initial regression, in percentage points.

The best of several trials is ahead by about as much by chance.
"""
ROUNDS = 2
"""Number of passes over the settings of the votes."""


def search(
    features: Any,
    labels: Interactions,
    base: ExmldsConfig,
    budget: Budget,
    *,
    fixed: frozenset[str] = frozenset(),
    correlations: Any = None,
    least_gain: float = LEAST_GAIN,
) -> ExmldsConfig:
    """Return the settings found within the budget; settings in ``fixed`` stay as in ``base``.

    A trial's score is the weighted mean of p@1, p@3 and p@5 on held-out points.
    """
    if base.variant == "exmlds4":
        return _climbing(features, labels, base, budget, fixed=fixed, least_gain=least_gain)
    rows, known = labelled(features, labels)
    axes = [axis for axis in _axes(rows) if axis.name not in fixed]
    open_votes = {name: values for name, values in VOTES.items() if name not in fixed}
    if budget.seconds <= 0.0 or not (axes or open_votes):
        return base
    rng = np.random.default_rng([base.seed, 2])
    splits = _splits(base, rows, known, correlations, rng)
    left, is_first = budget.begin(), True

    def objective(settings: dict[str, Any]) -> Outcome:
        nonlocal is_first
        config = _with(base, settings)
        if is_first:
            # Keep as many splits as the cost of one trial allows.
            begun = left()
            splits[0].embedded(config)
            affordable = LARGEST_TRIAL * budget.seconds / max(begun - left(), 1e-9)
            del splits[max(int(affordable), 1) :]
            is_first = False
        score, votes = _tuned(config, splits, open_votes)
        return Outcome(score, {"votes": votes})

    if not axes:
        return replace(base, votes=objective({}).found["votes"])
    looking = Search(
        axes, objective, lambda settings: _work(rows, known, settings), rng, with_more(axes)
    )
    places = first_settings(axes, {"reg": base.reg, "factors": base.factors}, rng)
    best = looking.run(places, budget, most=MOST_TRIALS)
    return replace(_with(base, best.settings), votes=best.outcome.found["votes"])


def _climbing(
    features: Any,
    labels: Interactions,
    base: ExmldsConfig,
    budget: Budget,
    *,
    fixed: frozenset[str],
    least_gain: float,
) -> ExmldsConfig:
    """Search the regression that the climb starts from, then whether to climb and at which rate."""
    started = budget.now()
    flat, random = replace(base, variant="exmlds1", learners=1), base.descent.start == "random"
    beginning = search(
        features,
        labels,
        flat,
        budget.part(START_SHARE),
        fixed=fixed | {"landmarks"} if random else fixed,
    )
    found = replace(beginning, variant="exmlds4", learners=base.learners)
    if budget.seconds <= 0.0 or "learning_rate" in fixed:
        return found
    trials = [with_settings(found, {"learning_rate": rate}) for rate in RATES]
    if not random and "epochs" not in fixed:
        stays = with_settings(found, {"epochs": 0})
        if found.landmarks > base.landmarks:
            # Every point has all of these features: a climb is lazy over sparse features only, and
            # would take minutes.
            return stays
        trials.insert(0, stays)
    rows, known = labelled(features, labels)
    splits = _splits(base, rows, known, None, np.random.default_rng([base.seed, 2]))
    open_votes = {name: values for name, values in VOTES.items() if name not in fixed}
    best, longest = (-np.inf, found), 0.0
    for trial in trials:
        begun = budget.now()
        if started + budget.seconds - begun < longest:
            break
        score, votes = _tuned(trial, splits, open_votes)
        score -= least_gain * (trial.descent.epochs > 0)
        best = max(best, (score, replace(trial, votes=votes)), key=lambda one: one[0])
        longest = max(longest, budget.now() - begun)
    return best[1]


class _Split:
    """One validation split, with the results that its trials share."""

    def __init__(
        self, features: Features, labels: Interactions, held_out: I64, fitting: I64, known: Any
    ) -> None:
        self.fitting, self.held = features[fitting], features[held_out]
        self.labels, self.truth = labels.rows(fitting), labels.rows(held_out)
        self._correlations = known
        self._places: dict[tuple[int, int], list[Part]] = {}
        self._maps: dict[int, FeatureMap] = {}

    def space(self, config: ExmldsConfig) -> LabelSpace:
        if config.landmarks not in self._maps:
            self._maps[config.landmarks] = mapping(config, self.fitting)
        return fitted(
            config,
            self._maps[config.landmarks],
            self.fitting,
            self.labels,
            self.embedded(config),
        )

    def embedded(self, config: ExmldsConfig) -> list[Part]:
        """Return the embedding with so many factors.

        The dimensions of a spectrum are nested: fewer factors are the first of more.
        """
        nested = config.variant != "exmlds2"
        made = MOST_FACTORS if nested and config.factors <= MOST_FACTORS else config.factors
        key = made, config.learners
        if key not in self._places:
            self._places[key] = embedded(
                replace(config, factors=made), self.fitting, self.labels, self._correlations
            )
        return [part.first(config.factors) for part in self._places[key]]


@dataclass(frozen=True, eq=False)
class _Found:
    """Scores of the held-out points by one space, before the votes are weighted."""

    space: LabelSpace
    near: list[tuple[I64, Neighbours]]
    """Row numbers and their neighbours, per cluster."""
    own: F32
    truth: Interactions

    def score(self, votes: Votes) -> float:
        total = np.zeros_like(self.own)
        for rows, near in self.near:
            total[rows] += self.space.counted(near, votes)
        found = precisions(_top(blended(total, self.own, votes.blend)), self.truth)
        return float(np.average(list(found.values()), weights=IMPORTANCE))


def _found(split: _Split, config: ExmldsConfig, most: int) -> _Found:
    space = split.space(config)
    mapped: Any = space.mapped(split.held)
    near, own = [], np.zeros((mapped.shape[0], space.n_labels), np.float32)
    for learner in range(config.learners):
        parts = space.parts_of(mapped, learner)
        for part in np.unique(parts).tolist():
            rows = np.flatnonzero(parts == part)
            places = space.places(mapped[rows], part)
            near.append((rows, space.neighbours(places, part, most)))
            own[rows] += places @ space.label_factors[part].T
    return _Found(space, near, own, split.truth)


def _tuned(
    config: ExmldsConfig, splits: list[_Split], grid: dict[str, tuple[Any, ...]]
) -> tuple[float, Votes]:
    """Return the best score and its votes, tuning one setting at a time."""
    most = int(max([config.votes.neighbours, *grid.get("neighbours", ())]))
    found = [_found(split, config, most) for split in splits]
    tried: dict[Votes, float] = {}

    def scored(votes: Votes) -> float:
        if votes not in tried:
            tried[votes] = float(np.mean([one.score(votes) for one in found]))
        return tried[votes]

    best = config.votes
    for _ in range(ROUNDS):
        for name, values in grid.items():
            best = max([best, *(replace(best, **{name: value}) for value in values)], key=scored)
    return scored(best), best


def _top(scores: F32) -> I32:
    """Return the best labels of each row, as many as the metrics need."""
    k = min(max(KS), scores.shape[1])
    some = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1)
    return np.take_along_axis(some, order, axis=1).astype(np.int32)


def _with(config: ExmldsConfig, settings: dict[str, Any]) -> ExmldsConfig:
    chosen = {
        name: LANDMARKS[int(value) - 1] if name == "landmarks" else value
        for name, value in settings.items()
    }
    return with_settings(config, chosen)


def _axes(features: Features) -> list[Axis]:
    """Return the axes of the search; landmarks are given by their position in LANDMARKS, from 1."""
    return [
        Axis("reg", 0.1, 30.0, log=True),
        Axis("factors", FEWEST_FACTORS, MOST_FACTORS, log=True, multiple=10),
        *landmark_axes(features.shape, LANDMARKS),
    ]


def _splits(
    base: ExmldsConfig,
    features: Features,
    labels: Interactions,
    correlations: Any,
    rng: np.random.Generator,
) -> list[_Split]:
    if labels.n_users < FEWEST_POINTS:
        raise DataError(
            f"fewer than {FEWEST_POINTS} labelled points are too few for a search of settings: "
            "give more, or skip the search with a budget of 0 seconds"
        )
    held = round(labels.n_users * HELD_OUT)
    n_held_out = int(min(held, MOST_HELD_OUT, max(MOST_SCORES // labels.n_items, FEWEST_POINTS)))
    splits = []
    for _ in range(int(np.clip(np.ceil(MOST_HELD_OUT / held), 1, SEVERAL))):
        order = rng.permutation(labels.n_users)
        held_out, fitting = np.sort(order[:n_held_out]), np.sort(order[held:])
        splits.append(_Split(features, labels, held_out, fitting, correlations))
    return splits


def _work(features: Features, labels: Interactions, settings: dict[str, Any]) -> float:
    """Return the approximate number of operations of a trial.

    They are the normal equations and about twenty evaluations of votes.
    """
    landmarks = LANDMARKS[int(settings["landmarks"]) - 1] if "landmarks" in settings else 0
    n, d = features.shape
    equations = float(d + landmarks) ** 2 * (d + landmarks + n * (landmarks > 0))
    # Sorting scores and gathering labels take many operations per element.
    scored = min(n * HELD_OUT, MOST_HELD_OUT) * (100 * labels.n_items + 20_000 * len(labels) / n)
    return float(equations + 15 * scored)
