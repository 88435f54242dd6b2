"""Speed of fBGD beside ``implicit`` at its best setting, memory of a fit, and how both scale.

Sections of ``bench.ranking``. Both sides fit alternately in one process, on the same threads, by
wall clock, until the vectors of all users exist: ours are folded in after the fit. The rival's
setting and its number of iterations are those that scored best on the test part. The time of a
search is reported separately.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from implicit.als import AlternatingLeastSquares
from threadpoolctl import threadpool_limits

from bench import fit_memory, ranking_data, ranking_rivals
from bench.attempts import Attempt, Attempts, best
from bench.ranking_contest import THREADS, Contest
from bench.report import Figure
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.interactions import Interactions
from core.splits import random_split

SECTION = "Ranking: speed"
TURNS, RACES = 3, 11
"""Repetitions of a fit of seconds, and of a short one, which the machine's speed disturbs."""
GOWALLA = FbgdConfig(128, alpha0=480.0, reg=2.6, nu_user=0.14, nu_item=0.8, epochs=8)
DENSE = FbgdConfig(96, alpha0=2000.0, reg=12.0, nu_item=0.75, epochs=12)
"""Settings for ML-1M."""
PLANTED = FbgdConfig(64, alpha0=2000.0, reg=20.0, epochs=10)
"""Settings for the generated world; like the rival's, picked with the test part in view."""
DOUBLED = 0.25, 0.5, 1.0, 2.0, 4.0
"""Scales of the generated world; from the middle on users' rows outgrow the last-level cache."""
POSITIVES, PLANTED_USERS, PLANTED_ITEMS, JUDGES = 10_000_000, 200_000, 40_000, 5_000
STEPS_OF_GRAM = 6
"""Products of a row with a g x g matrix in an epoch, in multiples of g^2 operations."""

Options = argparse.Namespace
Scores = dict[str, float]


def planted(scale: float = 1.0) -> Interactions:
    """Return the generated world with ``scale`` times the users and positives."""
    n_users = round(scale * PLANTED_USERS)
    return ranking_data.generated(round(scale * POSITIVES), n_users=n_users, n_items=PLANTED_ITEMS)


def planted_contest() -> Contest:
    """Return the generated world with a tenth of the first JUDGES users' pairs held out."""
    train, test = random_split(planted(), 0.1, np.random.default_rng(0))
    judging = np.arange(test.n_users) < JUDGES
    held = test.keep(np.repeat(judging, test.user_counts))
    return Contest("generated", 0, train, held, time.perf_counter)


def real_contest(name: str) -> Contest:
    return Contest(name, 0, *ranking_data.split(name, 0), time.perf_counter)


def target(options: Options) -> list[Figure]:
    """Measure the seconds to the rival's best quality on ML-1M and to stated quality on Gowalla."""
    table, figures = Attempts(options.table), []
    if "ML-1M" in options.sets:
        over = real_contest("ML-1M")
        rival = tuned(over, None, "ndcg@10", options, table)
        wanted = {"ndcg@10": rival.scores["ndcg@10"]}
        figures.append(_race(over, DENSE, rival, wanted, 0.25, RACES))
    if "Gowalla" in options.sets:
        over = real_contest("Gowalla")
        rival = tuned(over, GOWALLA.factors, "ndcg@20", options, table)
        wanted = {"recall@20": 0.167, "ndcg@20": 0.142}
        figures.append(_race(over, GOWALLA, rival, wanted, 0.5, RACES))
    return figures


def large(options: Options) -> list[Figure]:
    """Measure the seconds to the rival's best quality on ten million positives, g = 64."""
    over = planted_contest()
    rival = tuned(over, PLANTED.factors, "ndcg@10", options, Attempts(options.table))
    wanted = {"ndcg@10": rival.scores["ndcg@10"]}
    return [_race(over, PLANTED, rival, wanted, 0.5, TURNS)]


