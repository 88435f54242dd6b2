"""One-class factorisation: three losses, with and without a graph, and labels of points.

    python -m bench.one_class losses|graph [--settings 24] [--splits 5] [--table FILE] [--json]
    python -m bench.one_class labels [--json]

``losses`` and ``graph`` print one row per setting: the mean over the splits and the half width of
its 95 % interval. Settings are drawn at random; every model sees the same splits, and each setting
counts at its best round. ``--table`` is a Markdown file to which the rows are appended; rows it
already contains are not computed again. ``labels`` runs ``hedgerow eval labels`` with its defaults.
"""

import argparse
import csv
import gzip
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np

from bench.data import FOLDER
from bench.report import Figure, publish
from core import ranking_metrics
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.graph import similarity
from core.batch.ocmf.model import Ocmf
from core.batch.ocmf.search import search
from core.batch.ranker import rank
from core.interactions import Interactions, from_pairs
from core.search.search import Budget
from core.splits import random_split
from core.types import F64

ROUNDS = 6
SEARCH_S = 30.0
SEARCH_CLOCK = time.process_time
"""Clock of a search, over all threads, so that its result depends little on other processes."""
STRENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3)
T_95 = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776}
"""Student's 97.5 % quantile by the number of splits."""

LOSSES = {
    "SQ-SQ": OcmfConfig(loss="square", weight=1.0, rounds=ROUNDS),
    "SQ-wSQ": OcmfConfig(loss="square", rounds=ROUNDS),
    "LR-wSQ": OcmfConfig(loss="logistic", rounds=ROUNDS),
}
SOCIAL = {
    "Last.fm HetRec, friends": (
        "lastfm-hetrec/user_artists.csv.gz",
        "lastfm-hetrec/friends.csv.gz",
    ),
    "FilmTrust, trust": ("filmtrust/ratings.csv.gz", "filmtrust/trust.csv.gz"),
}

Metric = Callable[[ranking_metrics.Hits], F64]


LABEL_BARS = {"xmlc-bibtex": 63.0, "xmlc-delicious": 66.5}
"""Bars for the P@1 of LR-wSQ, in percent."""
LABEL_MODELS = ("ocmf-lr-wsq", "ocmf-sq-wsq", "ocmf-sq-sq")

Split = tuple[Interactions, Interactions]
Known = list[dict[str, str]]
"""Rows that the table already contains."""
SEARCHED = ("reg", "nu", "weight", "target")


def rows(path: str) -> list[list[str]]:
    """Return the rows of a CSV file without its header."""
    with gzip.open(FOLDER / path, "rt") as lines:
        return list(csv.reader(lines))[1:]


def numbered(table: list[list[str]]) -> tuple[Interactions, dict[str, int]]:
    """Return user-item pairs, and the users' numbers by id."""
    users: dict[str, int] = {}
    items: dict[str, int] = {}
    user_ix = [users.setdefault(row[0], len(users)) for row in table]
    item_ix = [items.setdefault(row[1], len(items)) for row in table]
    return from_pairs(np.array(user_ix), np.array(item_ix)), users


def search_budget() -> Budget:
    """Return a budget of SEARCH_S seconds, averaged over all threads."""
    return Budget(lambda: SEARCH_CLOCK() / numba.get_num_threads(), SEARCH_S)


def curve(
    config: OcmfConfig, train: Interactions, test: Interactions, metric: Metric, graph: Any = None
) -> list[float]:
    """Return the metric after each round."""
    held_out = np.flatnonzero(test.user_counts)
    seen, held = train.rows(held_out), test.rows(held_out)
    values: list[float] = []

    def on_round(model: Ocmf, number: int) -> bool:
        ids, _ = rank(model.trained_users[held_out], model.item_factors, seen, 20)
        values.append(float(metric(ranking_metrics.hits(ids, held)).mean()))
        return False

    Ocmf(config).fit(train, graph=graph, on_round=on_round)
    return values


