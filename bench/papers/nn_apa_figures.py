"""NN-APA: Figures 1 to 4 and Table 4."""

import csv
import gzip
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench import data
from bench.papers.charts import Chart
from bench.papers.intervals import Estimate, of_draws, of_splits
from bench.papers.online_pass import Passed, Stream, learned, unconstrained
from bench.papers.rows import Cell, Row
from core.online.experts import PassiveAggressive
from core.types import F64

PAPER = "NN-APA"
POINTS = 120
"""Points of a line."""
CS = tuple(np.geomspace(0.01, 10.0, 10).tolist())
KS = (2, 5, 10, 20, 40)
FIGURE_RANK = 10
TEST_SHARE = 0.2
TOPICS, SHOWN, DRAWS = 6, 5, 1_000

Chosen = Mapping[tuple[str, int], tuple[float, float]]


def online(name: str, rank: int, kept: Mapping[str, Passed]) -> Iterator[Row | Chart]:
    """Yield Figure 1, the error over the ratings so far, and Figure 2, the error over the time."""
    lines, timed = {}, {}
    for method, run in kept.items():
        error = run.cumulative()
        at = np.unique(np.geomspace(min(100, error.size), error.size, POINTS).astype(int)) - 1
        lines[method] = at + 1.0, error[at]
        timed[method] = (at + 1.0) / error.size * run.seconds, error[at]
    title = f"{name}, k={rank}: mean error while learning"
    slug = name.lower()
    yield Chart(f"nn-apa-figure-1-{slug}", title, "ratings", lines, log_x=True)
    yield Chart(f"nn-apa-figure-2-{slug}", title, "seconds", timed, log_x=True)
    enough = min(run.seconds for run in kept.values())
    for method, run in kept.items():
        error = run.cumulative()
        done = max(min(int(error.size * enough / run.seconds), error.size), 1)
        cell = Cell(PAPER, "Figure 2", name, f"{method}, k={rank}", "MAE in equal time")
        note = f"after {enough:.3g} s, when the quickest ends; {done / error.size:.0%} learned"
        yield cell.row(Estimate.single(float(error[done - 1])), None, note)


def sensitivity(parts: Sequence[Stream], chosen: Chosen, last: int) -> Iterator[Row | Chart]:
    """Yield Figure 3, the error by C with and without the constraint, and Figure 4, by rank."""
    name = parts[0].train.name
    some = parts[:3]
    rank = FIGURE_RANK if ("NN-PA", FIGURE_RANK) in chosen else last
    by_c = _by_c(some, rank, chosen)
    lines = {method: (CS, values.mean(axis=0)) for method, values in by_c.items()}
    title = f"{name}, k={rank}: test MAE by C"
    yield Chart(f"nn-apa-figure-3-{name.lower()}", title, "C", _cut(lines), log_x=True)
    spread = {method: np.ptp(np.minimum(v, 1e3), axis=1) for method, v in by_c.items()}
    for method, values in spread.items():
        cell = Cell(PAPER, "Figure 3", name, method, "worst less best test MAE over C")
        yield cell.row(of_splits(values, TEST_SHARE), None, f"C {CS[0]:g} .. {CS[-1]:g}, k={rank}")
    for other in ("NN-PA", "APA without the constraint"):
        gain = of_splits(spread[other] - spread["NN-APA diag"], TEST_SHARE)
        what = f"NN-APA depends less on C than {other}"
        yield Cell(PAPER, "claims", name, what, "spread saved").claim(gain)
    by_k = _by_k(some, rank, chosen)
    lines_k = {method: (KS, values.mean(axis=0)) for method, values in by_k.items()}
    title = f"{name}: test MAE by rank"
    yield Chart(f"nn-apa-figure-4-{name.lower()}", title, "k", lines_k, log_x=True)
    for method, values in by_k.items():
        for at, k in enumerate(KS):
            cell = Cell(PAPER, "Figure 4", name, f"{method}, k={k}", "test MAE")
            yield cell.row(of_splits(values[:, at], TEST_SHARE), None, f"settings of k={rank}")


def _cut(
    lines: Mapping[str, tuple[Sequence[float], F64]],
) -> dict[str, tuple[Sequence[float], F64]]:
    """Return the lines without errors above twice the least, which would hide the rest."""
    most = 2.0 * min(float(y.min()) for _, y in lines.values())
    return {name: (x, np.where(y > most, np.nan, y)) for name, (x, y) in lines.items()}


