"""The ranking models of ``hedgerow eval topk``: from a name and the training part to a fitted model."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from time import perf_counter
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from core.batch import context_search, fbgd_search, ocmf_search
from core.batch.context_ranker import KINDS, ContextConfig, ContextRanker
from core.batch.descent import DescentConfig
from core.batch.fbgd import Fbgd, FbgdConfig
from core.batch.features import FeatureMap
from core.batch.graph import similarity
from core.batch.ocmf import Ocmf, OcmfConfig
from core.batch.ocmf_users import users_of
from core.batch.popularity import Popular
from core.batch.search import Budget
from core.errors import ConfigError
from core.interactions import Interactions, from_pairs
from core.types import F32, I64

Model = Literal[
    "fbgd",
    "mf",
    "svdfeature",
    "pitf",
    "cp",
    "ocmf-lr-wsq",
    "ocmf-sq-wsq",
    "ocmf-sq-sq",
    "popular",
]

OnProgress = Callable[[str, float], None]
Vectors = Callable[[I64, Interactions], F32]
"""Numbers of users and their training rows -> their vectors."""


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
class World:
    """What a model may learn from."""

    pairs: Interactions
    user_features: sp.csr_array | None = None
    item_features: sp.csr_array | None = None
    links: I64 | None = None


@dataclass(frozen=True)
class Fitted:
    """A model with how it came about."""

    vectors: Vectors
    item_factors: F32
    parameters: dict[str, Any] = field(default_factory=dict)
    epochs: int = 0
    search_seconds: float = 0.0
    fit_seconds: float = 0.0
    knows_cold: bool = False
    """Whether users without pairs have vectors that say something."""


def fit(world: World, request: Request, on_progress: OnProgress) -> Fitted:
    """Choose the settings and fit; ConfigError where the model cannot use what is given."""
    _check_use(world, request.model)
    return _FITS[request.model](world, request, on_progress)


def compile_kernels(model: Model) -> None:
    """Compile the model's kernels on a tiny data set: seconds are those of the fit."""
    users, items = np.array([0, 0, 1]), np.array([0, 1, 1])
    tiny = World(from_pairs(users, items, time=users))
    given: dict[str, str] = {n: "1" for n in ("rounds", "epochs") if n in _NAMES[model]}
    fitted = fit(tiny, Request(model, given=given, budget_s=0.0), lambda what, share: None)
    fitted.vectors(np.arange(2), tiny.pairs)


def _check_use(world: World, model: Model) -> None:
    """Refuse files that the model would leave aside without a word."""
    structured = model.startswith("ocmf")
    for option, given, used in (
        ("--users", world.user_features, structured),
        ("--graph", world.links, structured),
        ("--items", world.item_features, model == "svdfeature"),
    ):
        if given is not None and not used:
            other = "svdfeature" if option == "--items" else "the ocmf models"
            raise ConfigError(f"{option} is of no use to {model}: leave it out, or use {other}")


def _fit_popular(world: World, request: Request, on_progress: OnProgress) -> Fitted:
    _settings(request)
    started = perf_counter()
    model = Popular().fit(world.pairs)
    seconds = perf_counter() - started
    return Fitted(_folded(model.user_vectors), model.item_factors, fit_seconds=seconds)


def _fit_fbgd(world: World, request: Request, on_progress: OnProgress) -> Fitted:
    given = _settings(request)
    started = perf_counter()
    config = fbgd_search.search(
        world.pairs,
        replace(FbgdConfig(seed=request.seed), **given),
        Budget(perf_counter, request.budget_s),
        fixed=frozenset(given),
        on_trial=lambda share: on_progress("searching", share),
    )
    searched = perf_counter()
    model = Fbgd(config).fit(world.pairs)
    fitted = perf_counter()
    parameters = {name: getattr(config, name) for name in _NAMES["fbgd"]}
    return Fitted(
        _folded(model.user_vectors),
        model.item_factors,
        parameters,
        model.epochs,
        searched - started,
        fitted - searched,
    )


