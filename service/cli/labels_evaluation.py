"""One evaluation of a label model: from two files of labelled points to a report.

Owns which model a name means and the report; the command line is ``evaluate_labels.py``'s.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from time import perf_counter
from typing import Any, Literal

import numpy as np

from core.batch.label_search import KS, LabelConfig, LabelModel, precisions, search, set_value
from core.batch.ocmf import OcmfConfig
from core.batch.search import Budget
from core.errors import ConfigError
from core.interactions import from_pairs
from service.errors import ServiceError
from service.xmlc_file import LabelledPoints

Model = Literal["ocmf-lr-wsq", "ocmf-sq-wsq", "ocmf-sq-sq"]

OnProgress = Callable[[str, float], None]

MOST_FACTORS, MOST_PARAMETERS = 512, 20_000_000
"""Of the searched models: more labels than that share factors, many features get fewer; a fit holds ten copies."""

_STARTS: dict[Model, tuple[OcmfConfig, frozenset[str]]] = {
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
}


class MismatchedFiles(ServiceError):
    """The two files do not describe points of one kind."""

    status, code = 422, "mismatched_files"


@dataclass(frozen=True)
class Request:
    """What to evaluate; as the options of the command."""

    model: Model = "ocmf-lr-wsq"
    revealed: float = 1.0
    """The share of the training labels that the model sees."""
    given: dict[str, str] = field(default_factory=dict)
    """Settings that are not searched."""
    budget_s: float = 120.0
    seed: int = 0


def evaluate_labels(
    train: LabelledPoints,
    test: LabelledPoints,
    request: Request,
    on_progress: OnProgress = lambda what, share: None,
) -> dict[str, Any]:
    """Fit on one part with settings the program finds, rank all labels for the points of the other."""
    _check_same_kind(train, test)
    seen = _revealed(train, request)
    base, fixed = _base(train, request)
    _compile()
    started = perf_counter()
    config = search(
        seen.features,
        seen.labels,
        base,
        Budget(perf_counter, request.budget_s),
        fixed=fixed,
        on_trial=lambda share: on_progress("searching", share),
    )
    searched = perf_counter()
    model = LabelModel(config).fit(seen.features, seen.labels)
    fitted = perf_counter()
    found = model.ranked(test.features, max(KS))
    predicted = perf_counter()
    return {
        "model": request.model,
        "n_train": train.labels.n_users,
        "n_test": test.labels.n_users,
        "n_labels": train.labels.n_items,
        **precisions(found, test.labels),
        "fit_seconds": fitted - searched,
        "predict_seconds": predicted - fitted,
        "search_seconds": searched - started,
        "parameters": _parameters(config),
    }


def _check_same_kind(train: LabelledPoints, test: LabelledPoints) -> None:
    for what, one, other in (
        ("features", train.features.shape[1], test.features.shape[1]),
        ("labels", train.labels.n_items, test.labels.n_items),
    ):
        if one != other:
            raise MismatchedFiles(
                f"the training file has {one} {what}, the test file {other}: give two parts of one set"
            )


def _revealed(points: LabelledPoints, request: Request) -> LabelledPoints:
    """Hide a part of the labels, chosen by the seed."""
    if not 0.0 < request.revealed <= 1.0:
        raise ConfigError(f"--revealed must be above 0 and at most 1, not {request.revealed}")
    if request.revealed == 1.0:
        return points
    chance = np.random.default_rng([request.seed, 3]).random(len(points.labels))
    return replace(points, labels=points.labels.keep(chance < request.revealed))


def _base(points: LabelledPoints, request: Request) -> tuple[LabelConfig, frozenset[str]]:
    """Return where the search starts and the names that it leaves alone."""
    start, fixed = _STARTS[request.model]
    affordable = max(MOST_PARAMETERS // points.features.shape[1], 16)
    factors = min(points.labels.n_items, MOST_FACTORS, affordable)
    config = LabelConfig(replace(start, factors=factors, seed=request.seed))
    for name, text in request.given.items():
        if name not in _SETTINGS:
            raise ConfigError(f"--set {name}: no such setting; there are {', '.join(_SETTINGS)}")
        try:
            value = _SETTINGS[name](text)
        except ValueError as error:
            raise ConfigError(f"--set {name}={text}: give a number") from error
        config = set_value(config, name, value)
    return config, fixed | set(request.given)


def _parameters(config: LabelConfig) -> dict[str, Any]:
    return {**asdict(config.model), "landmarks": config.landmarks, "gamma": config.gamma}


def _compile() -> None:
    """Compile all kernels on a tiny data set: seconds are those of the fit."""
    labels = from_pairs(np.array([0, 0, 1]), np.array([0, 1, 1]))
    features = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    model = LabelModel(LabelConfig(OcmfConfig(factors=2, rounds=2))).fit(features, labels)
    model.ranked(features, 1)