def _by_c(parts: Sequence[Stream], rank: int, chosen: Chosen) -> dict[str, F64]:
    """Return the test error by permutation and C."""
    eps, delta = chosen["NN-PA", rank][1], chosen["NN-APA diag", rank][1]
    first_order = PassiveAggressive(metric="identity", rank=rank, eps=eps, init="paper")
    adaptive = PassiveAggressive(metric="diag", rank=rank, eps=0.0, delta=delta, init="paper")
    return {
        "NN-PA": _tests(parts, [replace(first_order, c=c) for c in CS]),
        "NN-APA diag": _tests(parts, [replace(adaptive, c=c) for c in CS]),
        "APA without the constraint": np.array(
            [[unconstrained(one, rank, c, delta).test_mae()[0] for c in CS] for one in parts]
        ),
    }


def _by_k(parts: Sequence[Stream], rank: int, chosen: Chosen) -> dict[str, F64]:
    """Return the test error by permutation and rank, with the settings of one rank."""
    c, eps = chosen["NN-PA", rank]
    first_order = PassiveAggressive(metric="identity", c=c, eps=eps, init="paper")
    c, delta = chosen["NN-APA diag", rank]
    adaptive = PassiveAggressive(metric="diag", c=c, eps=0.0, delta=delta, init="paper")
    return {
        "NN-PA": _tests(parts, [replace(first_order, rank=k) for k in KS]),
        "NN-APA diag": _tests(parts, [replace(adaptive, rank=k) for k in KS]),
    }


def _tests(parts: Sequence[Stream], experts: Sequence[PassiveAggressive]) -> F64:
    return np.array([learned(one, experts).test_mae() for one in parts])


@dataclass(frozen=True)
class Film:
    """A film's title and genres."""

    title: str
    genres: frozenset[str]


def topics(name: str) -> Iterator[Row]:
    """Yield Table 4: the films with the largest coordinates of some topics, with their genres."""
    ratings = data.read(name)
    films = _films(name)
    items = topic_vectors(ratings)
    order = np.argsort(-items, axis=0)[:SHOWN]
    strength = items.max(axis=0) / items.mean(axis=0)
    shares = []
    for topic in np.argsort(-strength, kind="stable")[:TOPICS]:
        shown = [films[ratings.item_ids[item]] for item in order[:, topic]]
        shares.append(agreement(shown))
        words = "; ".join(f"{one.title} ({', '.join(sorted(one.genres))})" for one in shown)
        cell = Cell(PAPER, "Table 4", name, f"topic {topic}", "share with the commonest genre")
        yield cell.row(Estimate.single(shares[-1]), None, words)
    rng = np.random.default_rng(0)
    every = [films[one] for one in ratings.item_ids]
    chance = np.mean(
        [
            agreement([every[at] for at in rng.choice(len(every), SHOWN, False)])
            for _ in range(DRAWS)
        ]
    )
    gain = of_draws(np.array(shares) - float(chance))
    what = "films of a topic share a genre more than random films"
    note = f"random films {chance:.2f}; tags and ML-10M are not at hand"
    yield Cell(PAPER, "claims", name, what, "share gained").claim(gain, None, note)


def agreement(films: Sequence[Film]) -> float:
    """Return the share of the films that have the commonest genre among them.

    >>> agreement([Film("a", frozenset({"Drama"})), Film("b", frozenset({"Drama", "War"}))])
    1.0
    """
    often = Counter(genre for film in films for genre in film.genres)
    return max(often.values()) / len(films)


def topic_vectors(ratings: data.Ratings) -> F64:
    """Return the item vectors of NN-APA diag after one pass, (items, k)."""
    stream = Stream(ratings, ratings.rows(np.arange(1)), 0)
    expert = PassiveAggressive(rank=FIGURE_RANK, c=0.05, eps=0.0, delta=0.01, init="paper")
    return learned(stream, [expert]).items[:, :FIGURE_RANK].astype(np.float64)


def _films(name: str) -> dict[str, Film]:
    with gzip.open(data.FOLDER / name.lower() / "movies.csv.gz", "rt", encoding="utf-8") as lines:
        return {
            row["item"]: Film(row["title"], frozenset(row["genres"].split("|")))
            for row in csv.DictReader(lines)
        }
