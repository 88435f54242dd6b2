"""Labels of points with features: the one-class model for them, and the search for its settings.

Points are the users of the model, and labels are its items. The search covers the weight of an
unobserved pair, the regularisation, the number of non-linear features and the number of rounds.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from core import ranking_metrics
from core.batch.feature_map import FeatureMap, Features, fit_features
from core.batch.landmarks import first_settings, landmark_axes, with_more
from core.batch.ocmf.config import LabelConfig, with_label_settings
from core.batch.ocmf.fit import feature_matrix
from core.batch.ocmf.model import Ocmf
from core.batch.ocmf.side import FeatureMatrix
from core.batch.ranker import rank
from core.errors import DataError, Diverged, ShapeError
from core.interactions import Interactions
from core.search.search import Axis, Budget, Outcome, Search, Trial
from core.types import F32, F64, I32, I64

KS = (1, 3, 5)
IMPORTANCE = (3, 1, 1)
"""Weights of p@1, p@3 and p@5 in a trial's score; each of them has other best settings."""
HELD_OUT = 0.2
MOST_HELD_OUT, MOST_SPLITS = 2_500, 2
"""Most points that validate a trial, and most splits; small data use several splits."""
FEWEST_POINTS = 20
LANDMARKS = (0, 400, 1_000)
"""Numbers of non-linear features that a trial may add."""
MOST_ROUNDS = 4
MOST_TRIALS = 60
SEARCH_SHARE = 0.6
"""Share of the budget for the search; the rest is for validating the best trials again."""
FINALISTS, FINAL_SPLITS = 6, 4
BLOCK = 2_048
"""Points ranked at a time, to bound the memory for their vectors."""


class LabelModel:
    """A one-class model with the feature map of its fit."""

    def __init__(self, config: LabelConfig) -> None:
        self.config = config
        self.model = Ocmf(config.model)
        self._map = FeatureMap()

    def fit(self, features: Features, labels: Interactions) -> "LabelModel":
        if features.shape[0] != labels.n_users:
            raise ShapeError(
                f"features of {features.shape[0]} points, but labels of {labels.n_users}"
            )
        self._map = feature_map(features, self.config)
        self.model.fit(labels, features=self._map.transform(features))
        return self

    def ranked(self, features: Features, n: int) -> I32:
        """Return the n best labels of each point, (points, n), padded with -1."""
        return ranked(self.model, self._map.transform(features), n)


def feature_map(features: Features, config: LabelConfig) -> FeatureMap:
    """Return the map for these settings.

    Its centres depend on features, settings and seed alone.
    """
    return fit_features(
        features, centres=config.landmarks, gamma=config.gamma, seed=config.model.seed
    )


def ranked(model: Ocmf, mapped: Features, n: int) -> I32:
    """Return the n best labels of points, (points, n), given their mapped features."""
    parts = []
    for at in range(0, mapped.shape[0], BLOCK):
        vectors: F32 = np.ascontiguousarray(model.vectors_of(mapped[at : at + BLOCK]), np.float32)
        nothing = np.zeros(len(vectors) + 1, np.int64)
        excluded = Interactions(len(model.item_factors), nothing, np.empty(0, np.int32))
        parts.append(rank(vectors, model.item_factors, excluded, n)[0])
    return np.concatenate(parts)


def precisions(ranked_labels: I32, labels: Interactions) -> dict[str, float]:
    """Return p@1, p@3 and p@5 in percent; for a point without labels every answer is wrong.

    >>> truth = Interactions(3, np.array([0, 1, 1]), np.array([2], dtype=np.int32))
    >>> precisions(np.array([[2, 0, 1], [0, 1, 2]], dtype=np.int32), truth)["p@1"]
    50.0
    """
    labelled = np.flatnonzero(labels.user_counts)
    if labelled.size == 0:
        return {f"p@{k}": 0.0 for k in KS}
    hits = ranking_metrics.hits(ranked_labels[labelled], labels.rows(labelled))
    return {
        f"p@{k}": float(100.0 * ranking_metrics.precision(hits, k).sum() / labels.n_users)
        for k in KS
    }


class _Split:
    """One validation split; it caches mapped features, which many trials share."""

    def __init__(
        self, features: Features, labels: Interactions, n_held_out: int, rng: np.random.Generator
    ) -> None:
        order = rng.permutation(labels.n_users)
        held_out: I64 = np.sort(order[:n_held_out])
        fitting: I64 = np.sort(order[round(labels.n_users * HELD_OUT) :])
        self._fit, self._held = features[fitting], features[held_out]
        self.labels, self.truth = labels.rows(fitting), labels.rows(held_out)
        self._mapped: dict[tuple[int, float], tuple[FeatureMatrix, Features]] = {}

    def curve(self, config: LabelConfig) -> list[float]:
        """Return the score after each round of a fit."""
        scores: list[float] = []
        mapped, held = self.mapped(config)

        def on_round(model: Ocmf, number: int) -> bool:
            found = precisions(ranked(model, held, max(KS)), self.truth)
            scores.append(float(np.average(list(found.values()), weights=IMPORTANCE)))
            return False

        Ocmf(config.model).fit(self.labels, features=mapped, on_round=on_round)
        return scores

    def mapped(self, config: LabelConfig) -> tuple[FeatureMatrix, Features]:
        key = config.landmarks, config.gamma
        if key not in self._mapped:
            made = feature_map(self._fit, config)
            fitting = feature_matrix(made.transform(self._fit))
            self._mapped[key] = fitting, made.transform(self._held)
        return self._mapped[key]