def tuned(
    over: Contest, factors: int | None, metric: str, options: Options, table: Attempts
) -> Attempt:
    """Return the rival's best attempt in the table.

    Without an attempt of that many factors, a grid is tried first.
    """

    def known() -> list[Attempt]:
        attempts = table.find(over.data, over.split, "ALS")
        return [a for a in attempts if factors is None or a.settings["factors"] == factors]

    if not known():
        kind = ranking_rivals.kind_of(over.data, options.grid)
        ranking_rivals.als(over, factors or 128, kind, table)
    return best(known(), metric)


def _race(
    over: Contest, config: FbgdConfig, rival: Attempt, wanted: Scores, bar: float, turns: int
) -> Figure:
    """Compare our seconds until the scores are as good as ``wanted`` with the rival's whole fit."""
    epochs = _epochs_to(config, over, wanted)
    ours = replace(config, epochs=epochs or config.epochs)
    theirs = {**rival.settings, "factors": int(rival.settings["factors"])}
    theirs["iterations"] = int(theirs["iterations"])
    fits = _in_turn(
        lambda: Fbgd(ours).fit(over.train).user_vectors(over.train),
        lambda: _implicit(theirs, ranking_rivals.matrix(over.train)),
        turns=turns,
    )
    seconds = [median(taken) for taken in fits]
    ratios = sorted(own / other for own, other in zip(*fits, strict=True))
    goal = ", ".join(f"{name} {value:.4f}" for name, value in wanted.items())
    setting = ", ".join(f"{name} {value:g}" for name, value in theirs.items())
    return Figure(
        SECTION,
        f"{over.data}, seconds to {goal}: ours : implicit's best fit",
        seconds[0] / seconds[1] if epochs else float("nan"),
        bar=bar,
        note=f"{seconds[0]:.3f} s (g {ours.factors}, {ours.epochs} epochs) : "
        f"{seconds[1]:.3f} s ({setting}); "
        f"{turns} turns, {ratios[0]:.2f} to {ratios[-1]:.2f}",
    )


def _epochs_to(config: FbgdConfig, over: Contest, wanted: Scores) -> int:
    """Return the number of epochs until all scores are reached, 0 for never."""
    reached = [0]

    def on_epoch(model: Fbgd, epoch: int) -> bool:
        found = over.scores(model.user_vectors(over.train), model.item_factors)
        if all(found[name] >= value for name, value in wanted.items()):
            reached[0] = epoch
        return reached[0] > 0

    Fbgd(config).fit(over.train, on_epoch=on_epoch)
    return reached[0]


def _implicit(settings: dict[str, Any], values: Any) -> None:
    model = AlternatingLeastSquares(num_threads=THREADS, random_state=0, **settings)
    model.fit(values, show_progress=False)


def _in_turn(*fits: Callable[[], object], turns: int) -> list[list[float]]:
    """Return the seconds of each fit by turn; a slow phase of the machine then slows both sides."""
    seconds: list[list[float]] = [[] for _ in fits]
    for _ in range(turns):
        for fit, taken in zip(fits, seconds, strict=True):
            begun = time.perf_counter()
            fit()
            taken.append(time.perf_counter() - begun)
    return seconds


def epoch_seconds(pairs: Interactions, config: FbgdConfig, epochs: int = 4) -> float:
    """Return the median seconds of an epoch, including its loss; the first epoch is not counted."""
    ends: list[float] = []

    def on_epoch(model: Fbgd, epoch: int) -> bool:
        ends.append(time.perf_counter())
        return False

    Fbgd(replace(config, epochs=epochs + 1)).fit(pairs, on_epoch=on_epoch)
    return float(np.median(np.diff(ends)))


def rate(options: Options) -> list[Figure]:
    """Measure the operations per second of an epoch beside the machine's matrix product."""
    figures = []
    sets = ("Gowalla", real_contest("Gowalla").train, GOWALLA), ("generated", planted(), PLANTED)
    for name, pairs, config in sets:
        g = config.factors
        seconds = epoch_seconds(pairs, config)
        rows = pairs.n_users + pairs.n_items
        # Each positive costs a product and a sum with a row, once for the residual and once per
        # step, on both sides.
        work = 2 * len(pairs) * 4 * g * (1 + config.steps) + rows * STEPS_OF_GRAM * g * g
        note = f"{len(pairs)} positives, g {g}"
        figures += [
            Figure(SECTION, f"{name}: seconds of an epoch", seconds, "s", note=note),
            Figure(
                SECTION, f"{name}: rate of an epoch", work / seconds / 1e9, "GFLOP/s", note=note
            ),
        ]
    return [*figures, *(_sgemm(threads) for threads in sorted({1, THREADS}))]


