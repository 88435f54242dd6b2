"""NN-APA: Tables 2 and 3, the claims that the paper draws from them, and NN-APA(u).

Streams are random permutations: 80 % are learned once, in order, then 20 % are predicted. Every
method has as many settings to choose from. Those with the least error in the last quarter of (the
first ratings of) the first stream are used for all permutations; the error over the whole stream
would prefer steps that are too long, which cost the rivals up to .06.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import median

import numpy as np

from bench import data
from bench.data import Ratings
from bench.papers import nn_apa_figures
from bench.papers.charts import Chart
from bench.papers.intervals import Estimate, of_splits
from bench.papers.nn_apa_published import EXPERTS_TEST, EXPERTS_TRAIN, MISSING, TEST, TRAIN
from bench.papers.online_pass import Passed, Stream, learned, multi_task, sampled_losses
from bench.papers.rows import Cell, Row
from core.online.experts import PAPER_SMALL, PassiveAggressive
from core.types import F64

PAPER = "NN-APA"
TEST_SHARE = 0.2
CS = (0.01, 0.02, 0.05, 0.1, 0.3, 1.0, 10.0)
EPS = (0.0, 0.1, 0.5)
DELTAS = (0.01, 0.1, 1.0)
RATES = tuple(np.geomspace(0.005, 0.08, 7).tolist())
COUPLINGS = (0.1, 1.0, 10.0)
RHO = 0.05
"""NN-APA(m)'s least chance of an update; the paper states none."""
EXPERT_DELTA = 0.1
SIMPLE, ADAPTIVE = ("SGD", "NN-PA", "OMTCF"), ("NN-APA diag", "NN-APA full")
UNIFORM, HEDGED = "NN-APA(u)", "NN-APA(m)"


@dataclass(frozen=True)
class Plan:
    """How much is run."""

    permutations: int = 10
    ranks: tuple[int, ...] = (5, 10, 15)
    settings: int = 21
    tuned_on: int = 40_000
    """Ratings of the stream on which settings are judged."""
    most: int = 2_000_000
    """Ratings of a permutation that are used, the test part included."""


FULL = {
    "ML-100K": Plan(),
    "FilmTrust": Plan(),
    "Jester": Plan(permutations=5, most=250_000),
    "ML-1M": Plan(permutations=3, tuned_on=100_000),
}
QUICK = {
    "ML-100K": Plan(permutations=3, settings=9),
    "FilmTrust": Plan(permutations=3, settings=9),
}

Setting = tuple[float, float]


def measured(quick: bool) -> Iterator[Row | Chart]:
    """Yield all rows and charts of the paper, the data sets of its own first."""
    for name, plan in (QUICK if quick else FULL).items():
        data.require(name)
        yield from of_set(data.read(name), plan)
    yield from nn_apa_figures.topics("ML-1M" if not quick else "ML-100K")
    for name in MISSING:
        cell = Cell(PAPER, "Tables 2 and 3", name, "all methods", "test MAE")
        yield cell.quoted(None, "the data are not at hand")


def streams(ratings: Ratings, permutations: int, most: int = Plan.most) -> list[Stream]:
    """Return random permutations of at most so many ratings, a fifth of each for the test."""
    made = []
    for seed in range(permutations):
        order = np.random.default_rng([seed, 7]).permutation(len(ratings))[:most]
        cut = round(len(order) * (1.0 - TEST_SHARE))
        made.append(Stream(ratings.rows(order[:cut]), ratings.rows(order[cut:]), seed))
    return made


def settings_of(method: str) -> list[Setting]:
    """Return the 21 settings of a method: two numbers each."""
    match method:
        case "SGD":
            return list(product(RATES, EPS))
        case "NN-PA":
            return list(product(CS, EPS))
        case "OMTCF":
            return list(product(RATES, COUPLINGS))
        case _:
            return list(product(CS, DELTAS))


def expert(method: str, rank: int, setting: Setting) -> PassiveAggressive:
    """Return a method with a setting as an expert that begins as in the paper."""
    c, second = setting
    base = PassiveAggressive(rank=rank, c=c, eps=0.0, init="paper")
    match method:
        case "SGD":
            return replace(base, metric="sgd", eps=second)
        case "NN-PA":
            return replace(base, metric="identity", eps=second)
        case "NN-APA full":
            return replace(base, metric="full", delta=second)
        case _:
            return replace(base, metric="diag", delta=second)