def search(
    features: Features,
    labels: Interactions,
    base: LabelConfig,
    budget: Budget,
    *,
    fixed: frozenset[str] = frozenset(),
) -> LabelConfig:
    """Return the best settings found within the budget; those in ``fixed`` stay as in ``base``.

    A trial's score is the weighted mean of p@1, p@3 and p@5 on held-out points. A budget of 0
    returns ``base``.
    """
    axes = [axis for axis in _axes(features) if axis.name not in fixed]
    if budget.seconds <= 0.0 or (not axes and "rounds" in fixed):
        return base
    started = budget.now()
    rng = np.random.default_rng([base.model.seed, 2])
    splits = _splits(features, labels, rng)
    start = with_label_settings(base, {"rounds": 1}) if "rounds" not in fixed else base
    if not axes:
        return _with_rounds(splits, start)

    def objective(settings: dict[str, Any]) -> Outcome:
        return Outcome(_score(splits, _with(start, settings))[-1], {})

    looking = Search(
        axes,
        objective,
        lambda settings: _work(features, start, settings),
        rng,
        with_more(axes),
    )
    looking.run(
        first_settings(axes, {"weight": start.model.weight, "reg": start.model.reg}, rng),
        replace(budget, seconds=SEARCH_SHARE * budget.seconds),
        most=MOST_TRIALS,
    )
    ends = started + budget.seconds
    best = _final(looking.trials, features, labels, start, (budget.now, ends), rng)
    found = _with(start, best.settings)
    if "rounds" in fixed or ends - budget.now() < MOST_ROUNDS * best.seconds:
        return found
    try:
        return _with_rounds(splits, found)
    except Diverged:
        return found


def _with_rounds(splits: list[_Split], config: LabelConfig) -> LabelConfig:
    """Return the settings with the best number of rounds."""
    curve = _score(splits, with_label_settings(config, {"rounds": MOST_ROUNDS}))
    return with_label_settings(config, {"rounds": 1 + int(np.argmax(curve))})


def _final(
    trials: list[Trial],
    features: Features,
    labels: Interactions,
    base: LabelConfig,
    until: tuple[Callable[[], float], float],
    rng: np.random.Generator,
) -> Trial:
    """Return the best trial after validating the best ones on further splits while there is time.

    The score that was highest in the search is partly luck.
    """
    now, ends = until
    best = sorted(trials, key=lambda trial: -trial.outcome.score)[:FINALISTS]
    while len(best) > 1 and sum(trial.seconds for trial in best) > ends - now():
        best.pop()
    scores = np.array([trial.outcome.score for trial in best])
    price = sum(trial.seconds for trial in best)
    for split_number in range(2, 2 + FINAL_SPLITS):
        if ends - now() < price:
            break
        split = _split(features, labels, rng)
        more = [_last(split, _with(base, trial.settings)) for trial in best]
        scores += (np.array(more) - scores) / split_number
    return best[int(np.argmax(scores))]


def _last(split: _Split, config: LabelConfig) -> float:
    """Return the score after the last round, or 0 if the fit diverges."""
    try:
        return split.curve(config)[-1]
    except Diverged:
        return 0.0


def _with(config: LabelConfig, settings: dict[str, Any]) -> LabelConfig:
    chosen = {
        name: LANDMARKS[int(value) - 1] if name == "landmarks" else value
        for name, value in settings.items()
    }
    return with_label_settings(config, chosen)


def _axes(features: Features) -> list[Axis]:
    """Return the axes; landmarks are given by their position in LANDMARKS, counted from 1."""
    return [
        Axis("weight", 0.003, 1.0, log=True),
        Axis("reg", 0.003, 10.0, log=True),
        *landmark_axes(features.shape, LANDMARKS),
    ]


def _splits(features: Features, labels: Interactions, rng: np.random.Generator) -> list[_Split]:
    if labels.n_users < FEWEST_POINTS or np.count_nonzero(labels.user_counts) < FEWEST_POINTS:
        raise DataError(
            f"fewer than {FEWEST_POINTS} labelled points are too few to choose settings: "
            "give more, or do not search (a budget of 0 seconds)"
        )
    n = int(np.clip(np.ceil(MOST_HELD_OUT / (HELD_OUT * labels.n_users)), 1, MOST_SPLITS))
    return [_split(features, labels, rng) for _ in range(n)]


def _split(features: Features, labels: Interactions, rng: np.random.Generator) -> _Split:
    return _Split(features, labels, min(round(labels.n_users * HELD_OUT), MOST_HELD_OUT), rng)


def _score(splits: list[_Split], config: LabelConfig) -> F64:
    """Return the mean score after each round."""
    mean: F64 = np.mean([split.curve(config) for split in splits], axis=0)
    return mean


def _work(features: Any, config: LabelConfig, settings: dict[str, Any]) -> float:
    """Return the approximate number of operations of a fit."""
    landmarks = LANDMARKS[int(settings["landmarks"]) - 1] if "landmarks" in settings else 0
    sparse = features.size if isinstance(features, np.ndarray) else features.nnz
    if config.landmarks or landmarks:
        size = features.shape[0] * (features.shape[1] + landmarks + config.landmarks)
    else:
        # a sparse product costs about four times as much for each element
        size = 4 * sparse
    return float(size + 1) * config.model.factors
