"""ExMLDS: points that share labels get similar vectors; features predict them; neighbours vote.

exmlds1   vectors are the leading directions of SPPMI(Y Y'); regression maps features to them
exmlds2   vectors by skip-gram with negative sampling on label neighbours; regression as before
exmlds3   vectors of points and labels from their joint matrix, with given label correlations
exmlds4   the map itself ascends the skip-gram objective of cosines, from the regression or random
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from core.batch.feature_map import FeatureMap, Features, checked, fit_features, unit_rows
from core.errors import ConfigError, DataError, NotFitted, ShapeError
from core.interactions import Interactions
from core.labels.clusters import direction_clusters
from core.labels.config import ExmldsConfig
from core.labels.descent import joint_weights, random_weights, skip_gram_places, unit_scale
from core.labels.regression import Regression
from core.labels.space import LabelSpace, unit
from core.labels.spectrum import leading
from core.labels.sppmi import as_matrix, co_occurrence, joint_sppmi, sppmi
from core.types import F32, I32, I64

POINTS_OF_A_PART = 12_000
MOST_ELEMENTS = 1 << 30
"""Upper bound on the elements of all feature and label vectors of all clusters: 4 GB."""
DECODER_REG = 0.01
"""Regularisation of the labels' own vectors, relative to the mean square of a dimension."""


@dataclass(frozen=True, eq=False)
class Part:
    """One cluster of one learner: its points and the vectors that their labels give them."""

    learner: int
    centre: F32
    """(n_features,)"""
    rows: I64
    places: F32
    """(rows, g)"""
    label_places: F32 | None = None
    """(L, g), only of the joint model."""

    def first(self, factors: int) -> "Part":
        """Return the cluster with only the first dimensions of its vectors."""
        if self.places.shape[1] == factors:
            return self
        labels = None if self.label_places is None else self.label_places[:, :factors]
        return replace(self, places=self.places[:, :factors], label_places=labels)


class Exmlds:
    """Ranks labels of points by their features, after a fit on points with labels.

    >>> from hedgerow import from_pairs
    >>> from hedgerow.labels import Exmlds, ExmldsConfig
    >>> features = np.eye(2, dtype=np.float32)[[0, 0, 1, 1]]
    >>> labels = from_pairs([0, 0, 1, 2, 3], [0, 1, 0, 2, 2])  # (point, label)
    >>> model = Exmlds(ExmldsConfig(factors=2)).fit(features, labels)
    >>> model.ranked(features[[0, 2]], 1)
    array([[0],
           [2]], dtype=int32)
    """

    def __init__(self, config: ExmldsConfig) -> None:
        self.config = config
        self._space: LabelSpace | None = None

    @property
    def space(self) -> LabelSpace:
        """The fitted space; raises NotFitted before ``fit``."""
        if self._space is None:
            raise NotFitted("the model has not been fitted: call fit first")
        return self._space

    def fit(self, features: Any, labels: Interactions, *, correlations: Any = None) -> Self:
        """Fit the model and return it.

        ``correlations`` (L, L) are known co-occurrences of labels, by default those in ``labels``;
        only exmlds3 uses them.
        """
        rows, known = labelled(features, labels)
        feature_map = mapping(self.config, rows)
        parts = embedded(self.config, rows, known, correlations)
        self._space = fitted(self.config, feature_map, rows, known, parts)
        return self

    def ranked(self, features: Any, n: int) -> I32:
        """Return the n best labels of each point, (points, n); -1 where there are fewer."""
        return self.space.ranked(features, n)[0]


def labelled(features: Any, labels: Interactions) -> tuple[Features, Interactions]:
    """Return the points that have labels; other points contribute nothing to the embedding."""
    rows: Any = checked(features)
    if rows.shape[0] != labels.n_users:
        raise ShapeError(f"features of {rows.shape[0]} points, but labels of {labels.n_users}")
    known = np.flatnonzero(labels.user_counts)
    if known.size == 0:
        raise DataError("no point has a label: give at least one labelled point")
    return rows[known], labels.rows(known)


def mapping(config: ExmldsConfig, features: Features) -> FeatureMap:
    """Return the feature map; its centres depend on the features and the seed alone."""
    return fit_features(features, centres=config.landmarks, gamma=config.gamma, seed=config.seed)


