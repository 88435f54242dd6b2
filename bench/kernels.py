"""Kernels section of the speed bench: the learning loop in one thread, beside river's BiasedMF."""

import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median

import numpy as np

from bench import rivals
from bench.data import Ratings
from bench.report import Figure
from core.online.config import OnlineConfig
from core.online.evaluate import OnlineRun
from core.online.experts import DEFAULT, PAPER_SMALL, Expert, PassiveAggressive
from core.online.model import OnlineModel
from core.online.tables import RatingRows
from core.rng import id_hashes
from core.scale import Scale
from service.evaluation.online import PAPER_RHO

SECTION = "Kernels, one thread"
CHUNK = 1 << 16
ROUNDS = 3


def config(ratings: Ratings, experts: tuple[Expert, ...], **options: object) -> OnlineConfig:
    """Return a configuration on the scale of the ratings."""
    return OnlineConfig(experts=experts, scale=Scale(ratings.low, ratings.high), **options)  # type: ignore[arg-type]


def learn_seconds(settings: OnlineConfig, ratings: Ratings) -> float:
    """Learn every rating once from fresh rows; return the seconds of learning alone."""
    model = OnlineModel(settings)
    run = OnlineRun(model, id_hashes(ratings.user_ids), id_hashes(ratings.item_ids))
    sequence = np.arange(1, len(ratings) + 1)
    started = time.perf_counter()
    for first in range(0, len(ratings), CHUNK):
        part = slice(first, first + CHUNK)
        model.learn(
            run.users,
            run.items,
            RatingRows(
                ratings.user[part], ratings.item[part], ratings.rating[part], sequence[part]
            ),
        )
    return time.perf_counter() - started


def river_seconds(ratings: Ratings) -> float:
    """Return river's seconds to predict and learn, including its id lookup in Python."""
    columns = ratings.user.tolist(), ratings.item.tolist(), ratings.rating.tolist()
    model = rivals.new_river(seed=0)
    started = time.perf_counter()
    rivals.river_stream(model, *columns)
    return time.perf_counter() - started


def alternate(rounds: int, *measures: Callable[[], float]) -> list[float]:
    """Run the measures alternately, ``rounds`` times; return the median of each."""
    taken = [[measure() for measure in measures] for _ in range(rounds)]
    return [median(column) for column in zip(*taken, strict=True)]


def figures(ratings: Ratings, *, quick: bool) -> list[Figure]:
    """Measure all figures of this section on ``ratings`` in their order."""
    n = len(ratings)
    default = config(ratings, DEFAULT)
    # as `eval online --experts paper`
    paper = config(ratings, PAPER_SMALL, aggregator="hedge", rho=PAPER_RHO, share=0.0)
    paper_all = replace(paper, rho=None)
    full = config(ratings, (PassiveAggressive(metric="full", rank=10, c=0.05),), aggregator="hedge")
    compiling = ratings.rows(np.arange(min(n, 1000)))
    for settings in (default, paper, full):
        learn_seconds(settings, compiling)
    rounds = 1 if quick else ROUNDS
    ours, river, sampled, all_learn = alternate(
        rounds,
        lambda: learn_seconds(default, ratings),
        lambda: river_seconds(ratings),
        lambda: learn_seconds(paper, ratings),
        lambda: learn_seconds(paper_all, ratings),
    )
    full_s = learn_seconds(full, ratings)
    million = 1_000_209 / n  # the bar speaks of the whole of ML-1M

    def rate(what: str, seconds: float, bar: float | None = None) -> Figure:
        return Figure(SECTION, what, n / seconds / 1e6, "M ratings/s", bar, "higher")

    return [
        rate("15 paper experts, Hedge, sampled updates (NN-APA(m))", sampled, bar=0.8),
        rate("15 paper experts, Hedge, every expert learns", all_learn),
        rate("default set with stack and intervals", ours),
        rate("river BiasedMF, rank 10", river),
        Figure(SECTION, "default set : river", river / ours, "times", 8.0, "higher"),
        Figure(SECTION, "full matrix, rank 10, all of ML-1M", full_s * million, "s", 20.0),
    ]
