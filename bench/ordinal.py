"""Ordinal scores from few labels, beside kernel ridge and an all-threshold model.

    python -m bench.ordinal [--only Computer,SGEMM,items,whole] [--draws 10] [--json]

The two rivals use the labelled rows only; their kernel width and penalty are chosen on folds of
these rows by the same mean AUC. ``items``: stars for movies without ratings, from genres and year.
``whole``: time and memory on all of SGEMM.
"""

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import t as student
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold

from bench.data import FOLDER
from bench.movielens import encoder, folds, movielens
from bench.report import Figure, publish
from core.ordinal.config import OrdinalConfig, StarsConfig
from core.ordinal.fit_stars import RatedPairs, fit_stars
from core.ordinal.metrics import equal_levels, mean_auc
from core.ordinal.qs3orao import fit
from core.ordinal.random_features import RandomFeatures
from core.ordinal.recursion import Steps, descend
from core.ordinal.search import FOLDS, WIDTHS
from core.types import F64, I64

SETS = {
    "Computer": ("ordinal-computer/computer.csv.gz", "usr", ()),
    "SGEMM": ("ordinal-sgemm/sgemm.csv.gz", "Run1_ms", ("Run2_ms", "Run3_ms", "Run4_ms")),
}
LEVELS, LABELLED = 5, 500
PENALTIES = tuple(10.0**power for power in np.arange(-3.0, 1.6, 0.5))
NOT_BELOW = -0.005
SECTION = "Ordinal: 5 levels, 500 labelled rows"
ITEMS = "New items: ML-1M, a tenth of the movies held out, stars by genres and year"
ITEM_FOLDS = 10
WHOLE = "All of SGEMM, 241 600 rows"
MOST_MEMORY_MB, SHORT, LONG = 500.0, 1_000, 4_000
"""Limit on the peak memory of the command, reading included, and steps of two descents."""
MOST_GROWTH = 1.5
"""Limit on the time per step of the long descent over the short one.

The ratio is 1 if time is linear in the steps.
"""

Scorer = Callable[[F64, I64, F64, float, float], F64]


def read(name: str) -> tuple[F64, F64]:
    """Return features (n, d) and target (n,) of one of SETS."""
    file, target, ignored = SETS[name]
    with gzip.open(FOLDER / file, "rt") as lines:
        header = next(lines).strip().split(",")
        table = np.loadtxt(lines, delimiter=",")
    kept = [at for at, one in enumerate(header) if one != target and one not in ignored]
    return table[:, kept], table[:, header.index(target)]


def ridge(x: F64, level: I64, asked: F64, width: float, penalty: float) -> F64:
    model = KernelRidge(kernel="rbf", gamma=width, alpha=penalty).fit(x, level - level.mean())
    return np.asarray(model.predict(asked))


def all_threshold(x: F64, level: I64, asked: F64, width: float, penalty: float) -> F64:
    """Return scores by the all-threshold logistic loss over functions of the kernel.

    The model has one score and a threshold between any two adjacent levels.
    """
    values, vectors = np.linalg.eigh(rbf_kernel(x, gamma=width))
    kept = values > 1e-6 * values[-1]
    root = vectors[:, kept] * np.sqrt(values[kept])
    sign = np.where(level[:, None] > np.arange(1, LEVELS), 1.0, -1.0)

    def loss(theta: F64) -> tuple[float, F64]:
        w, cuts = theta[: 1 - LEVELS], theta[1 - LEVELS :]
        margin = sign * ((root @ w)[:, None] - cuts)
        slope = -sign * 0.5 * (1.0 - np.tanh(0.5 * margin))
        value = np.logaddexp(0.0, -margin).sum() + 0.5 * penalty * float(w @ w)
        return value, np.r_[root.T @ slope.sum(axis=1) + penalty * w, -slope.sum(axis=0)]

    start = np.zeros(root.shape[1] + LEVELS - 1)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 60}).x
    back = vectors[:, kept] / np.sqrt(values[kept]) @ found[: 1 - LEVELS]
    return _in_parts(lambda part: rbf_kernel(part, x, gamma=width) @ back, asked)


RIVALS: dict[str, Scorer] = {"kernel ridge": ridge, "all-threshold": all_threshold}