def _fit_contexts(world: World, request: Request, on_progress: OnProgress) -> Fitted:
    given = _settings(request)
    start = ContextConfig(request.model, descent=DescentConfig(seed=request.seed))  # type: ignore[arg-type]  # one of KINDS
    started = perf_counter()
    config = context_search.search(
        world.pairs,
        context_search.with_settings(start, given),
        Budget(perf_counter, request.budget_s),
        item_features=world.item_features,
        fixed=frozenset(given),
        on_trial=lambda share: on_progress("searching", share),
    )
    searched = perf_counter()
    model = ContextRanker(config).fit(world.pairs, item_features=world.item_features)
    fitted = perf_counter()
    known = vars(config.descent) | {"factors": config.factors}
    return Fitted(
        model.asked_vectors,
        model.item_factors,
        {name: known[name] for name in _NAMES[request.model]},
        model.epochs,
        searched - started,
        fitted - searched,
    )


def _fit_ocmf(world: World, request: Request, on_progress: OnProgress) -> Fitted:
    given = _settings(request)
    own = {"weight"} if request.model == "ocmf-sq-sq" else set()
    pairs = world.pairs
    similar = None if world.links is None else similarity(world.links, pairs.n_users)
    started = perf_counter()
    config = ocmf_search.search(
        pairs,
        replace(_OCMF[request.model], seed=request.seed, **given),
        Budget(perf_counter, request.budget_s),
        similar=similar,
        features=world.user_features,
        fixed=frozenset(given) | own,
        on_trial=lambda share: on_progress("searching", share),
    )
    searched = perf_counter()
    feature_map = FeatureMap()
    known = None if world.user_features is None else feature_map.transform(world.user_features)
    model = Ocmf(config).fit(pairs, graph=similar, features=known)
    fitted = perf_counter()
    names = [name for name in _NAMES[request.model] if similar is not None or name != "graph"]
    vectors, item_factors = _structured(model, feature_map, world, similar)
    return Fitted(
        vectors,
        item_factors,
        {name: getattr(config, name) for name in names},
        model.rounds,
        searched - started,
        fitted - searched,
        knows_cold=known is not None,
    )


def _structured(
    model: Ocmf, feature_map: FeatureMap, world: World, similar: Any
) -> tuple[Vectors, F32]:
    """Return users by their pairs and by what else is known of them, and the items in the same basis."""
    if similar is None and world.user_features is None:
        return _folded(model.user_vectors), model.item_factors
    users = users_of(model, feature_map)
    features = world.user_features
    described = None if features is None else users.described(features)
    every = users.vectors(world.pairs, described=described, similar=similar)
    return lambda asked, rows: every[asked], users.row.item_factors


def _folded(user_vectors: Callable[[Interactions], F32]) -> Vectors:
    """Return vectors that know the rows alone."""
    return lambda users, rows: user_vectors(rows)


_OCMF: dict[Model, OcmfConfig] = {
    "ocmf-lr-wsq": OcmfConfig(loss="logistic"),
    "ocmf-sq-wsq": OcmfConfig(loss="square"),
    "ocmf-sq-sq": OcmfConfig(loss="square", weight=1.0),
}
_FITS: dict[Model, Callable[[World, Request, OnProgress], Fitted]] = {
    "fbgd": _fit_fbgd,
    "popular": _fit_popular,
    **dict.fromkeys(KINDS, _fit_contexts),
    **dict.fromkeys(_OCMF, _fit_ocmf),
}
_OF_DESCENT = tuple(one.name for one in fields(DescentConfig) if one.name != "seed")
_NAMES: dict[Model, tuple[str, ...]] = {
    "fbgd": tuple(one.name for one in fields(FbgdConfig)),
    "popular": (),
    **dict.fromkeys(KINDS, ("factors", *_OF_DESCENT)),
    **dict.fromkeys(
        _OCMF, ("factors", "weight", "target", "reg", "reg_item", "nu", "graph", "rounds")
    ),
}


def _settings(request: Request) -> dict[str, Any]:
    """Turn ``--set`` texts into settings of the model."""
    settings: dict[str, Any] = {}
    for name, text in request.given.items():
        if name not in _NAMES[request.model]:
            known = ", ".join(_NAMES[request.model]) or "none"
            raise ConfigError(f"--set {name}: this model has no such setting; it has {known}")
        if name == "optimiser":
            settings[name] = text
            continue
        try:
            settings[name] = int(text) if text.lstrip("-").isdigit() else float(text)
        except ValueError as error:
            raise ConfigError(f"--set {name}={text}: give a number") from error
    return settings
