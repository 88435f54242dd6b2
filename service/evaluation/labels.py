"""One evaluation of a label model: from two files of labelled points to a report.

The models are in ``label_models.py``, the command line in ``service/cli/eval/labels.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from core.batch.ocmf.labels import KS, precisions
from core.errors import ConfigError, DataError
from core.search.search import Budget
from service.errors import ServiceError
from service.evaluation.label_models import label_ranker
from service.files.labelled_points import LabelledPoints

OnProgress = Callable[[str, float], None]


class MismatchedFiles(ServiceError):
    """Raised if the two files differ in their numbers of features or labels."""

    status, code = 422, "mismatched_files"


@dataclass(frozen=True)
class LabelOptions:
    """The options of an evaluation."""

    model: str = "ocmf-lr-wsq"
    revealed: float = 1.0
    """Share of the training labels that the model sees."""
    given: dict[str, str] = field(default_factory=dict)
    """Stated settings, which are not searched."""
    budget_s: float = 120.0
    seed: int = 0


def evaluate_labels(
    train: LabelledPoints,
    test: LabelledPoints,
    request: LabelOptions,
    on_progress: OnProgress = lambda what, share: None,
) -> dict[str, Any]:
    """Fit on the training points, rank all labels for the test points, and return the report."""
    _check_same_kind(train, test)
    seen = _revealed(train, request)
    model = label_ranker(request.model, seen, train, request.given, request.seed)
    model.compile()
    started = perf_counter()
    model.search(
        Budget(perf_counter, request.budget_s, lambda share: on_progress("searching", share))
    )
    searched = perf_counter()
    fitted_model = model.fit()
    fitted = perf_counter()
    found = fitted_model.ranked(test.features, max(KS))
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
        "parameters": model.parameters,
    }


def _check_same_kind(train: LabelledPoints, test: LabelledPoints) -> None:
    if len(test.labels) == 0:
        raise DataError("no point of the test file has a label to be found: give at least one")
    for what, one, other in (
        ("features", train.features.shape[1], test.features.shape[1]),
        ("labels", train.labels.n_items, test.labels.n_items),
    ):
        if one != other:
            raise MismatchedFiles(
                f"the training file has {one} {what}, the test file {other}: "
                "give two parts of one set"
            )


def _revealed(points: LabelledPoints, request: LabelOptions) -> LabelledPoints:
    """Return the points with the revealed share of their labels, drawn by the seed."""
    if not 0.0 < request.revealed <= 1.0:
        raise ConfigError(f"--revealed must be above 0 and at most 1, not {request.revealed}")
    if request.revealed == 1.0:
        return points
    chance = np.random.default_rng([request.seed, 3]).random(len(points.labels))
    return replace(points, labels=points.labels.keep(chance < request.revealed))
