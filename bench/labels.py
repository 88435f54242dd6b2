"""Label models on the two label sets, each by the command itself with settings it finds on the training part.

    python -m bench.labels [--budget-s 120] [--only bibtex,delicious,revealed,cold] [--json]

Beside them one-against-all ridge on the same features, its regularisation picked on the test part, hence an upper end.
"""

import argparse
import csv
import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from bench.data import FOLDER
from bench.report import Figure, publish
from core.batch.features import FeatureMap
from core.batch.label_search import KS, precisions
from core.batch.search import Budget
from core.features import EncoderFit
from core.interactions import Interactions, from_pairs
from core.labels.config import standard
from core.labels.exmlds import Exmlds
from core.labels.regression import Regression
from core.labels.search import search
from core.labels.sppmi import as_matrix
from core.ranking_metrics import hits, ndcg
from core.types import I32
from service.xmlc_file import read_xmlc

SETS = {
    "bibtex": ("exmlds1", "exmlds2", "exmlds3", "exmlds4"),
    "delicious": ("exmlds1", "exmlds4"),
}
BEST = {"bibtex": (65.3, 39.6, 28.7), "delicious": (67.5, 61.0, 56.3)}
SPECTRAL = {"bibtex": (63.4, 38.0, 27.6)}
SECONDS = {"bibtex": 5.0, "delicious": 20.0}
REVEALED, REVEALED_BAR = 0.2, 47.0
COLD_SPLITS = 3
REGS = (0.3, 1.0, 3.0)

Report = dict[str, Any]


def files(name: str) -> tuple[Path, Path]:
    folder = FOLDER / f"xmlc-{name}"
    return folder / "train.txt.gz", folder / "test.txt.gz"


def evaluate(name: str, model: str, *flags: str) -> Report:
    """Return what `hedgerow eval labels` says."""
    command = [str(Path(sys.executable).with_name("hedgerow")), "eval", "labels"]
    command += [*map(str, files(name)), "--model", model, "--json", *flags]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{ended.stderr[-2000:]}")
    return dict(json.loads(ended.stdout))


def against_all(name: str) -> dict[str, float]:
    """Return the best p@k that ridge regression of each label on the features reaches."""
    train, test = (read_xmlc(path) for path in files(name))
    regression = Regression(FeatureMap().transform(train.features))
    found = []
    for reg in REGS:
        weights = regression.ridge(as_matrix(train.labels), reg)
        scores = np.asarray(FeatureMap().transform(test.features) @ weights)
        best: I32 = np.argsort(-scores, axis=1)[:, : max(KS)].astype(np.int32)
        found.append(precisions(best, test.labels))
    return {key: max(one[key] for one in found) for key in found[0]}


def of_set(name: str, budget: str) -> Iterator[Figure]:
    """Yield the figures of all models on one set, then those that the bars ask for."""
    section, reports = f"Labels: {name.capitalize()}", {}
    for model in SETS[name]:
        reports[model] = evaluate(name, model, "--budget-s", budget)
        print(json.dumps(reports[model]), file=sys.stderr, flush=True)
        bars = SPECTRAL.get(name, (None,) * 3) if model == "exmlds1" else (None,) * 3
        yield from precision_figures(section, model, reports[model], bars)
        limit = SECONDS[name] if model == "exmlds1" else None
        note = f"search {reports[model]['search_seconds']:.0f} s, {settings(reports[model])}"
        yield Figure(section, f"{model}: fit", reports[model]["fit_seconds"], "s", limit, note=note)
    yield from precision_figures(section, "ridge, one against all", against_all(name), (None,) * 3)
    best = max(reports.values(), key=lambda report: sum(report[f"p@{k}"] for k in KS))
    yield from precision_figures(section, f"the best, {best['model']}", best, BEST[name])
    if name == "bibtex":
        for k in KS:
            ahead = reports["exmlds4"][f"p@{k}"] - reports["exmlds1"][f"p@{k}"]
            yield Figure(
                section, f"exmlds4 less exmlds1: p@{k}", ahead, "points", 0.0, better="higher"
            )


def precision_figures(
    section: str, what: str, report: Report, bars: tuple[float | None, ...]
) -> Iterator[Figure]:
    for k, bar in zip(KS, bars, strict=True):
        yield Figure(section, f"{what}: p@{k}", report[f"p@{k}"], "%", bar, "higher")


