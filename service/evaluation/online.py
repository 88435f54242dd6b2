"""One evaluation of the online models: from a request and a file's ratings to a report.

This module maps a request to experts, chooses open parameters and writes the report. The
measurement is in ``core.online.evaluate``, the command line in ``service/cli/eval/online.py``.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import Any, Literal, get_args

import numpy as np

from core.errors import ConfigError
from core.online import evaluate, single_experts
from core.online.config import AggregatorName, OnlineConfig
from core.online.evaluate import OnlineRun, Outputs, RowSplit
from core.online.experts import (
    DEFAULT,
    PAPER_SMALL,
    Expert,
    Init,
    PassiveAggressive,
    Step,
    Variant,
)
from core.online.model import OnlineModel
from core.online.single_experts import Given, Single
from core.rng import id_hashes
from core.scale import Scale
from core.types import F64
from service.files.ratings import Ratings

Model = Literal["nn-apa-m", "nn-apa-u", "nn-apa-diag", "nn-apa-full", "nn-pa", "sgd"]
Experts = Literal["default", "paper"]
Order = Literal["random", "time"]

PAPER_RHO = 0.05
"""Least probability of an update in NN-APA(m); not in the paper. Values of .05 to .2 do alike."""
LARGEST_SEARCH = 100_000
"""Most training ratings that the choice of parameters uses."""
SEARCH_STEPS = 50
"""Number of steps of the progress bar while parameters are chosen."""

OnProgress = Callable[[str, float], None]


@dataclass(frozen=True)
class OnlineOptions:
    """The options of an evaluation."""

    model: Model = "nn-apa-m"
    experts: Experts | None = None
    aggregator: AggregatorName | None = None
    init: Init = "default"
    scale: Scale | None = None
    order: Order = "random"
    test_fraction: float = 0.2
    seed: int = 0
    rank: int = 10
    variant: Variant = "pa2"
    step: Step = "clip"
    given: Given | None = None
    """Stated c, eps and delta of a single model."""


def evaluate_online(
    ratings: Ratings, request: OnlineOptions, on_progress: OnProgress = lambda what, share: None
) -> dict[str, Any]:
    """Learn the training ratings in a single pass, predict the test ratings; return the report."""
    split = _split(ratings, request)
    scale = request.scale or _scale(ratings.rating)
    outside = (ratings.rating < scale.low) | (ratings.rating > scale.high)
    if outside.any():
        found = ratings.rating[outside][0]
        raise ConfigError(f"a rating is {found:g}: give a --scale that holds all ratings")
    config = _config(ratings, split, request, scale, on_progress)
    user_hashes, item_hashes = id_hashes(ratings.user_ids), id_hashes(ratings.item_ids)
    _compile(config)
    run = OnlineRun(OnlineModel(config), user_hashes, item_hashes)
    user_ix, item_ix = ratings.user_ix, ratings.item_ix
    n_train = split.train.size
    train = user_ix[split.train], item_ix[split.train], ratings.rating[split.train]
    started = perf_counter()
    online = run.learn(*train, lambda done: on_progress("learning", done / n_train))
    seconds = perf_counter() - started
    frozen = run.predict(user_ix[split.test], item_ix[split.test])
    report = _report(ratings, split, request, run, online, frozen)
    return report | {"seconds": seconds, "ratings_per_second": n_train / seconds}


def _split(ratings: Ratings, request: OnlineOptions) -> RowSplit:
    if request.order == "random":
        return evaluate.random_split(ratings.rating.size, request.test_fraction, request.seed)
    if ratings.timestamp_ms is None:
        raise ConfigError("--order time needs a column timestamp: add one or use --order random")
    return evaluate.time_split(ratings.timestamp_ms, request.test_fraction)


def _scale(rating: F64) -> Scale:
    if rating.min() == rating.max():
        raise ConfigError(f"all ratings are {rating[0]:g}: give the scale, such as --scale 1:5")
    return Scale(float(rating.min()), float(rating.max()))


def _compile(config: OnlineConfig) -> None:
    """Run every kernel once on a dummy rating, so that ``seconds`` excludes compilation."""
    nobody = np.zeros(1, dtype=np.int64)
    run = OnlineRun(OnlineModel(config), id_hashes(["user"]), id_hashes(["item"]))
    run.learn(nobody, nobody, np.array([config.scale.low]))
    run.predict(nobody, nobody)


# --- which experts -------------------------------------------------------------------------------


def _config(
    ratings: Ratings, split: RowSplit, request: OnlineOptions, scale: Scale, on_progress: OnProgress
) -> OnlineConfig:
    # clipping is off only to reproduce the paper
    common = OnlineConfig(scale=scale, seed=request.seed, clip=request.init != "paper")
    if request.model in get_args(Single):
        expert = _single(ratings, split, request, common, on_progress)
        return replace(common, experts=(expert,), aggregator=request.aggregator or "uniform")
    if request.given:
        raise ConfigError(
            f"{request.model} is a set of experts: c, eps and delta are for nn-apa-diag, "
            "nn-apa-full, nn-pa and sgd"
        )
    return _set_of_experts(request, common)


def _set_of_experts(request: OnlineOptions, common: OnlineConfig) -> OnlineConfig:
    uniform = request.model == "nn-apa-u"
    paper = request.experts == "paper" or (
        request.experts is None and (uniform or request.init == "paper")
    )
    if request.init == "paper" and not paper:
        raise ConfigError("--init paper reproduces the paper: use it with --experts paper")
    experts: tuple[Expert, ...] = PAPER_SMALL if paper else DEFAULT
    if request.init == "paper":
        experts = tuple(
            replace(expert, init="paper", eps=0.0, delta=0.01)
            for expert in experts
            if isinstance(expert, PassiveAggressive)
        )
    usual: AggregatorName = "uniform" if uniform else "hedge" if paper else "stack"
    chosen = request.aggregator or usual
    if paper and chosen == "hedge":
        return replace(common, experts=experts, aggregator=chosen, rho=PAPER_RHO, share=0.0)
    return replace(common, experts=experts, aggregator=chosen)


def _single(
    ratings: Ratings,
    split: RowSplit,
    request: OnlineOptions,
    common: OnlineConfig,
    on_progress: OnProgress,
) -> PassiveAggressive:
    """Return the expert; with --init paper, choose its open parameters on the training ratings."""
    name: Single = request.model  # type: ignore[assignment]  # checked by the caller
    given = request.given or Given()
    if request.init == "default":
        return single_experts.single(
            name, rank=request.rank, variant=request.variant, step=request.step, given=given
        )
    tried = single_experts.candidates(
        name, rank=request.rank, variant=request.variant, step=request.step, given=given
    )
    if len(tried) == 1:
        return tried[0]
    config = replace(common, experts=tried, aggregator="uniform")
    run = OnlineRun(OnlineModel(config), id_hashes(ratings.user_ids), id_hashes(ratings.item_ids))
    rows = split.train[:LARGEST_SEARCH]
    total = np.zeros(len(tried))
    for done, part in enumerate(np.array_split(rows, SEARCH_STEPS), 1):
        rating = ratings.rating[part]
        outputs = run.learn(ratings.user_ix[part], ratings.item_ix[part], rating, with_parts=True)
        total += np.abs(outputs.parts - rating[:, None]).sum(axis=0)
        on_progress("choosing parameters", done / SEARCH_STEPS)
    return tried[int(total.argmin())]


# --- the report ----------------------------------------------------------------------------------


def _report(
    ratings: Ratings,
    split: RowSplit,
    request: OnlineOptions,
    run: OnlineRun,
    online: Outputs,
    frozen: Outputs,
) -> dict[str, Any]:
    trained, tested = ratings.rating[split.train], ratings.rating[split.test]
    user_events = np.bincount(ratings.user_ix[split.train], minlength=len(ratings.user_ids))
    item_events = np.bincount(ratings.item_ix[split.train], minlength=len(ratings.item_ids))
    classes = evaluate.coverage_by_class(
        frozen,
        tested,
        user_events[ratings.user_ix[split.test]],
        item_events[ratings.item_ix[split.test]],
    )
    return {
        "model": request.model,
        "n_train": int(split.train.size),
        "n_test": int(split.test.size),
        "train_mae": evaluate.mae(online.rating, trained),
        "test_mae": evaluate.mae(frozen.rating, tested),
        "test_rmse": evaluate.rmse(frozen.mean, tested),
        "coverage80": evaluate.covered(frozen.low, frozen.high, tested),
        "coverage80_by_class": [asdict(one) for one in classes],
        "experts": _experts(run.model, frozen, tested),
    }


def _experts(model: OnlineModel, frozen: Outputs, tested: F64) -> list[dict[str, Any]]:
    rows = []
    for number, (expert, one) in enumerate(zip(model.config.experts, model.experts(), strict=True)):
        row = {
            "name": one.name,
            "rank": one.rank,
            "c": one.c,
            "weight": one.weight,
            "part": one.part,
            "mae": evaluate.mae(frozen.parts[:, number], tested),
            "updates": one.updates,
        }
        if isinstance(expert, PassiveAggressive):
            row |= {"eps": expert.eps, "delta": expert.delta}
        rows.append(row)
    return rows
