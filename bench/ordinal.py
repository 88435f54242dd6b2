"""Ordinal scores from few labels, beside kernel ridge and an all-threshold model of the labelled rows alone.

    python -m bench.ordinal [--sets Computer,SGEMM] [--draws 10] [--json]

The rivals have one kernel width and their penalty from the same folds of the same rows by the same mean AUC.
"""

import argparse
import gzip
import resource
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import t as student
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold

from bench.data import FOLDER
from bench.report import Figure, publish
from core.ordinal.judge import equal_levels, mean_auc
from core.ordinal.qs3orao import OrdinalConfig, fit
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
    """All-threshold logistic loss over functions of the kernel: one score, a cut between any two levels."""
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
    """Return the scores of the rows asked for, with the width and penalty of the best validation."""
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
    """Return the AUC on the unlabelled rows of everybody, one choice of the labelled rows."""
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


def options_of() -> Any:
    parser = argparse.ArgumentParser(prog="python -m bench.ordinal", description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS), help="Computer, SGEMM or both")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> int:
    """Run all draws and print the tables."""
    options = options_of()
    figures: list[Figure] = []
    for name in options.sets.split(","):
        figures += compared(name, options.draws)
    lows = [one.value for one in figures if one.what.endswith("low end") and one.bar is not None]
    n = len(RIVALS)
    best = max(min(lows[at : at + n]) for at in range(0, len(lows), n))
    figures.append(
        Figure(SECTION, "the better set: low end against both", best, bar=0.0, better="higher")
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures.append(Figure(SECTION, "peak memory, rivals included", peak, "MB"))
    return publish(figures, as_json=options.json, data=options.sets)


if __name__ == "__main__":
    sys.exit(main())