def tuned(scorer: Scorer, x: F64, level: I64, asked: F64, seed: int) -> F64:
    """Return the scores of the rows in ``asked``.

    Width and penalty are those with the best validation AUC.
    """
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    parts = list(folds.split(x, level))

    def judged(width: float, penalty: float) -> float:
        return float(
            np.mean(
                [mean_auc(scorer(x[a], level[a], x[b], width, penalty), level[b]) for a, b in parts]
            )
        )

    grid = [(width, penalty) for width in WIDTHS[::2] for penalty in PENALTIES[::2]]
    width, penalty = max(grid, key=lambda one: judged(*one))
    near = [
        (w, p) for w in (width / 2, width, 2 * width) for p in (penalty / 3, penalty, 3 * penalty)
    ]
    width, penalty = max(near, key=lambda one: judged(*one))
    return _in_parts(lambda part: scorer(x, level, part, width, penalty), asked)


def _in_parts(score: Callable[[F64], F64], rows: F64) -> F64:
    return np.concatenate([score(rows[at : at + 20_000]) for at in range(0, len(rows), 20_000)])


def draw(x: F64, level: I64, seed: int) -> dict[str, float]:
    """Return each model's AUC on the unlabelled rows.

    The seed chooses the labelled rows.
    """
    chosen = np.random.default_rng([seed, 0]).permutation(len(x))[:LABELLED]
    known = np.zeros(len(x), dtype=np.int64)
    known[chosen] = level[chosen]
    asked = known == 0
    low, span = x.min(axis=0), np.ptp(x, axis=0)
    scaled = (x - low) / np.where(span > 0, span, 1.0)
    found = {}
    for name, gammas in (("QS3ORAO", None), ("labelled pairs alone", (1.0,))):
        own = (
            OrdinalConfig(seed=seed) if gammas is None else OrdinalConfig(gammas=gammas, seed=seed)
        )
        found[name] = mean_auc(fit(x, known, LEVELS, own).scores(x[asked]), level[asked])
    for name, scorer in RIVALS.items():
        scores = tuned(scorer, scaled[chosen], level[chosen], scaled[asked], seed)
        found[name] = mean_auc(scores, level[asked])
    return found


def interval(differences: F64) -> tuple[float, float, float]:
    """Return the mean and its 95 % interval."""
    n = len(differences)
    half = student.ppf(0.975, n - 1) * differences.std(ddof=1) / n**0.5
    return (
        float(differences.mean()),
        float(differences.mean() - half),
        float(differences.mean() + half),
    )


def compared(name: str, draws: int) -> list[Figure]:
    x, target = read(name)
    level = equal_levels(target, LEVELS)
    rows = []
    for seed in range(draws):
        rows.append(draw(x, level, seed))
        print(
            name,
            seed,
            {who: round(auc, 4) for who, auc in rows[-1].items()},
            file=sys.stderr,
            flush=True,
        )
    aucs = {who: np.array([row[who] for row in rows]) for who in rows[0]}
    figures = [
        Figure(SECTION, f"{name}, {who}: AUC", float(values.mean()), note=f"{draws} draws")
        for who, values in aucs.items()
    ]
    for who in list(aucs)[1:]:
        middle, low, high = interval(aucs["QS3ORAO"] - aucs[who])
        note = f"mean {middle:+.4f}, 95 % interval {low:+.4f} .. {high:+.4f}"
        bar = NOT_BELOW if who in RIVALS else None
        what = f"{name}, QS3ORAO - {who}: low end"
        figures.append(Figure(SECTION, what, low, bar=bar, better="higher", note=note))
    return figures


def new_items(draws: int) -> list[Figure]:
    """Return how well the model orders ratings of ML-1M movies that have no training ratings.

    Each movie is held out once.
    """
    world, rows = movielens(), []
    for seed, (held, fitting) in enumerate(folds(len(world.items), ITEM_FOLDS)[:draws]):
        users = encoder(world.users, seed)
        items = encoder([world.items[item] for item in fitting], seed)
        user_rows, item_rows = users.transform(world.users), items.transform(world.items)
        asked = np.flatnonzero(np.isin(world.item_ix, held))
        train = np.flatnonzero(~np.isin(world.item_ix, held))
        rated = RatedPairs(world.user_ix[train], world.item_ix[train], world.value[train])
        model = fit_stars(user_rows, item_rows, rated, StarsConfig(seed=seed))
        at = world.user_ix[asked], world.item_ix[asked]
        p, q = model.user_vectors(user_rows), model.item_vectors
        scores = np.concatenate(
            [
                np.einsum("ij,ij->i", p[at[0][part]], q[at[1][part]], dtype=np.float64)
                for part in np.array_split(np.arange(asked.size), 20)
            ]
        )
        rows.append(judged_items(scores, world.value[asked].astype(np.int64), at[0]))
        print("items", seed, rows[-1], file=sys.stderr, flush=True)
    figures = []
    for what in rows[0]:
        middle, low, high = interval(np.array([row[what] for row in rows]))
        note = f"mean {middle:.4f}, 95 % interval {low:.4f} .. {high:.4f} over {len(rows)} parts"
        figures.append(Figure(ITEMS, f"{what}: low end", low, "", 0.5, "higher", note))
    return figures


