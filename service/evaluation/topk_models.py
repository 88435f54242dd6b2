"""The ranking models of ``hedgerow eval topk``: from a name and the training part to a fitted model."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from time import perf_counter
from typing import Any, Literal, cast, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from core.batch.contexts import search as context_search
from core.batch.contexts.config import KINDS, ContextConfig, DescentConfig, with_settings
from core.batch.contexts.ranker import ContextRanker
from core.batch.fbgd import search as fbgd_search
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.feature_use import FittedWay, Known, Use, Way, choose, fit_way
from core.batch.ocmf.graph import similarity
from core.batch.ocmf.model import Ocmf
from core.batch.popularity import Popular
from core.batch.shrinkage import choose_draw, without_draw
from core.errors import ConfigError
from core.interactions import Interactions, from_pairs
from core.search.search import Budget
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

MOST_FACTORS = 8_192
"""More need too much memory."""
OnProgress = Callable[[str, float], None]
Bools = NDArray[np.bool_]
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
    knows: Bools | None = None
    """(users,): who has a vector that says something even without pairs; None: nobody."""
    tried: list[dict[str, Any]] = field(default_factory=list)
    """What was known of users beside their pairs, used in several ways, and what each scored on validation."""


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
        without_draw(Budget(perf_counter, request.budget_s), given),
        fixed=frozenset(given),
        on_trial=lambda share: on_progress("searching", share),
    )
    if "draw" not in given and request.budget_s > 0.0:
        chosen = choose_draw(
            world.pairs,
            lambda part: Fbgd(config).fit(part).fitted,
            seed=request.seed,
            otherwise=config.draw,
        )
        config = replace(config, draw=chosen)
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
        with_settings(start, given),
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
    use = _use(given.pop("features", None), world)
    if given.get("graph") and world.links is None:
        raise ConfigError("--set graph says how strong links are: give --graph, too")
    own = {"weight"} if request.model == "ocmf-sq-sq" else set()
    pairs = world.pairs
    similar = None if world.links is None else similarity(world.links, pairs.n_users)
    known = Known(world.user_features, similar)
    started = perf_counter()
    way, tried = choose(
        pairs,
        replace(_OCMF[request.model], seed=request.seed, **given),
        without_draw(Budget(perf_counter, request.budget_s), given),
        known,
        use=use,
        fixed=frozenset(given) | own,
        on_trial=lambda share: on_progress("searching", share),
    )
    if "draw" not in given and request.budget_s > 0.0 and way.use != "made":
        way = replace(way, config=replace(way.config, draw=_draw(pairs, way.config)))
    searched = perf_counter()
    found = fit_way(pairs, way, known)
    fitted = perf_counter()
    vectors, item_factors = _answers(found, pairs, known)
    return Fitted(
        vectors,
        item_factors,
        _said(way, known, _NAMES[request.model]),
        found.model.rounds,
        searched - started,
        fitted - searched,
        _knows(pairs, known, found),
        [_said(one.way, known, ("graph",)) | {"ndcg@20": one.score} for one in tried],
    )


def _use(text: str | None, world: World) -> Use | None:
    """Return what ``--set features=`` says; None leaves it to validation."""
    if text is None:
        return None
    if text not in get_args(Use):
        known = ", ".join(get_args(Use))
        raise ConfigError(f"--set features={text}: give one of {known}")
    if world.user_features is None:
        raise ConfigError("--set features says how to use a file of features: give --users, too")
    return cast(Use, text)


def _draw(pairs: Interactions, config: OcmfConfig) -> float:
    alone = replace(config, graph=0.0)
    return choose_draw(pairs, lambda part: Ocmf(alone).fit(part).row_objective, seed=config.seed)


def _said(way: Way, known: Known, names: tuple[str, ...]) -> dict[str, Any]:
    """Return those of the named settings that mean something for these files, as ``--set`` takes them."""
    unused = {"features"} if known.similar is not None else {"features", "graph"}
    told = {} if way.use is None else {"features": way.use}
    settings = {name: getattr(way.config, name) for name in names if name not in unused}
    return told | {name: value for name, value in settings.items() if value is not None}


def _answers(found: FittedWay, pairs: Interactions, known: Known) -> tuple[Vectors, F32]:
    """Return users by their pairs and by what else is known of them, and the items in the same basis."""
    row = found.users.row
    if known.features is None and not found.users.link:
        # all rows at once where these are what serves
        if row.draw == 0.0:
            return _folded(found.model.user_vectors), found.model.item_factors
        return _folded(row.vectors), row.item_factors
    every = found.vectors(pairs, known)
    return lambda asked, rows: every[asked], row.item_factors


def _knows(pairs: Interactions, known: Known, found: FittedWay) -> Bools:
    """Tell of which users the vectors say something even without pairs."""
    if known.features is not None:
        return np.ones(pairs.n_users, np.bool_)
    if known.similar is None or not found.users.link:
        return np.zeros(pairs.n_users, np.bool_)
    friends: Any = known.similar @ (pairs.user_counts > 0).astype(np.float32)
    some: Bools = friends > 0
    return some


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
_WHOLE = frozenset({"factors", "rounds", "epochs", "steps", "seed"})
_OF_OCMF = (
    "factors",
    "weight",
    "target",
    "reg",
    "reg_item",
    "nu",
    "graph",
    "rounds",
    "draw",
    "solver",
)
_TEXTS = frozenset({"optimiser", "features", "solver"})
_NAMES: dict[Model, tuple[str, ...]] = {
    "fbgd": tuple(one.name for one in fields(FbgdConfig)),
    "popular": (),
    **dict.fromkeys(KINDS, ("factors", *_OF_DESCENT)),
    **dict.fromkeys(_OCMF, (*_OF_OCMF, "features")),
    # a weight of 1 is what makes it this model
    "ocmf-sq-sq": (*(name for name in _OF_OCMF if name != "weight"), "features"),
}


def _settings(request: Request) -> dict[str, Any]:
    """Turn ``--set`` texts into settings of the model."""
    settings: dict[str, Any] = {}
    for name, text in request.given.items():
        if name not in _NAMES[request.model]:
            known = ", ".join(_NAMES[request.model]) or "none"
            raise ConfigError(f"--set {name}: this model has no such setting; it has {known}")
        if name in _TEXTS:
            settings[name] = text
            continue
        settings[name] = _number(name, text)
    return settings


def _number(name: str, text: str) -> float:
    """Return what a text says; ConfigError where the setting is another kind of number."""
    try:
        number = int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError as error:
        raise ConfigError(f"--set {name}={text}: give a number") from error
    if name in _WHOLE and not isinstance(number, int):
        raise ConfigError(f"--set {name}={text}: give a whole number")
    if name == "factors" and number > MOST_FACTORS:
        raise ConfigError(f"--set factors={text}: give at most {MOST_FACTORS}")
    return number