def best_round(curves: list[list[float]]) -> F64:
    """Return the value of each split at the round with the best mean."""
    table = np.array(curves)
    values: F64 = table[:, table.mean(axis=0).argmax()]
    return values


def interval(values: F64) -> tuple[float, float]:
    """Return the mean and the half width of its 95 % interval."""
    half = T_95[values.size] * values.std(ddof=1) / np.sqrt(values.size)
    return float(values.mean()), float(half)


def searched(base: OcmfConfig, pairs: Interactions, fixed: set[str], known: Known) -> OcmfConfig:
    """Return settings searched on these pairs, or those of the first row in ``known``."""
    if not known:
        return search(pairs, base, search_budget(), fixed=frozenset(fixed))
    return replace(base, **{name: float(known[0][name]) for name in SEARCHED})


def losses(n_settings: int, n_splits: int, known: Known) -> Iterator[dict[str, Any]]:
    """Yield the precision@5 of each loss, at settings of its own.

    The data are ML-100K's ratings of 4 and 5, split 90/10, with 64 factors. The first row of a loss
    has settings that were searched on the training part of the first split.
    """
    table = [row for row in rows("ml-100k/ratings.csv.gz") if float(row[2]) >= 4]
    pairs, _ = numbered(table)
    splits = [random_split(pairs, 0.1, np.random.default_rng(seed)) for seed in range(n_splits)]
    for name, base in LOSSES.items():
        fixed = {"factors", *({"weight"} if name == "SQ-SQ" else ())}
        start = replace(base, factors=64)
        have = [row for row in known if row["model"] == name]
        found_one = searched(start, splits[0][0], fixed, have)
        rng = np.random.default_rng(7)
        configs = [found_one, *(drawn(name, start, rng) for _ in range(n_settings))]
        for config in configs[len(have) :]:
            found = [curve(config, *split, _precision) for split in splits]
            mean, half = interval(100.0 * best_round(found))
            yield {
                "model": name,
                "settings": "searched" if config is found_one else "drawn",
                **{field: getattr(config, field) for field in SEARCHED},
                "precision@5": mean,
                "+-": half,
            }


def drawn(name: str, base: OcmfConfig, rng: np.random.Generator) -> OcmfConfig:
    """Return random settings from the region where these models are good."""
    some = replace(
        base,
        reg=float(10.0 ** rng.uniform(0.0, 1.6)),
        nu=float(rng.choice([0.0, 0.5])),
        weight=float(10.0 ** rng.uniform(-2.0, 0.0)),
        target=float(rng.choice([0.0, -0.5])),
    )
    return replace(some, weight=1.0, target=0.0) if name == "SQ-SQ" else some


def graph(n_settings: int, n_splits: int, known: Known) -> Iterator[dict[str, Any]]:
    """Yield the ndcg@10 of each setting with and without its graph, on 80/20 splits.

    The first rows of a model have settings that were searched without the graph, at several
    strengths of it.
    """
    for data, (path, links_path) in SOCIAL.items():
        pairs, users = numbered(rows(path))
        links = [(users[a], users[b]) for a, b, *_ in rows(links_path) if a in users and b in users]
        similar = similarity(links, pairs.n_users)
        splits = [random_split(pairs, 0.2, np.random.default_rng(seed)) for seed in range(n_splits)]
        plain: dict[OcmfConfig, F64] = {}
        for name in ("SQ-wSQ", "LR-wSQ"):
            base = replace(LOSSES[name], factors=32)
            have = [row for row in known if (row["data"], row["model"]) == (data, name)]
            found_one = searched(base, splits[0][0], {"factors"}, have)
            strong = [replace(found_one, rounds=ROUNDS, graph=strength) for strength in STRENGTHS]
            rng = np.random.default_rng(8)
            other = [
                replace(drawn(name, base, rng), graph=float(10.0 ** rng.uniform(-2.5, 0.0)))
                for _ in range(n_settings)
            ]
            for config in [*strong, *other][len(have) :]:
                yield {"data": data, "model": name} | {
                    "settings": "searched" if config in strong else "drawn",
                    **{field: getattr(config, field) for field in (*SEARCHED, "graph")},
                    **_gain(config, splits, similar, plain),
                }


