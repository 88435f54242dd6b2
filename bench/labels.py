"""Label models on two label sets, run by the command with settings searched on training data.

    python -m bench.labels [--budget-s 120] [--only bibtex,delicious,revealed,cold] [--json]

They are shown beside one-against-all ridge regression on the same features. Its regularisation is
picked on the test part, so its figures are an upper bound.
"""

import argparse
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
from bench.movielens import encoder, folds, movielens
from bench.report import Figure, publish
from core.batch.feature_map import FeatureMap
from core.batch.ocmf.labels import KS, precisions
from core.interactions import from_pairs
from core.labels.regression import Regression
from core.labels.sppmi import as_matrix
from core.ranking_metrics import hits, ndcg
from core.search.search import Budget
from core.types import F64, I32
from service.files.labelled_points import read_xmlc
from service.training.data.material import Material
from service.training.recipes import SERVED

SETS = {
    "bibtex": ("exmlds1", "exmlds2", "exmlds3", "exmlds4"),
    "delicious": ("exmlds1", "exmlds4"),
}
BEST = {"bibtex": (65.3, 39.6, 28.7), "delicious": (67.5, 61.0, 56.3)}
SPECTRAL = {"bibtex": (63.4, 38.0, 27.6)}
SECONDS = {"bibtex": 5.0, "delicious": 20.0}
REVEALED, REVEALED_BAR = 0.2, 47.0
COLD_USERS = "Cold users: ML-1M, a fifth of the users held out"
COLD, COLD_FOLDS, DEPTH = ("exmlds", "ocmf-lr-wsq", "ocmf-sq-wsq"), 5, 10
REGS = (0.3, 1.0, 3.0)

Report = dict[str, Any]


def files(name: str) -> tuple[Path, Path]:
    folder = FOLDER / f"xmlc-{name}"
    return folder / "train.txt.gz", folder / "test.txt.gz"


def evaluate(name: str, model: str, *flags: str) -> Report:
    """Return the report of `hedgerow eval labels`."""
    command = [str(Path(sys.executable).with_name("hedgerow")), "eval", "labels"]
    command += [*map(str, files(name)), "--model", model, "--json", *flags]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{ended.stderr[-2000:]}")
    return dict(json.loads(ended.stdout))


def against_all(name: str) -> dict[str, float]:
    """Return the best p@k of a ridge regression of each label on the features."""
    train, test = (read_xmlc(path) for path in files(name))
    regression = Regression(FeatureMap().transform(train.features))
    precision = []
    for reg in REGS:
        weights = regression.ridge(as_matrix(train.labels), reg)
        scores = np.asarray(FeatureMap().transform(test.features) @ weights)
        best: I32 = np.argsort(-scores, axis=1)[:, : max(KS)].astype(np.int32)
        precision.append(precisions(best, test.labels))
    return {key: max(row[key] for row in precision) for key in precision[0]}


def of_set(name: str, budget: str) -> Iterator[Figure]:
    """Yield the figures of all models on one set, then those of the best model against the bars."""
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
        yield from climbed(section, name, reports["exmlds1"], budget)


def climbed(section: str, name: str, flat: Report, budget: str) -> Iterator[Figure]:
    """Yield the gain of climbing from the settings of exmlds1.

    The command decides whether to climb.
    """
    given = [f"--set={one}={flat['parameters'][one]}" for one in ("factors", "reg", "landmarks")]
    report = evaluate(name, "exmlds4", "--budget-s", budget, *given)
    note = f"{report['parameters']['epochs']} epochs of climbing"
    for k in KS:
        ahead = report[f"p@{k}"] - flat[f"p@{k}"]
        what = f"exmlds4 less exmlds1, equal settings: p@{k}"
        yield Figure(section, what, ahead, "points", 0.0, "higher", note)


def precision_figures(
    section: str, what: str, report: Report, bars: tuple[float | None, ...]
) -> Iterator[Figure]:
    for k, bar in zip(KS, bars, strict=True):
        yield Figure(section, f"{what}: p@{k}", report[f"p@{k}"], "%", bar, "higher")


