"""The label models of ``eval labels``: where each begins, how its settings are found, how it is fitted."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, Literal, Protocol, get_args

import numpy as np
import scipy.sparse as sp

from core.batch.ocmf import labels as label_search
from core.batch.ocmf.config import LabelConfig, OcmfConfig
from core.batch.ocmf.labels import LabelModel
from core.errors import ConfigError
from core.interactions import from_pairs
from core.labels import search as embedding_search
from core.labels.config import GROUPS, Variant, names, set_value, standard
from core.labels.exmlds import Exmlds
from core.labels.sppmi import co_occurrence
from core.search.search import Budget
from core.types import I32
from service.files.labelled_points import LabelledPoints

Model = Literal[
    "ocmf-lr-wsq", "ocmf-sq-wsq", "ocmf-sq-sq", "exmlds1", "exmlds2", "exmlds3", "exmlds4"
]
OnTrial = Callable[[float], None]

MOST_FACTORS, MOST_PARAMETERS = 512, 20_000_000
"""Of the searched models: more labels than that share factors, many features get fewer; a fit holds ten copies."""

_STARTS: dict[str, tuple[OcmfConfig, frozenset[str]]] = {
    "ocmf-lr-wsq": (OcmfConfig(loss="logistic", weight=0.1, reg=0.1, rounds=1), frozenset()),
    "ocmf-sq-wsq": (OcmfConfig(loss="square", weight=0.3, reg=0.3, rounds=1), frozenset()),
    "ocmf-sq-sq": (
        OcmfConfig(loss="square", weight=1.0, reg=0.3, rounds=1),
        frozenset({"weight"}),
    ),
}
_SETTINGS: dict[str, type] = {
    "factors": int,
    "weight": float,
    "target": float,
    "reg": float,
    "reg_item": float,
    "rounds": int,
    "landmarks": int,
    "gamma": float,
    "negatives": str,
    "negative_loss": str,
    "solver": str,
}


class Fitted(Protocol):
    """What ranks labels."""

    def ranked(self, features: Any, n: int) -> I32: ...


class Contender(ABC):
    """One model on one set of labelled points; ``search`` finds its settings, ``fit`` takes them."""

    @abstractmethod
    def search(self, budget: Budget, on_trial: OnTrial) -> None: ...

    @abstractmethod
    def fit(self) -> Fitted: ...

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return the settings, flat, as ``--set`` takes them."""

    @abstractmethod
    def compile(self) -> None:
        """Compile the kernels on a tiny data set: seconds are those of the fit."""


def contender(
    model: str,
    seen: LabelledPoints,
    whole: LabelledPoints,
    given: Mapping[str, str],
    seed: int,
) -> Contender:
    """Return the model that a name means; ``seen`` are the points with the labels that it may learn from."""
    if model in get_args(Variant):
        return _Embedding(model, seen, whole, given, seed)
    return _OneClass(model, seen, given, seed)


class _OneClass(Contender):
    def __init__(
        self, model: str, seen: LabelledPoints, given: Mapping[str, str], seed: int
    ) -> None:
        self._points = seen
        start, fixed = _STARTS[model]
        affordable = max(MOST_PARAMETERS // seen.features.shape[1], 16)
        factors = min(seen.labels.n_items, MOST_FACTORS, affordable)
        self._config = LabelConfig(replace(start, factors=factors, seed=seed))
        # what makes it this model is no setting of it
        self._settable = {name: of for name, of in _SETTINGS.items() if name not in fixed}
        for name, value in _typed(given, self._settable).items():
            self._config = label_search.set_value(self._config, name, value)
        self._config = _within(self._config, seen)
        self._fixed = fixed | set(given)

    def search(self, budget: Budget, on_trial: OnTrial) -> None:
        features, labels = self._points.features, self._points.labels
        self._config = label_search.search(
            features, labels, self._config, budget, fixed=self._fixed, on_trial=on_trial
        )

    def fit(self) -> Fitted:
        return LabelModel(self._config).fit(self._points.features, self._points.labels)

    @property
    def parameters(self) -> dict[str, Any]:
        own = {"landmarks": self._config.landmarks, "gamma": self._config.gamma}
        return _settable({**asdict(self._config.model), **own}, self._settable)

    def compile(self) -> None:
        model = LabelModel(LabelConfig(OcmfConfig(factors=2, rounds=2)))
        model.fit(_TINY.features, _TINY.labels).ranked(_TINY.features, 1)


class _Embedding(Contender):
    def __init__(
        self,
        model: Any,
        seen: LabelledPoints,
        whole: LabelledPoints,
        given: Mapping[str, str],
        seed: int,
    ) -> None:
        self._points = seen
        # how labels go together is known beforehand, also where single labels are hidden
        known = model == "exmlds3" and seen is not whole
        self._correlations = co_occurrence(whole.labels) if known else None
        self._config = standard(model, seed)
        for name, value in _typed(given, names()).items():
            self._config = set_value(self._config, name, value)
        self._fixed = frozenset(given)

    def search(self, budget: Budget, on_trial: OnTrial) -> None:
        self._config = embedding_search.search(
            self._points.features,
            self._points.labels,
            self._config,
            budget,
            fixed=self._fixed,
            correlations=self._correlations,
            on_trial=on_trial,
        )

    def fit(self) -> Fitted:
        model = Exmlds(self._config)
        return model.fit(
            self._points.features, self._points.labels, correlations=self._correlations
        )

    @property
    def parameters(self) -> dict[str, Any]:
        flat: dict[str, Any] = asdict(self._config)
        groups = [flat.pop(group) for group in GROUPS]
        for group in groups:
            flat |= group
        return _settable(flat, names())

    def compile(self) -> None:
        model = Exmlds(replace(self._config, factors=2, landmarks=0, clusters=1, learners=1))
        model.fit(_TINY.features, _TINY.labels).ranked(_TINY.features, 1)


def _within(config: LabelConfig, points: LabelledPoints) -> LabelConfig:
    """Return the settings that a fit on so many points and labels can use."""
    n_points, n_labels = points.labels.n_users, points.labels.n_items
    factors = min(config.model.factors, n_points, n_labels)
    landmarks = min(config.landmarks, n_points)
    return replace(config, landmarks=landmarks, model=replace(config.model, factors=factors))


def _typed(given: Mapping[str, str], known: Mapping[str, type]) -> dict[str, Any]:
    """Return the values of --set; ConfigError for a name or a text that is none."""
    typed = {}
    for name, text in given.items():
        if name not in known:
            raise ConfigError(f"--set {name}: no such setting; there are {', '.join(known)}")
        try:
            typed[name] = known[name](text)
        except ValueError as error:
            number = "a whole number" if known[name] is int else "a number"
            raise ConfigError(f"--set {name}={text}: give {number}") from error
    return typed


def _settable(settings: Mapping[str, Any], known: Mapping[str, type]) -> dict[str, Any]:
    return {n: value for n, value in settings.items() if n in known and value is not None}


_TINY = LabelledPoints(
    sp.csr_array(np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)),
    from_pairs(np.array([0, 0, 1]), np.array([0, 1, 1])),
)