def embedded(
    config: ExmldsConfig, features: Features, labels: Interactions, correlations: Any = None
) -> list[Part]:
    """Return the clusters of all learners, with vectors derived from the labels of their points."""
    rows: Any = unit_rows(features)
    clusters = config.clusters or max(round(labels.n_users / POINTS_OF_A_PART), 1)
    vectors = (rows.shape[1] + labels.n_items) * min(clusters, labels.n_users) * config.learners
    if vectors * config.factors > MOST_ELEMENTS:
        raise ConfigError(
            f"{config.factors} factors for {rows.shape[1]} features and {labels.n_items} labels, "
            f"clusters {clusters}, learners {config.learners}: "
            "too much for memory, give fewer"
        )
    parts: list[Part] = []
    for learner in range(config.learners):
        rng = np.random.default_rng([config.seed, 5, learner])
        centres, members = direction_clusters(rows, clusters, rng)
        if learner and clusters == 1 and config.variant != "exmlds2":
            # Nothing random is left, so the spectrum would be the same.
            parts.append(replace(parts[0], learner=learner))
            continue
        for centre, member in zip(centres, members, strict=True):
            places, label_places = _places(config, labels.rows(member), correlations, rng)
            parts.append(Part(learner, centre, member, places, label_places))
    return parts


def fitted(
    config: ExmldsConfig,
    feature_map: FeatureMap,
    features: Features,
    labels: Interactions,
    parts: list[Part],
) -> LabelSpace:
    """Return the space, with the features of each cluster's points mapped to their vectors."""
    mapped: Any = feature_map.transform(features)
    weights, points, factors = [], [], []
    for number, part in enumerate(parts):
        own, carried = mapped[part.rows], labels.rows(part.rows)
        rng = np.random.default_rng([config.seed, 7, number])
        chosen = _map(config, own, carried, part.places, rng)
        # Neighbours are compared by mapped vectors, since a new point is mapped the same way.
        placed = np.asarray(own @ chosen, np.float32)
        weights.append(chosen)
        points.append(unit(placed))
        known = part.label_places
        factors.append(_decoder(placed, carried) if known is None else known)
    learners = np.array([part.learner for part in parts])
    sizes = [part.rows.size for part in parts]
    return LabelSpace(
        feature_map,
        int(features.shape[1]),
        np.stack([part.centre for part in parts]),
        np.searchsorted(learners, np.arange(config.learners + 1)).astype(np.int64),
        np.stack(weights),
        np.stack(factors),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate(points),
        labels.rows(np.concatenate([part.rows for part in parts])),
        config.votes,
    )


def _places(
    config: ExmldsConfig, labels: Interactions, correlations: Any, rng: np.random.Generator
) -> tuple[F32, F32 | None]:
    """Return the vectors of points, and those of labels if the variant has them."""
    if config.variant == "exmlds2":
        return skip_gram_places(labels, config.factors, config.descent, rng), None
    if config.variant == "exmlds3":
        known = co_occurrence(labels) if correlations is None else correlations
        if known.shape != (labels.n_items, labels.n_items):
            raise ShapeError(f"{labels.n_items} labels, but correlations of shape {known.shape}")
        found = joint_sppmi(labels, known, config.mix, config.shift)
        both = _spectral(found.times, found.size, config.factors, rng)
        return both[: labels.n_users], both[labels.n_users :]
    if config.variant == "exmlds4" and config.descent.start == "random":
        return np.zeros((labels.n_users, config.factors), np.float32), None
    found = sppmi(labels, config.shift)
    return _spectral(found.times, found.size, config.factors, rng), None


def _spectral(times: Any, size: int, factors: int, rng: np.random.Generator) -> F32:
    """Return U |lambda|^(1/2), (size, factors); the matrix may be indefinite."""
    values, vectors = leading(times, size, factors, rng)
    return vectors * np.sqrt(np.abs(values)).astype(np.float32)


def _map(
    config: ExmldsConfig, mapped: Any, labels: Interactions, places: F32, rng: np.random.Generator
) -> F32:
    """Return W (d, g), which maps features to vectors."""
    if config.variant != "exmlds4" or config.descent.epochs == 0:
        return _regressed(config, mapped, places)
    if config.descent.start == "random":
        start = random_weights(mapped, config.factors, rng)
    else:
        start = unit_scale(_regressed(config, mapped, places), mapped)
    return joint_weights(mapped, labels, start, config.descent, rng)


def _regressed(config: ExmldsConfig, mapped: Any, places: F32) -> F32:
    regression = Regression(mapped)
    if config.l1 == 0.0:
        return regression.ridge(places, config.reg)
    return regression.admm(places, config.reg, config.l1, rho=config.rho, sweeps=config.sweeps)


def _decoder(placed: F32, labels: Interactions) -> F32:
    """Return h (L, g), the ridge regression of the labels on the vectors."""
    reg = DECODER_REG * float(np.square(placed).sum()) / placed.shape[1] + 1e-9
    return np.ascontiguousarray(Regression(placed).ridge(as_matrix(labels), reg).T)