def _gain(
    config: OcmfConfig, splits: list[Split], similar: Any, plain: dict[OcmfConfig, F64]
) -> dict[str, float]:
    """Return ndcg@10 with and without the graph, and the paired difference.

    ``plain`` caches the values without the graph.
    """
    alone = replace(config, graph=0.0)
    if alone not in plain:
        plain[alone] = best_round([curve(alone, *split, _ndcg) for split in splits])
    with_it = best_round([curve(config, *split, _ndcg, similar) for split in splits])
    without = plain[alone]
    named = {"ndcg@10": with_it, "without": without, "gain": with_it - without}
    out: dict[str, float] = {}
    for name, values in named.items():
        out[name], out[f"+- {name}"] = interval(values)
    return out


def _precision(hits: ranking_metrics.Hits) -> F64:
    return ranking_metrics.precision(hits, 5)


def _ndcg(hits: ranking_metrics.Hits) -> F64:
    return ranking_metrics.ndcg(hits, 10)


def labels() -> list[Figure]:
    """Return figures of each label set and model by the command, with default settings."""
    figures = []
    for data, bar in LABEL_BARS.items():
        for model in LABEL_MODELS:
            found = _eval_labels(data, model)
            fit = f"fit {found['fit_seconds']:.1f} s, search {found['search_seconds']:.0f} s"
            chosen = {k: found["parameters"][k] for k in ("weight", "reg", "rounds", "landmarks")}
            note = f"{fit}; " + ", ".join(f"{name} {text(v)}" for name, v in chosen.items())
            figures += [
                Figure(
                    "Labels",
                    f"{data}, {model}: {metric}",
                    found[metric],
                    "%",
                    bar=bar if (metric, model) == ("p@1", LABEL_MODELS[0]) else None,
                    better="higher",
                    note=note if metric == "p@1" else "",
                )
                for metric in ("p@1", "p@3", "p@5")
            ]
    return figures


def _eval_labels(data: str, model: str) -> dict[str, Any]:
    parts = (str(FOLDER / data / f"{part}.txt.gz") for part in ("train", "test"))
    program = str(Path(sys.executable).with_name("hedgerow"))
    command = [program, "eval", "labels", *parts, "--model", model, "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{ended.stderr[-2000:]}")
    return dict(json.loads(ended.stdout))


def text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def rows_of(table: Path) -> Known:
    """Return the rows of a Markdown file with one table; empty if there is no file."""
    if not table.is_file():
        return []
    lines = [line for line in table.read_text().splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


def write(table: Path | None, lines: list[str]) -> None:
    print(*lines, sep="\n", flush=True)
    if table is not None:
        with table.open("a") as file:
            print(*lines, sep="\n", file=file)


def main() -> int:
    """Print one row at a time."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.one_class",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=["losses", "graph", "labels"])
    parser.add_argument("--settings", type=int, default=24)
    parser.add_argument("--splits", type=int, default=5, choices=sorted(T_95))
    parser.add_argument("--table", type=Path, help="Markdown file of the rows, read and continued")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.what == "labels":
        return publish(labels(), as_json=given.json, data=", ".join(LABEL_BARS))
    known = rows_of(given.table) if given.table else []
    found = {"losses": losses, "graph": graph}[given.what](given.settings, given.splits, known)
    for number, row in enumerate(found, len(known)):
        if given.json:
            print(json.dumps(row), flush=True)
            continue
        if number == 0:
            write(given.table, [f"| {' | '.join(row)} |", f"|{'---|' * len(row)}"])
        write(given.table, [f"| {' | '.join(map(text, row.values()))} |"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
