"""Ranking quality and speed beside ``implicit``, in one run.

    python -m bench.ranking [--only SECTION,...] [--sets ML-100K,...] [--splits 1]
                            [--grid short|full] [--rivals als,bpr,lmf] [--factors 128]
                            [--table FILE] [--budget-s 120] [--clock wall|processor] [--json]
    python -m bench.ranking --full --table bench/tables/ranking.csv

Sections: quality, stated, warm, target, large, rate, memory, busy, linear, grid, best.
The rivals are tuned on the test part; our settings are chosen on a validation part of the
training data. Both sides use the same threads; the time of our search is reported separately.
``--full`` means 4 splits, all rivals and the full grid, which takes hours. ``--table`` keeps
every fit in a CSV file and skips fits that it already contains. ``--clock processor`` counts
the processor time of all threads divided by their number, for a machine with other load.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from bench import ranking_best, ranking_data, ranking_rivals, ranking_speed
from bench.attempts import Attempt, Attempts, best
from bench.neighbours import Neighbours
from bench.ranking_contest import THREADS, Clock, Contest
from bench.ranking_own import judged, our_attempt, searches_of
from bench.report import Figure, publish
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.interactions import from_pairs
from core.splits import random_split

BARS = {
    "Gowalla": (("recall@20", 0.178), ("ndcg@20", 0.150)),
    "ML-1M": (("ndcg@10", 0.438),),
    "ML-100K": (("ndcg@10", 0.454),),
}
STATED = FbgdConfig(
    factors=512, alpha0=500.0, rho=0.0, reg=2.0, nu_user=0.25, nu_item=0.25, epochs=4
)
"""Settings for Gowalla with many factors."""
STATED_BARS = (("recall@20", 0.184), ("ndcg@20", 0.156))
CLOCKS: dict[str, Clock] = {
    "wall": time.perf_counter,
    "processor": lambda: time.process_time() / THREADS,
}


def compile_kernels() -> None:
    """Fit a tiny model, so that no measurement includes compilation."""
    tiny = from_pairs(np.array([0, 0, 1]), np.array([0, 1, 1]))
    Fbgd(FbgdConfig(factors=2, epochs=1)).fit(tiny).recommend(0, tiny, 1)


def contest(name: str, seed: int, clock: Clock) -> Contest:
    train, test = ranking_data.split(name, seed)
    return Contest(name, seed, train, test, clock)


def metric_of(name: str) -> str:
    return "ndcg@20" if name == "Gowalla" else "ndcg@10"


def our_attempts(name: str, options: argparse.Namespace, table: Attempts) -> list[Attempt]:
    """Return our attempts on a data set, one per search."""
    ours = []
    for split, seed in searches_of(name, options.splits):
        ours.append(our_attempt(contest(name, split, options.clock), seed, options.budget_s, table))
        print(ours[-1], file=sys.stderr, flush=True)
    return ours


def quality(options: argparse.Namespace) -> list[Figure]:
    """Compare our searched settings with the rivals' best on each test part."""
    table, figures = Attempts(options.table), []
    for name in options.sets:
        ours = our_attempts(name, options, table)
        for one in ours:
            over = contest(name, one.split, options.clock)
            fill_grid(over, int(one.settings["factors"]), options, table)
        rivals = [best_rivals(name, one.split, options, table) for one in ours]
        figures += _quality_figures(name, ours, rivals)
    return figures


def fill_grid(over: Contest, factors: int, options: argparse.Namespace, table: Attempts) -> None:
    """Try the rivals with the given numbers of factors, by default with as many as ours."""
    ranking_rivals.popular(over, table)
    kind = ranking_rivals.kind_of(over.data, options.grid)
    for g in options.factors or [factors]:
        for name in options.rivals:
            ranking_rivals.RIVALS[name](over, g, kind, table)


def best_rivals(
    data: str, split: int, options: argparse.Namespace, table: Attempts
) -> dict[str, Attempt]:
    """Return each rival's best attempt in the table, by the metric of the data set."""
    names = ["popular", *(name.upper() for name in options.rivals)]
    return {name: best(table.find(data, split, name), metric_of(data)) for name in names}


def grid(options: argparse.Namespace) -> list[Figure]:
    """Fill the table with the rivals' grid alone, with the given factors; return no figures."""
    table = Attempts(options.table)
    for name in options.sets:
        for split in dict(searches_of(name, options.splits)):
            over = contest(name, split, options.clock)
            fill_grid(over, options.factors[0], options, table)
    return []


def best_known(options: argparse.Namespace) -> list[Figure]:
    """Compare our searched settings with the best known ones, all from one table."""
    table, figures = Attempts(options.table), []
    for name in options.sets:
        ours = our_attempts(name, options, table)
        if name == "Gowalla":
            ours_stated(options, table)
        found = {
            one.split: ranking_best.best_known(
                contest(name, one.split, options.clock), metric_of(name), table
            )
            for one in ours
        }
        known = [found[one.split] for one in ours]
        figures.append(ranking_best.figure(name, metric_of(name), ours, known))
    return figures