def whole() -> Iterator[Figure]:
    """Yield time and memory of the command on all rows, and whether time is linear in the steps."""
    file, target, ignored = SETS["SGEMM"]
    command = [str(Path(sys.executable).with_name("hedgerow")), "eval", "ordinal"]
    command += [str(FOLDER / file), "--target", target, "--ignore", ",".join(ignored), "--json"]
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, stdout=said)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {child.returncode}")
        said.seek(0)
        report = json.load(said)
    peak, note = used.ru_maxrss / 1024, f"AUC {report['auc']:.4f}"
    yield Figure(WHOLE, "peak memory, reading included", peak, "MB", MOST_MEMORY_MB, note=note)
    yield Figure(WHOLE, "fit", report["fit_seconds"], "s")
    x, values = read("SGEMM")
    level = equal_levels(values, LEVELS)
    rows = np.random.default_rng(0).permutation(len(x))[: LABELLED + OrdinalConfig().unlabelled]
    known = np.where(np.arange(rows.size) < LABELLED, level[rows], 0)
    near = ((x[rows] - x.min(axis=0)) / np.ptp(x, axis=0)).astype(np.float32)
    features = RandomFeatures(np.full(x.shape[1], 0.5), OrdinalConfig().block, 0)
    seconds = {}
    for steps in (SHORT, SHORT, LONG):
        started = perf_counter()
        descend(near, known, LEVELS, features, Steps(steps=steps, blocks=32, gamma=0.5))
        seconds[steps] = perf_counter() - started
    growth = seconds[LONG] / seconds[SHORT] / (LONG / SHORT)
    note = f"{SHORT} steps {seconds[SHORT]:.2f} s, {LONG} steps {seconds[LONG]:.2f} s"
    what = "a step of the longer descent over one of the shorter"
    yield Figure(WHOLE, what, growth, bar=MOST_GROWTH, note=note)


def judged_items(scores: F64, level: I64, user: I64) -> dict[str, float]:
    """Return the AUC of all ratings, of each split of the levels, and the mean within a user."""
    found = {"AUC of all ratings": mean_auc(scores, level)}
    for j in range(1, LEVELS):
        found[f"AUC of more than {j} stars"] = mean_auc(scores, 1 + (level > j))
    order = np.argsort(user, kind="stable")
    own = [
        mean_auc(scores[part], level[part])
        for part in np.split(order, np.flatnonzero(np.diff(user[order])) + 1)
        if np.ptp(level[part])
    ]
    return found | {"AUC within a user": float(np.mean(own))}


def options_of() -> Any:
    parser = argparse.ArgumentParser(prog="python -m bench.ordinal", description=__doc__)
    parser.add_argument("--only", default=",".join([*SETS, "items", "whole"]))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> int:
    """Run all draws and print the tables."""
    options = options_of()
    figures: list[Figure] = []
    for name in options.only.split(","):
        match name:
            case "items":
                figures += new_items(options.draws)
            case "whole":
                figures += whole()
            case _:
                figures += compared(name, options.draws)
    lows = [one.value for one in figures if one.section == SECTION and one.bar is not None]
    if lows:
        n = len(RIVALS)
        best = max(min(lows[at : at + n]) for at in range(0, len(lows), n))
        what = "the better set: low end against both"
        figures.append(Figure(SECTION, what, best, bar=0.0, better="higher"))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        figures.append(Figure(SECTION, "peak memory, rivals included", peak, "MB"))
    return publish(figures, as_json=options.json, data=options.only)


if __name__ == "__main__":
    sys.exit(main())
