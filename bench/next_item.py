"""Next-item prediction on ML-1M: what the previous item and the genres add to matrix factorisation.

    python -m bench.next_item [--json]

Each user's last rating in time is held out and ranked among all items the user had not rated
before. MF knows the user; SVDFeature knows the user, the previously rated item and the genres of
the items. Both are fitted by the same gradient descent, MF also by preconditioned steps (fBGD).
Settings are chosen on the second-to-last rating.
"""

import argparse
import csv
import gzip
import sys
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from bench.data import FOLDER
from bench.report import Figure, publish
from core import ranking_metrics
from core.batch.contexts.config import DescentConfig
from core.batch.contexts.descent import descend
from core.batch.contexts.dot_models import DotModel, MatrixFactorisation, SvdFeature
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.ranker import rank
from core.interactions import Interactions, from_pairs

FACTORS, MOST_EPOCHS, EVERY = 48, 60, 10
BASE = DescentConfig(learning_rate=0.1, epochs=MOST_EPOCHS, rho=0.3)
REGS = (0.03, 0.3)
ALPHAS = {"MF": (200.0, 800.0, 3200.0, 12800.0), "SVDFeature": (1.25, 5.0, 20.0)}
"""Weights of a context's unlabelled pairs.

A context of SVDFeature has one positive, a context (user) of MF about 160.
"""
STEPS_GRID = [(alpha0, reg) for alpha0 in (500.0, 2000.0, 8000.0) for reg in (6.0, 12.0, 24.0)]
MOST_STEPS = 20


@dataclass(frozen=True)
class Events:
    """Ratings sorted by user and time; ``left`` counts the user's later ratings."""

    user: np.ndarray
    item: np.ndarray
    previous: np.ndarray
    """Item rated just before, n_items if there is none."""
    left: np.ndarray
    n_users: int
    n_items: int
    genres: Any
    """Sparse matrix with one row per item: the item itself and its genres."""


def read() -> Events:
    with gzip.open(FOLDER / "ml-1m" / "ratings.csv.gz", "rt") as lines:
        table = np.loadtxt(lines, delimiter=",", skiprows=1, usecols=(0, 1, 3)).astype(np.int64)
    user = np.unique(table[:, 0], return_inverse=True)[1]
    item_ids, item = np.unique(table[:, 1], return_inverse=True)
    order = np.lexsort((np.arange(user.size), table[:, 2], user))
    user, item = user[order], item[order]
    first = np.r_[True, user[1:] != user[:-1]]
    previous = np.where(first, item_ids.size, np.r_[0, item[:-1]])
    counts = np.bincount(user)
    left = np.repeat(np.cumsum(counts), counts) - 1 - np.arange(user.size)
    return Events(user, item, previous, left, counts.size, item_ids.size, _genres(item_ids))


def _genres(item_ids: np.ndarray) -> Any:
    with gzip.open(FOLDER / "ml-1m" / "movies.csv.gz", "rt", encoding="utf-8") as lines:
        named = {int(row["item"]): row["genres"].split("|") for row in csv.DictReader(lines)}
    columns = {genre: at for at, genre in enumerate(sorted(set().union(*named.values())))}
    rows = [
        (row, columns[genre]) for row, item in enumerate(item_ids) for genre in named[int(item)]
    ]
    at = np.array(rows).T
    genres = sparse.csr_array((np.ones(len(rows)), at), shape=(item_ids.size, len(columns)))
    return sparse.hstack([sparse.eye_array(item_ids.size), genres], format="csr")


def features(events: Events, rows: np.ndarray) -> Any:
    """Return one sparse row per rating: its user and previous item."""
    n = rows.size
    columns = np.column_stack([events.user[rows], events.n_users + events.previous[rows]])
    shape = n, events.n_users + events.n_items + 1
    return sparse.csr_array(
        (np.ones(2 * n, np.float32), columns.ravel(), np.arange(0, 2 * n + 1, 2)), shape
    )