def _sgemm(threads: int) -> Figure:
    a = np.ones((2048, 2048), np.float32)
    with threadpool_limits(threads, "blas"):
        (seconds,) = _in_turn(lambda: a @ a, turns=TURNS)
    return Figure(
        SECTION,
        f"sgemm, {threads} threads",
        2 * 2048**3 / median(seconds) / 1e9,
        "GFLOP/s",
        note="2048 x 2048",
    )


def memory(options: Options) -> list[Figure]:
    """Measure a fit's peak memory above the interpreter, relative to factors and positives.

    A factor and a positive take 4 bytes each, a user 8.
    """
    pairs, figures = planted(), []
    weighted = replace(pairs, weight=np.full(len(pairs), 2.0, np.float32))
    for what, given in (("generated", pairs), ("generated, weights", weighted)):
        with tempfile.TemporaryDirectory() as folder:
            fit_memory.save(given, Path(folder))
            command = [sys.executable, "-m", "bench.fit_memory", folder, str(PLANTED.factors)]
            ended = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(ended.stdout)
        share = found["peak"] / (found["positives"] + found["factors"])
        note = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in found.items())
        name = f"{what}: peak of a fit : factors and positives"
        figures.append(Figure(SECTION, name, share, bar=3.0, note=note))
    return figures


def busy(options: Options) -> list[Figure]:
    """Measure an epoch beside two processes that never rest."""
    pairs = real_contest("Gowalla").train
    alone = epoch_seconds(pairs, GOWALLA)
    with _busy_processes(2):
        beside = epoch_seconds(pairs, GOWALLA, epochs=8)
    note = f"Gowalla, g {GOWALLA.factors}: {beside:.3f} s : {alone:.3f} s, {THREADS} threads"
    return [
        Figure(
            SECTION, "epoch beside two busy processes : alone", beside / alone, bar=3.0, note=note
        )
    ]


@contextmanager
def _busy_processes(n: int) -> Iterator[None]:
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def linear(options: Options) -> list[Figure]:
    """Measure epochs while users and positives double, then with half of the positives per user."""
    world, figures = planted(DOUBLED[0]), []
    pairs, taken = world, []
    for scale in DOUBLED:
        pairs = _repeated(world, round(scale / DOUBLED[0]))
        taken.append(epoch_seconds(pairs, PLANTED, epochs=3))
        what = f"epoch of {pairs.n_users} users, {len(pairs) / 1e6:.1f} M positives"
        note = f"users' rows {4 * PLANTED.factors * pairs.n_users / 1e6:.0f} MB"
        if len(taken) > 1:
            note += f"; {taken[-1] / taken[-2]:.2f} times the one before"
        figures.append(Figure(SECTION, what, taken[-1], "s", note=note))
    what = "epoch of the last : of half the users and positives"
    figures.append(Figure(SECTION, what, taken[-1] / taken[-2], "times", bar=2.2))
    thin = pairs.keep(np.random.default_rng(0).random(len(pairs)) < 0.5)
    ratio = taken[-1] / epoch_seconds(thin, PLANTED, epochs=3)
    what = "epoch of the last : of the same users with half of their positives"
    return [*figures, Figure(SECTION, what, ratio, "times", bar=2.2)]


def _repeated(pairs: Interactions, times: int) -> Interactions:
    """Return ``times`` copies of all users; an epoch costs as much as with distinct users."""
    ptr = np.concatenate([[0], *(pairs.ptr[1:] + k * len(pairs) for k in range(times))])
    return Interactions(pairs.n_items, ptr, np.tile(pairs.item_ix, times))