def _quality_figures(
    name: str, ours: list[Attempt], rivals: list[dict[str, Attempt]]
) -> list[Figure]:
    section, bars, metric = (
        "Ranking: settings of its own",
        dict(BARS.get(name, ())),
        metric_of(name),
    )
    chosen = "; ".join(
        f"g {one.settings['factors']:.0f}, {one.settings['epochs']:.0f} epochs, {one.seconds:.2f} s"
        for one in ours
    )
    figures = [
        Figure(
            section,
            f"{name}, fBGD: {one}",
            mean(attempt.scores[one] for attempt in ours),
            bar=bars.get(one),
            better="higher",
            note=chosen if one == metric else "",
        )
        for one in ("recall@20", "ndcg@10", "ndcg@20")
    ]
    for rival in rivals[0]:
        found = [attempts[rival] for attempts in rivals]
        value = mean(one.scores[metric] for one in found)
        note = "; ".join(f"{_short(one)}, {one.seconds:.2f} s" for one in found)
        figures.append(
            Figure(section, f"{name}, {rival}, best on test: {metric}", value, note=note)
        )
        ratios = [
            one.scores[metric] / other.scores[metric]
            for one, other in zip(ours, found, strict=True)
        ]
        what = f"{name}, fBGD : {rival}, {metric}, worst search"
        figures.append(Figure(section, what, min(ratios), bar=1.0, better="higher"))
    return figures


def _short(attempt: Attempt) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in attempt.settings.items())


def ours_stated(options: argparse.Namespace, table: Attempts) -> Attempt:
    """Return our attempt at Gowalla with the settings STATED."""
    known = table.find("Gowalla", 0, ranking_best.STATED, asdict(STATED))
    if not known:
        known = [judged(STATED, contest("Gowalla", 0, options.clock), ranking_best.STATED)]
        table.add(known)
    return known[0]


def stated(options: argparse.Namespace) -> list[Figure]:
    """Measure Gowalla with 512 factors and the settings STATED."""
    found = ours_stated(options, Attempts(options.table))
    note = f"{found.seconds:.1f} s; {_short(found)}"
    return [
        Figure(
            "Ranking: stated settings",
            f"Gowalla: {metric}",
            found.scores[metric],
            bar=bar,
            better="higher",
            note=note,
        )
        for metric, bar in STATED_BARS
    ]


def warm(options: argparse.Namespace) -> list[Figure]:
    """Compare one epoch after 5 % new data with a cold fit, on one split."""
    figures = []
    for name, config in (("Gowalla", replace(STATED, factors=128)), ("ML-1M", ranking_speed.DENSE)):
        over = contest(name, 0, options.clock)
        before, _ = random_split(over.train, 0.05, np.random.default_rng(1))
        old, cold = Fbgd(config).fit(before), Fbgd(config).fit(over.train)
        one = Fbgd(replace(config, epochs=1)).fit(over.train, previous=old.fitted)
        metric = metric_of(name)
        found = [
            over.scores(model.user_vectors(over.train), model.item_factors)[metric]
            for model in (one, cold)
        ]
        what = f"{name}, one epoch after 5 % new data : cold fit, {metric}"
        note = f"{found[0]:.4f} : {found[1]:.4f}"
        figures.append(
            Figure("Ranking: warm start", what, found[0] / found[1], "", 0.995, "higher", note)
        )
    return figures


SECTIONS: dict[str, Callable[[argparse.Namespace], list[Figure]]] = {
    "quality": quality,
    "stated": stated,
    "warm": warm,
    "target": ranking_speed.target,
    "large": ranking_speed.large,
    "rate": ranking_speed.rate,
    "memory": ranking_speed.memory,
    "busy": ranking_speed.busy,
    "linear": ranking_speed.linear,
    "grid": grid,
    "best": best_known,
}
SHOWN = tuple(name for name in SECTIONS if name not in ("grid", "best"))


def options_of(arguments: list[str] | None = None) -> Any:
    parser = argparse.ArgumentParser(
        prog="python -m bench.ranking",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", type=_words(SECTIONS), default=list(SHOWN))
    sets = [*ranking_data.NAMES, *ranking_data.UNSEEN]
    parser.add_argument("--sets", type=_words(sets), default=list(ranking_data.NAMES))
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--grid", choices=("short", "full"), default="short")
    parser.add_argument("--rivals", type=_words(ranking_rivals.RIVALS), default=["als"])
    parser.add_argument("--factors", type=_numbers, help="of the rivals; default: as many as ours")
    parser.add_argument("--full", action="store_true", help="4 splits, all rivals, the full grid")
    parser.add_argument("--table", type=Path, help="CSV file of all fits, read and continued")
    parser.add_argument("--budget-s", type=float, default=120.0)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    options = parser.parse_args(arguments)
    if "grid" in options.only and not (options.table and options.factors):
        parser.error("the grid alone needs --table and --factors")
    if options.full:
        options.splits, options.grid, options.rivals = 4, "full", list(ranking_rivals.RIVALS)
    options.clock = CLOCKS[options.clock]
    return options


def _words(known: Any) -> Callable[[str], list[str]]:
    """Return a parser of comma-separated words that refuses unknown ones."""

    def read(text: str) -> list[str]:
        words = text.split(",")
        if unknown := set(words) - set(known):
            raise argparse.ArgumentTypeError(
                f"no {', '.join(sorted(unknown))}; there are {', '.join(known)}"
            )
        return words

    return read


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main() -> int:
    """Run the chosen sections and print their tables."""
    options = options_of()
    compile_kernels()
    figures: list[Figure] = []
    for name in options.only:
        print(f"{name} ...", file=sys.stderr, flush=True)
        neighbours = Neighbours()
        figures += SECTIONS[name](options)
        busy = neighbours.cores()
        figures.append(Figure("Neighbours", f"other processes during {name}", busy, "cores"))
    return publish(figures, as_json=options.json, data=", ".join(options.sets))


if __name__ == "__main__":
    sys.exit(main())