def revealed(budget: str) -> Iterator[Figure]:
    """Yield what a fifth of the training labels is enough for."""
    section, share = "Labels: Bibtex, 20 % of the training labels", str(REVEALED)
    for model, bar in (("exmlds3", REVEALED_BAR), ("exmlds1", None)):
        report = evaluate("bibtex", model, "--budget-s", budget, "--revealed", share)
        yield from precision_figures(section, model, report, (bar, None, None))


def cold_users(budget: str) -> Iterator[Figure]:
    """Yield what age, gender and occupation say of MovieLens 1M's users that training has not seen."""
    section = "Cold users: ML-1M, a fifth of the users held out"
    documents, pairs = movielens()
    for seed in range(COLD_SPLITS):
        order = np.random.default_rng(seed).permutation(pairs.n_users)
        held, fitting = (np.sort(part) for part in np.split(order, [pairs.n_users // 5]))
        encoded = EncoderFit(np.random.default_rng(seed))
        encoded.add([documents[user] for user in fitting])
        encoder = encoded.encoder()
        known, truth = pairs.rows(fitting), pairs.rows(held)
        features = encoder.transform([documents[user] for user in fitting])
        config = search(
            features, known, standard("exmlds1", seed), Budget(perf_counter, float(budget))
        )
        model = Exmlds(config).fit(features, known)
        found = model.ranked(encoder.transform([documents[user] for user in held]), 10)
        best = np.argsort(-known.item_counts, kind="stable")[:10].astype(np.int32)
        yield from compared(section, seed, truth, found, np.tile(best, (truth.n_users, 1)))


def compared(
    section: str, seed: int, truth: Interactions, found: I32, popular: I32
) -> Iterator[Figure]:
    """Yield ndcg@10 of both, and the relative gain with the lower end of its paired 95 % interval."""
    liked = np.flatnonzero(truth.user_counts)
    one, other = (ndcg(hits(ranked[liked], truth.rows(liked)), 10) for ranked in (found, popular))
    yield Figure(section, f"split {seed}, exmlds1: ndcg@10", float(one.mean()))
    yield Figure(section, f"split {seed}, popular: ndcg@10", float(other.mean()))
    gain = (one - other) / other.mean()
    half = 1.96 * float(gain.std()) / np.sqrt(gain.size)
    percent = 100.0 * float(gain.mean())
    yield Figure(section, f"split {seed}, gain", percent, "%", 3.0, "higher")
    low = percent - 100.0 * half
    yield Figure(section, f"split {seed}, low end of its 95 % interval", low, "%", 0.0, "higher")


def movielens() -> tuple[list[dict[str, str]], Interactions]:
    """Return the users' documents and who gave what 4 or 5."""
    users = table("users")
    number = {row[0]: at for at, row in enumerate(users)}
    ratings = [(number[row[0]], int(row[1])) for row in table("ratings") if float(row[2]) >= 4.0]
    user_ix, items = np.array(ratings).T
    item_ix = np.unique(items, return_inverse=True)[1]
    documents = [{"gender": row[1], "age": row[2], "occupation": row[3]} for row in users]
    return documents, from_pairs(user_ix, item_ix, n_users=len(users))


def table(name: str) -> list[list[str]]:
    with gzip.open(FOLDER / "ml-1m" / f"{name}.csv.gz", "rt") as lines:
        return list(csv.reader(lines))[1:]


def settings(report: Report) -> str:
    wanted = ("factors", "reg", "landmarks", "neighbours", "sharpness", "blend")
    return ", ".join(f"{name} {report['parameters'][name]:g}" for name in wanted)


PARTS: dict[str, Callable[[str], Iterator[Figure]]] = {
    "bibtex": partial(of_set, "bibtex"),
    "delicious": partial(of_set, "delicious"),
    "revealed": revealed,
    "cold": cold_users,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget-s", default="120", help="seconds of each search")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures: list[Figure] = []
    for part in options.only.split(","):
        figures += PARTS[part](options.budget_s)
    return publish(figures, as_json=options.json, data="Bibtex, Delicious, ML-1M")


if __name__ == "__main__":
    sys.exit(main())