def revealed(budget: str) -> Iterator[Figure]:
    """Yield the precision that is reached with a fifth of the training labels."""
    section, share = "Labels: Bibtex, 20 % of the training labels", str(REVEALED)
    for model, bar in (("exmlds3", REVEALED_BAR), ("exmlds1", None)):
        report = evaluate("bibtex", model, "--budget-s", budget, "--revealed", share)
        yield from precision_figures(section, model, report, (bar, None, None))


def cold_users(budget: str) -> Iterator[Figure]:
    """Yield how well age, gender and occupation rank items for users of MovieLens 1M.

    Each user is held out once, together with the other users of the same fold.
    """
    world = movielens()
    liked = world.value >= 4.0
    pairs = from_pairs(
        world.user_ix[liked],
        world.item_ix[liked],
        n_users=len(world.users),
        n_items=len(world.items),
    )
    found: dict[str, list[F64]] = {name: [] for name in ("popular", *COLD)}
    for seed, (held, fitting) in enumerate(folds(pairs.n_users, COLD_FOLDS)):
        held_out = held[pairs.user_counts[held] > 0]
        encoded = encoder([world.users[user] for user in fitting], seed)
        features, asked = (
            encoded.transform([world.users[user] for user in part]) for part in (fitting, held_out)
        )
        train, truth = pairs.rows(fitting), pairs.rows(held_out)
        material = Material(train, user_features=features)
        best = np.argsort(-train.item_counts, kind="stable")[:DEPTH].astype(np.int32)
        lists = {"popular": np.tile(best, (truth.n_users, 1))}
        lists |= {name: ranked(name, material, asked, float(budget)) for name in COLD}
        for name, ids in lists.items():
            found[name].append(ndcg(hits(ids, truth), DEPTH))
        yield from compared(f"part {seed}", {name: scores[-1] for name, scores in found.items()})
    whole = {name: np.concatenate(scores) for name, scores in found.items()}
    yield from compared("all parts", whole, bars=(3.0, 0.0))


def ranked(name: str, material: Material, asked: Any, budget: float) -> I32:
    """Return the best items (n, DEPTH) of users with these features.

    The model is trained and ranks as in the service.
    """
    recipe, clock = SERVED[name], Budget(perf_counter, budget)
    stated = recipe.settings.ordered({})
    found = recipe.search(material, stated, clock)
    model = recipe.fit(material, found.config)
    if name == "exmlds":
        scores = model.scores(asked)
    else:
        scores = model.feature_vectors(asked) @ model.row.item_factors.T
    return np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH].astype(np.int32)


def compared(
    what: str, found: dict[str, F64], bars: tuple[float | None, float | None] = (None, None)
) -> Iterator[Figure]:
    """Yield the gains in ndcg@10 relative to popularity, with 95 % intervals paired over users."""
    popular, first = found["popular"], found[COLD[0]]
    for name in COLD:
        figures = gain(found[name], popular)
        own = bars if name == COLD[0] else (None, None)
        note = f"{found[name].mean():.4f}, popular {popular.mean():.4f}; {popular.size} users"
        yield Figure(COLD_USERS, f"{what}, {name}: gain", figures[0], "%", own[0], "higher", note)
        yield Figure(COLD_USERS, f"{what}, {name}: low end", figures[1], "%", own[1], "higher")
    for name in COLD[1:]:
        middle, low, high = gain(first, found[name])
        note = f"95 % interval {low:+.1f} .. {high:+.1f}"
        yield Figure(COLD_USERS, f"{what}, {COLD[0]} over {name}", middle, "%", note=note)


def gain(one: F64, other: F64) -> tuple[float, float, float]:
    """Return the mean gain of ``one`` over ``other`` in percent, and its 95 % interval."""
    difference = 100.0 * (one - other) / other.mean()
    middle, half = float(difference.mean()), 1.96 * float(difference.std()) / difference.size**0.5
    return middle, middle - half, middle + half


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