def held_out(events: Events, left: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to learn and the rows to rank.

    The ranked rows have exactly ``left`` later ratings of their user, hence one row per user.
    """
    return np.flatnonzero(events.left > left), np.flatnonzero(events.left == left)


def task(events: Events, left: int) -> tuple[Interactions, np.ndarray, Interactions]:
    """Return the training pairs, the users to rank for, and the held-out item of each."""
    learned, ranked = held_out(events, left)
    shape = {"n_users": events.n_users, "n_items": events.n_items}
    known = from_pairs(events.user[learned], events.item[learned], **shape)
    one = np.arange(ranked.size)
    held = from_pairs(one, events.item[ranked], n_users=ranked.size, n_items=events.n_items)
    return known, events.user[ranked], held


def curve(
    model: DotModel[Any],
    contexts: Any,
    pairs: Interactions,
    asked: Any,
    seen: Interactions,
    held: Interactions,
    config: DescentConfig,
) -> list[float]:
    """Return ndcg@10 after every EVERY epochs."""
    scores: list[float] = []

    def on_epoch(parameters: Any, epoch: int) -> bool:
        if epoch % EVERY == 0:
            vectors, targets = model.left(parameters, asked), model.right(parameters)
            ids, _ = rank(vectors, np.ascontiguousarray(targets), seen, 10)
            found = ranking_metrics.hits(ids, held)
            scores.append(float(ranking_metrics.ndcg(found, 10).mean()))
        return False

    descend(model, contexts, pairs, config, on_epoch=on_epoch)
    return scores


def run(events: Events, name: str, left: int, config: DescentConfig) -> list[float]:
    """Return the curve of MF or SVDFeature.

    It is fitted to ratings with more than ``left`` later ones and ranks those with exactly
    ``left``.
    """
    learned, ranked = held_out(events, left)
    known, rows, held = task(events, left)
    if name == "MF":
        model = MatrixFactorisation(events.n_users, events.n_items, FACTORS)
        contexts = np.arange(events.n_users)
        return curve(model, contexts, known, rows, known.rows(rows), held, config)
    wide = SvdFeature(events.n_users + events.n_items + 1, events.genres, FACTORS)
    each = from_pairs(np.arange(learned.size), events.item[learned], n_items=events.n_items)
    contexts, asked = features(events, learned), features(events, ranked)
    return curve(wide, contexts, each, asked, known.rows(rows), held, config)


def run_steps(events: Events, left: int, config: FbgdConfig) -> list[float]:
    """Fit MF by preconditioned steps; return ndcg@10 after every epoch."""
    known, rows, held = task(events, left)
    seen, scores = known.rows(rows), []

    def on_epoch(model: Fbgd, epoch: int) -> bool:
        ids, _ = rank(model.user_vectors(seen), model.item_factors, seen, 10)
        scores.append(float(ranking_metrics.ndcg(ranking_metrics.hits(ids, held), 10).mean()))
        return False

    Fbgd(config).fit(known, on_epoch=on_epoch)
    return scores


def chosen(events: Events, name: str) -> tuple[float, DescentConfig]:
    """Choose settings on the second-to-last rating.

    Returns ndcg@10 on the last rating, and the settings.
    """
    tried = []
    for alpha0, reg in product(ALPHAS[name], REGS):
        config = replace(BASE, alpha0=alpha0, reg=reg)
        scores = run(events, name, 1, config)
        print(name, config, scores, file=sys.stderr, flush=True)
        tried.append((max(scores), replace(config, epochs=EVERY * (1 + int(np.argmax(scores))))))
    config = max(tried, key=lambda one: one[0])[1]
    return run(events, name, 0, config)[-1], config


def chosen_steps(events: Events) -> tuple[float, FbgdConfig]:
    """Choose the settings of MF by preconditioned steps; return the same as ``chosen``."""
    tried = []
    for alpha0, reg in STEPS_GRID:
        config = FbgdConfig(FACTORS, alpha0=alpha0, reg=reg, epochs=MOST_STEPS)
        scores = run_steps(events, 1, config)
        print(config, scores, file=sys.stderr, flush=True)
        tried.append((max(scores), replace(config, epochs=1 + int(np.argmax(scores)))))
    config = max(tried, key=lambda one: one[0])[1]
    return run_steps(events, 0, config)[-1], config


def figures(events: Events) -> list[Figure]:
    """Measure each model at its best settings; compare SVDFeature with the better MF."""
    best = {name: chosen(events, name) for name in ALPHAS}
    best_of_all = {**best, "MF, preconditioned steps": chosen_steps(events)}
    others = [score for name, (score, _) in best_of_all.items() if name != "SVDFeature"]
    ratio = best["SVDFeature"][0] / max(others)
    section = "Next item, ML-1M"
    return [
        *(
            Figure(section, f"{name}: ndcg@10", score, note=summary(config))
            for name, (score, config) in best_of_all.items()
        ),
        Figure(section, "SVDFeature : the better MF, ndcg@10", ratio, "", 1.2, "higher"),
    ]


def summary(config: DescentConfig | FbgdConfig) -> str:
    return f"g {FACTORS}, alpha0 {config.alpha0:g}, reg {config.reg:g}, {config.epochs} epochs"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.next_item", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    return publish(figures(read()), as_json=parser.parse_args().json, data="ML-1M")


if __name__ == "__main__":
    sys.exit(main())