def passed(stream: Stream, method: str, rank: int, setting: Setting) -> Passed:
    """Let one method with one setting learn the stream."""
    if method == "OMTCF":
        return multi_task(stream, rank, *setting)
    return learned(stream, [expert(method, rank, setting)])


def tuned(stream: Stream, method: str, rank: int, n: int) -> Setting:
    """Return the setting with the least error at the end of the stream, of n spread over all."""
    every = settings_of(method)
    some = [every[at] for at in np.unique(np.linspace(0, len(every) - 1, n).round()).astype(int)]
    if method == "OMTCF":
        errors = [float(multi_task(stream, rank, *one).late_mae()[0]) for one in some]
    else:
        side_by_side = learned(stream, [expert(method, rank, one) for one in some])
        errors = side_by_side.late_mae().tolist()
    return some[int(np.argmin(errors))]


Runs = Mapping[tuple[str, int], Sequence[Passed]]
"""The passes of a method at a rank, one for each permutation; rank 0: several experts."""


def of_set(ratings: Ratings, plan: Plan) -> Iterator[Row | Chart]:
    """Yield the rows and charts of one data set."""
    parts = streams(ratings, plan.permutations, plan.most)
    chosen = {
        (method, rank): tuned(parts[0].first(plan.tuned_on), method, rank, plan.settings)
        for method in (*SIMPLE, *ADAPTIVE)
        for rank in plan.ranks
    }
    errors = Errors(ratings.name)
    kept: dict[str, Passed] = {}
    for stream in parts:
        for (method, rank), setting in chosen.items():
            run = passed(stream, method, rank, setting)
            errors.add(method, rank, run)
            if stream is parts[0] and rank == plan.ranks[-1]:
                kept[method] = run
        for method, run in mixtures(stream).items():
            errors.add(method, 0, run)
            kept.setdefault(method, run)
    yield from errors.rows(chosen)
    yield from errors.claims(plan.ranks)
    yield from nn_apa_figures.online(ratings.name, plan.ranks[-1], kept)
    yield from nn_apa_figures.sensitivity(parts, chosen, plan.ranks[-1])
    yield from uniform_explained(parts)


def small_experts(delta: float = EXPERT_DELTA) -> list[PassiveAggressive]:
    """Return the paper's 15 experts as they begin in the paper."""
    return [
        replace(one, eps=0.0, delta=delta, init="paper")
        for one in PAPER_SMALL
        if isinstance(one, PassiveAggressive)
    ]


def mixtures(stream: Stream) -> dict[str, Passed]:
    """Return NN-APA(u), NN-APA(m) and NN-APA(m) as its algorithm is printed."""
    return {
        UNIFORM: learned(stream, small_experts()).uniform(),
        HEDGED: learned(stream, small_experts(), RHO).hedged(),
        f"{HEDGED}, losses of the drawn experts alone": sampled_losses(
            stream, small_experts(), RHO
        ),
    }


