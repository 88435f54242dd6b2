"""`make bench-quality`: accuracy, each figure beside its bar, on the data sets in ../shared/data.

    python -m bench.quality [--seeds 5] [--json] [--only onepass,rivals,paper,coverage,drift]

Errors are on each data set's own scale: the mean over the seeds of random 80/20 splits, one pass.
"""

import argparse
import sys
from collections.abc import Callable
from statistics import mean, pstdev

from bench import data, drift, rivals
from bench.evaluation import Report, evaluate, over_seeds
from bench.report import Figure, between, publish
from bench.rivals import Score

ONE_PASS: tuple[tuple[str, str, str, float], ...] = (
    ("ML-100K", "--model nn-apa-diag --rank 10 --c 0.02", "test_mae", 0.757),
    ("ML-100K", "--experts paper", "test_mae", 0.762),
    ("ML-100K", "", "test_mae", 0.719),
    ("ML-100K", "", "test_rmse", 0.920),
    ("ML-1M", "--experts paper", "test_mae", 0.730),
    ("ML-1M", "", "test_mae", 0.674),
    ("ML-1M", "", "test_rmse", 0.863),
    ("FilmTrust", "", "test_mae", 0.600),
    ("Jester", "", "test_mae", 3.08),
    ("ML-100K", "--order time", "train_mae", 0.728),
    ("ML-1M", "--order time", "train_mae", 0.690),
)
"""Data set, flags of the command, field of its report, bar."""

PUBLISHED = {
    "nn-pa": {5: 0.8199, 10: 0.7837, 15: 0.7961},
    "nn-apa-diag": {5: 0.7663, 10: 0.7706, 15: 0.7685},
}
"""Test MAE on ML-100K published in the paper, by rank."""

COVERAGE_CLASS = 1_000
"""Least number of test ratings of a class for which the bar applies."""


def one_pass(seeds: range) -> list[Figure]:
    """Measure single experts and the default set."""
    return [_mean_figure("One pass", *row, seeds) for row in ONE_PASS if data.available(row[0])]


def _mean_figure(
    section: str, name: str, flags: str, field: str, bar: float | None, seeds: range
) -> Figure:
    value, spread = over_seeds(name, flags, seeds, field)
    what = f"{name} {flags or '(default)'}: {field.replace('_', ' ')}"
    note = f"std {spread:.4f}, {len(seeds)} seeds"
    return Figure(section, what, value, bar=bar, note=note)


def against_rivals(seeds: range) -> list[Figure]:
    """Compare the default set with river in one pass, and with offline biases; same splits."""
    figures = []
    for name in filter(data.available, data.FILES):
        # river takes ten seconds per million ratings; the large sets vary little between splits
        few = seeds if name in {"ML-100K", "FilmTrust"} else seeds[:2]
        figures += _river_figures(name, few)
        if name != "ML-1M":
            figures += _bias_figures(name, seeds)
    return figures


def _river_figures(name: str, seeds: range) -> list[Figure]:
    ratings = data.read(name)
    ours, _ = over_seeds(name, "", seeds, "test_mae")
    theirs = [rivals.river_one_pass(*data.random_split(ratings, seed), seed) for seed in seeds]
    test, rmse, train = (
        mean(getattr(score, field) for score in theirs)
        for field in ("test_mae", "test_rmse", "train_mae")
    )
    note = f"RMSE {rmse:.4f}, online MAE {train:.4f}, {len(seeds)} seeds"
    return [
        Figure("Rivals", f"{name} river BiasedMF, one pass: test MAE", test, note=note),
        Figure("Rivals", f"{name} default : river, test MAE", ours / test, bar=1.0),
    ]


def _bias_figures(name: str, seeds: range) -> list[Figure]:
    ratings = data.read(name)
    ours, _ = over_seeds(name, "", seeds, "test_mae")
    scores: list[Score] = [
        rivals.mean_and_biases(*data.random_split(ratings, seed)) for seed in seeds
    ]
    test = mean(score.test_mae for score in scores)
    rmse = mean(score.test_rmse for score in scores)
    note = (
        f"RMSE {rmse:.4f}, std {pstdev(score.test_mae for score in scores):.4f}; {scores[0].note}"
    )
    return [
        Figure("Rivals", f"{name} mean + user + item bias, offline: test MAE", test, note=note),
        Figure("Rivals", f"{name} default : mean + biases, test MAE", ours / test, bar=1.0),
    ]


def as_published(seeds: range) -> list[Figure]:
    """Reproduce the paper's table, with its initial values and without clipping."""
    figures = []
    for rank in (5, 10, 15):
        measured = {}
        for model, published in PUBLISHED.items():
            flags = f"--model {model} --variant pa2 --rank {rank} --init paper"
            measured[model], spread = over_seeds("ML-100K", flags, seeds, "test_mae")
            figures.append(
                Figure(
                    "The paper's table, ML-100K",
                    f"{model}, rank {rank}: distance to the published test MAE",
                    abs(measured[model] - published[rank]),
                    bar=0.02,
                    note=f"{measured[model]:.4f} (std {spread:.4f}), ",
                )
            )
        ratio = measured["nn-apa-diag"] / measured["nn-pa"]
        figures.append(
            Figure(
                "The paper's table, ML-100K", f"rank {rank}: nn-apa-diag : nn-pa", ratio, bar=0.9999
            )
        )
    return figures


def coverage(seeds: range) -> list[Figure]:
    """Measure the coverage of the 80 % interval on ML-1M, overall and by class."""
    section = "80 % interval, ML-1M"
    reports = [evaluate("ML-1M", (), seed) for seed in seeds]
    overall = mean(report["coverage80"] for report in reports)
    figures = [between(section, "all test ratings", overall, 0.78, 0.82)]
    for (user, item), rows in _by_class(reports).items():
        n = round(mean(row["n"] for row in rows))
        what = f"user with {user} events, item with {item}"
        value = mean(row["coverage80"] for row in rows)
        shares = [row["coverage80"] for row in rows]
        note = f"n {n}, single seeds {min(shares):.3f} to {max(shares):.3f}"
        if n >= COVERAGE_CLASS:
            figures.append(between(section, what, value, 0.74, 0.86, note=note))
        else:
            figures.append(Figure(section, what, value, note=note))
    return figures


def _by_class(reports: list[Report]) -> dict[tuple[str, str], list[Report]]:
    classes: dict[tuple[str, str], list[Report]] = {}
    for row in (row for report in reports for row in report["coverage80_by_class"]):
        classes.setdefault((row["user_events"], row["item_events"]), []).append(row)
    return classes


def after_a_change(_seeds: range) -> list[Figure]:
    """Return the figures of ``bench.drift``: the best expert changes half-way through a stream."""
    return drift.figures()


SECTIONS: dict[str, Callable[[range], list[Figure]]] = {
    "onepass": one_pass,
    "rivals": against_rivals,
    "paper": as_published,
    "coverage": coverage,
    "drift": after_a_change,
}


def main() -> int:
    """Run the chosen sections and print their tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="splits 0 .. SEEDS - 1")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, joined by commas")
    options = parser.parse_args()
    chosen = options.only.split(",")
    if unknown := set(chosen) - SECTIONS.keys():
        parser.error(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    figures: list[Figure] = []
    for name in chosen:
        print(f"{name} ...", file=sys.stderr, flush=True)
        figures += SECTIONS[name](range(options.seeds))
    return publish(figures, as_json=options.json, data="../shared/data")


if __name__ == "__main__":
    sys.exit(main())
