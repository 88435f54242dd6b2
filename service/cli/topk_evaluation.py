"""One evaluation of a ranking model: from two files of pairs to a report.

Owns how the files become interactions, which model a name means, and the report; the command line is ``evaluate_topk.py``'s.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from time import perf_counter
from typing import Any, Literal

import numpy as np

from core import ranking_metrics
from core.batch import fbgd_search, ocmf_search
from core.batch.fbgd import Fbgd, FbgdConfig
from core.batch.ocmf import Ocmf, OcmfConfig
from core.batch.popularity import Popular
from core.batch.ranker import Ranker, rank
from core.batch.search import Budget
from core.errors import ConfigError
from core.interactions import Interactions, from_pairs
from core.types import I32
from service.ratings_file import Ratings

Model = Literal["fbgd", "ocmf-lr-wsq", "ocmf-sq-wsq", "ocmf-sq-sq", "popular"]

OnProgress = Callable[[str, float], None]


@dataclass(frozen=True)
class Request:
    """What to evaluate; as the options of the command."""

    model: Model = "fbgd"
    ks: tuple[int, ...] = (10, 20)
    given: dict[str, str] = field(default_factory=dict)
    """Settings that are not searched."""
    budget_s: float = 120.0
    seed: int = 0


@dataclass(frozen=True)
class Fitted:
    """A model with how it came about."""

    model: Ranker
    parameters: dict[str, Any] = field(default_factory=dict)
    epochs: int = 0
    search_seconds: float = 0.0
    fit_seconds: float = 0.0


@dataclass(frozen=True)
class Pairs:
    """Training and test part with the same users; test items that training lacks have the highest numbers."""

    train: Interactions
    test: Interactions


def evaluate_topk(
    train: Ratings,
    test: Ratings,
    request: Request,
    on_progress: OnProgress = lambda what, share: None,
) -> dict[str, Any]:
    """Fit on one file, rank all its items for the users of the other; return the report."""
    pairs = joined(train, test)
    _compile(request.model)
    fitted = _FITS[request.model](pairs.train, request, on_progress)
    users = np.flatnonzero(pairs.test.user_counts)
    found = ranking_metrics.hits(
        ranked_for(fitted.model, pairs.train, users, max(*request.ks, 10)), pairs.test.rows(users)
    )
    return {
        "model": request.model,
        "n_users": int(users.size),
        **ranking_metrics.means(found, request.ks),
        "search_seconds": fitted.search_seconds,
        "fit_seconds": fitted.fit_seconds,
        "epochs": fitted.epochs,
        "parameters": fitted.parameters,
    }


def joined(train: Ratings, test: Ratings) -> Pairs:
    """Number users and items of both files; every row is a positive, once for each pair."""
    users = {user: ix for ix, user in enumerate(train.user_ids)}
    items = {item: ix for ix, item in enumerate(train.item_ids)}
    user_ix = [users.setdefault(user, len(users)) for user in test.user_ids]
    item_ix = [items.setdefault(item, len(items)) for item in test.item_ids]
    n_users = len(users)
    return Pairs(
        from_pairs(
            train.user_ix,
            train.item_ix,
            n_users=n_users,
            n_items=len(train.item_ids),
            time=train.timestamp_ms,
        ),
        from_pairs(
            np.array(user_ix, np.int64)[test.user_ix],
            np.array(item_ix, np.int64)[test.item_ix],
            n_users=n_users,
            n_items=len(items),
        ),
    )


def ranked_for(
    model: Ranker, train: Interactions, users: "np.typing.NDArray[np.int64]", k: int
) -> I32:
    """Return the lists that these users are served: by fold-in; users without pairs get the popular items."""
    rows = train.rows(users)
    ids, _ = rank(model.user_vectors(rows), model.item_factors, rows, k)
    cold = rows.user_counts == 0
    if cold.any():
        popular = Popular().fit(train)
        nobody = rows.rows(np.flatnonzero(cold))
        ids[cold] = rank(popular.user_vectors(nobody), popular.item_factors, nobody, k)[0]
    return ids


# --- models ---------------------------------------------------------------------------------------


def _fit_popular(train: Interactions, request: Request, on_progress: OnProgress) -> Fitted:
    _settings(request.given, ())
    started = perf_counter()
    model = Popular().fit(train)
    return Fitted(model, fit_seconds=perf_counter() - started)


def _fit_fbgd(train: Interactions, request: Request, on_progress: OnProgress) -> Fitted:
    names = tuple(field.name for field in fields(FbgdConfig))
    given = _settings(request.given, names)
    started = perf_counter()
    config = fbgd_search.search(
        train,
        replace(FbgdConfig(seed=request.seed), **given),
        Budget(perf_counter, request.budget_s),
        fixed=frozenset(given),
        on_trial=lambda share: on_progress("searching", share),
    )
    searched = perf_counter()
    model = Fbgd(config).fit(train)
    fitted = perf_counter()
    parameters = {name: getattr(config, name) for name in names}
    return Fitted(model, parameters, model.epochs, searched - started, fitted - searched)


def _fit_ocmf(train: Interactions, request: Request, on_progress: OnProgress) -> Fitted:
    names = ("factors", "weight", "target", "reg", "reg_item", "nu", "rounds")
    start = replace(_OCMF[request.model], seed=request.seed)
    given = _settings(request.given, names)
    own = {"weight"} if request.model == "ocmf-sq-sq" else set()
    started = perf_counter()
    config = ocmf_search.search(
        train,
        replace(start, **given),
        Budget(perf_counter, request.budget_s),
        fixed=frozenset(given) | own,
        on_trial=lambda share: on_progress("searching", share),
    )
    searched = perf_counter()
    model = Ocmf(config).fit(train)
    fitted = perf_counter()
    parameters = {name: getattr(config, name) for name in names}
    return Fitted(model, parameters, model.rounds, searched - started, fitted - searched)


_OCMF: dict[Model, OcmfConfig] = {
    "ocmf-lr-wsq": OcmfConfig(loss="logistic"),
    "ocmf-sq-wsq": OcmfConfig(loss="square"),
    "ocmf-sq-sq": OcmfConfig(loss="square", weight=1.0),
}
_FITS: dict[Model, Callable[[Interactions, Request, OnProgress], Fitted]] = {
    "fbgd": _fit_fbgd,
    "popular": _fit_popular,
    **dict.fromkeys(_OCMF, _fit_ocmf),
}


def _settings(given: dict[str, str], names: tuple[str, ...]) -> dict[str, Any]:
    """Turn ``--set`` texts into numbers."""
    settings: dict[str, Any] = {}
    for name, text in given.items():
        if name not in names:
            known = ", ".join(names) or "none"
            raise ConfigError(f"--set {name}: this model has no such setting; it has {known}")
        try:
            settings[name] = int(text) if text.lstrip("-").isdigit() else float(text)
        except ValueError as error:
            raise ConfigError(f"--set {name}={text}: give a number") from error
    return settings


def _compile(model: Model) -> None:
    """Compile the model's kernels on a tiny data set: seconds are those of the fit."""
    tiny = from_pairs(np.array([0, 0, 1]), np.array([0, 1, 1]))
    fitted: Ranker = Fbgd(FbgdConfig(factors=2, epochs=1)).fit(tiny)
    if model in _OCMF:
        fitted = Ocmf(replace(_OCMF[model], factors=2, rounds=2)).fit(tiny)
    fitted.recommend(0, tiny, 1)