class Errors:
    """The errors and times of all passes on one data set."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._train: dict[tuple[str, int], list[float]] = {}
        self._test: dict[tuple[str, int], list[float]] = {}
        self._seconds: dict[tuple[str, int], list[float]] = {}

    def add(self, method: str, rank: int, run: Passed) -> None:
        key = method, rank
        self._train.setdefault(key, []).append(float(run.train_mae()[0]))
        self._test.setdefault(key, []).append(float(run.test_mae()[0]))
        self._seconds.setdefault(key, []).append(run.seconds)

    def rows(self, chosen: Mapping[tuple[str, int], Setting]) -> Iterator[Row]:
        """Yield training error, test error and time of each method and rank."""
        for key in self._test:
            method, rank = key
            named = f"{method}, k={rank}" if rank else method
            note = "chosen {:.3g}, {:.3g}".format(*chosen[key]) if key in chosen else ""
            train, test = _published(self._name, method, rank)
            yield self._cell(named, "training MAE").row(self._of(self._train[key]), train, note)
            yield self._cell(named, "test MAE").row(self._of(self._test[key]), test, note)
            seconds = Estimate.single(median(self._seconds[key]))
            yield self._cell(named, "seconds").row(seconds, None, "median; one thread")

    def claims(self, ranks: Sequence[int]) -> Iterator[Row]:
        """Yield the verdicts on the paper's claims about these errors."""
        for mine, rank in product(ADAPTIVE, ranks):
            for other in SIMPLE:
                yield self._less(f"{mine} beats {other}, k={rank}", (mine, rank), (other, rank))
        for rank in ranks:
            what = f"the full matrix beats the diagonal, k={rank}"
            yield self._less(what, ("NN-APA full", rank), ("NN-APA diag", rank))
        yield self._less(f"{HEDGED} beats {UNIFORM}", (HEDGED, 0), (UNIFORM, 0))
        best = min(ranks, key=lambda rank: float(np.mean(self._train["NN-APA diag", rank])))
        what = f"{HEDGED} is as good as tuned NN-APA diag, k={best}"
        yield self._less(what, (HEDGED, 0), ("NN-APA diag", best))
        faster = np.array(self._seconds[UNIFORM, 0]) / np.array(self._seconds[HEDGED, 0]) - 1.0
        cell = Cell(PAPER, "claims", self._name, f"{HEDGED} is faster than {UNIFORM}", "gain")
        yield cell.claim(of_splits(faster, TEST_SHARE), note="share of the time of (m)")

    def _less(self, what: str, mine: tuple[str, int], other: tuple[str, int]) -> Row:
        gain = np.array(self._test[other]) - np.array(self._test[mine])
        published = _published(self._name, *other)[1], _published(self._name, *mine)[1]
        apart = None if None in published else published[0] - published[1]  # type: ignore[operator]
        cell = Cell(PAPER, "claims", self._name, what, "test MAE saved")
        return cell.claim(of_splits(gain, TEST_SHARE), apart)

    def _cell(self, method: str, measure: str) -> Cell:
        return Cell(PAPER, "Tables 2 and 3", self._name, method, measure)

    def _of(self, values: Sequence[float]) -> Estimate:
        return of_splits(np.array(values), TEST_SHARE)


def _published(name: str, method: str, rank: int) -> tuple[float | None, float | None]:
    """Return the published training and test error."""
    if not rank:
        return EXPERTS_TRAIN.get((name, method)), EXPERTS_TEST.get((name, method))
    train, test = (table.get((name, method), {}) for table in (TRAIN, TEST))
    return train.get(rank), test.get(rank)


def uniform_explained(parts: Sequence[Stream]) -> Iterator[Row]:
    """Yield NN-APA(u) with other readings of what the paper leaves open."""
    found: dict[str, list[float]] = {}
    for stream in parts:
        for what, run in _readings(stream):
            found.setdefault(what, []).append(run)
    published = EXPERTS_TEST.get((parts[0].train.name, UNIFORM))
    for what, values in found.items():
        cell = Cell(PAPER, "NN-APA(u) explained", parts[0].train.name, what, "test MAE")
        yield cell.row(of_splits(np.array(values), TEST_SHARE), published)


def _readings(stream: Stream) -> Iterator[tuple[str, float]]:
    for delta in DELTAS:
        run = learned(stream, small_experts(delta))
        yield f"all 15 experts, delta {delta:g}", float(run.uniform().test_mae()[0])
        if delta != EXPERT_DELTA:
            continue
        low, high = 1.0, 5.0
        bounded = replace(run, tested=np.clip(run.tested, low, high))
        yield "each expert clipped to the scale", float(bounded.uniform().test_mae()[0])
        yield "the mean over the experts of their own errors", float(run.test_mae().mean())
        for c in sorted({one.c for one in small_experts()}):
            own = np.array([one.c == c for one in small_experts()])
            yield f"the three experts with C={c:g}", float(_some(run, own).test_mae()[0])
        for most in (0.8, 0.4):
            calm = np.array([one.c <= most for one in small_experts()])
            yield f"experts with C up to {most:g}", float(_some(run, calm).test_mae()[0])
    near = [replace(one, init="default") for one in small_experts()]
    yield "begun at the middle of the scale", float(learned(stream, near).uniform().test_mae()[0])


def _some(run: Passed, chosen: F64) -> Passed:
    return replace(run, online=run.online[:, chosen], tested=run.tested[:, chosen]).uniform()
