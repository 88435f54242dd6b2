"""The label models of ``hedgerow eval labels``: their search of settings, and their fit."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from core.batch.ocmf import config as ocmf
from core.batch.ocmf import labels as one_class
from core.batch.ocmf.config import LabelConfig, OcmfConfig
from core.batch.ocmf.labels import LabelModel
from core.interactions import from_pairs
from core.labels import config as labels
from core.labels import search as embedding_search
from core.labels.config import ExmldsConfig
from core.labels.exmlds import Exmlds
from core.labels.sppmi import co_occurrence
from core.recipe_settings import RecipeSettings
from core.search.search import Budget
from core.types import I32
from service.files.labelled_points import LabelledPoints

MOST_FACTORS, MOST_PARAMETERS = 512, 20_000_000
"""Most factors, and most factors times features, of a one-class model without stated factors.

The default rank is the number of labels, and a fit holds ten copies of the parameters.
"""


class FittedLabels(Protocol):
    """A fitted model."""

    def ranked(self, features: Any, n: int) -> I32:
        """Return the n best labels of each point, (points, n)."""


class LabelRanker(Protocol):
    """One model on one set of labelled points."""

    def search(self, budget: Budget) -> None:
        """Search the settings that are not stated."""

    def fit(self) -> FittedLabels:
        """Return the model fitted with the settings found."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the settings, flat, as ``--set`` takes them."""

    def compile(self) -> None:
        """Compile the kernels on tiny data, so that measured times exclude compilation."""


def label_ranker(
    model: str, seen: LabelledPoints, whole: LabelledPoints, given: Mapping[str, str], seed: int
) -> LabelRanker:
    """Return the model of this name; ``seen`` has the points with the revealed labels only."""
    if model in _EMBEDDINGS:
        return _Embedding(_EMBEDDINGS[model], seen, whole, given, seed)
    return _OneClass(_ONE_CLASS[model], seen, given, seed)


class _OneClass:
    """One-class factorisation: points are users, known by their features; labels are items."""

    def __init__(
        self,
        settings: RecipeSettings[LabelConfig],
        seen: LabelledPoints,
        given: Mapping[str, str],
        seed: int,
    ) -> None:
        self._settings, self._points = settings, seen
        stated = settings.parsed(given)
        affordable = max(MOST_PARAMETERS // seen.features.shape[1], 16)
        factors = min(seen.labels.n_items, MOST_FACTORS, affordable)
        config = settings.config({"factors": factors, "seed": seed, **stated})
        self._config = _within(config, seen)
        self._fixed = settings.fixed | set(stated)

    def search(self, budget: Budget) -> None:
        features, seen = self._points.features, self._points.labels
        self._config = one_class.search(features, seen, self._config, budget, fixed=self._fixed)

    def fit(self) -> FittedLabels:
        return LabelModel(self._config).fit(self._points.features, self._points.labels)

    @property
    def parameters(self) -> dict[str, Any]:
        return self._settings.all_values(self._config)

    def compile(self) -> None:
        model = LabelModel(LabelConfig(OcmfConfig(factors=2, rounds=2)))
        model.fit(_TINY.features, _TINY.labels).ranked(_TINY.features, 1)


class _Embedding:
    """Label embeddings (ExMLDS)."""

    def __init__(
        self,
        settings: RecipeSettings[ExmldsConfig],
        seen: LabelledPoints,
        whole: LabelledPoints,
        given: Mapping[str, str],
        seed: int,
    ) -> None:
        self._settings, self._points = settings, seen
        # this model is given the correlations of all labels, even if single labels are hidden
        known = settings.name == "exmlds3" and seen is not whole
        self._correlations = co_occurrence(whole.labels) if known else None
        stated = settings.parsed(given)
        self._config = settings.config({"seed": seed, **stated})
        self._fixed = frozenset(stated)

    def search(self, budget: Budget) -> None:
        self._config = embedding_search.search(
            self._points.features,
            self._points.labels,
            self._config,
            budget,
            fixed=self._fixed,
            correlations=self._correlations,
        )

    def fit(self) -> FittedLabels:
        model, points = Exmlds(self._config), self._points
        return model.fit(points.features, points.labels, correlations=self._correlations)

    @property
    def parameters(self) -> dict[str, Any]:
        return self._settings.all_values(self._config)

    def compile(self) -> None:
        model = Exmlds(replace(self._config, factors=2, landmarks=0, clusters=1, learners=1))
        model.fit(_TINY.features, _TINY.labels).ranked(_TINY.features, 1)


def _within(config: LabelConfig, points: LabelledPoints) -> LabelConfig:
    """Return the settings, bounded by the numbers of points and labels."""
    n_points, n_labels = points.labels.n_users, points.labels.n_items
    factors = min(config.model.factors, n_points, n_labels)
    landmarks = min(config.landmarks, n_points)
    return replace(config, landmarks=landmarks, model=replace(config.model, factors=factors))


_ONE_CLASS = {one.name: one for one in ocmf.POINT_RECIPES}
_EMBEDDINGS = {one.name: one for one in labels.POINT_RECIPES}
MODELS = (*_ONE_CLASS, *_EMBEDDINGS)

_TINY = LabelledPoints(
    sp.csr_array(np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)),
    from_pairs(np.array([0, 0, 1]), np.array([0, 1, 1])),
)
