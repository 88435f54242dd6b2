"""The best settings that brute force finds on the TEST part, beside those that the program finds. Section of ``bench.ranking``.

First settings are drawn from everywhere, wider than the program searches, then near the best so far, whoever found them.
Each counts at its best epoch. All of that looks at the test part, so "best known" is a little too good.
"""

from typing import Any

import numpy as np

from bench import ranking_data
from bench.attempts import Attempt, Attempts, best
from bench.ranking_contest import Contest
from bench.ranking_own import OWN
from bench.report import Figure
from core.batch.fbgd.model import Fbgd, FbgdConfig
from core.batch.shrinkage import drawn as drawn_to_typical
from core.batch.weighting import mean_count
from core.interactions import Interactions

SECTION = "Ranking: own settings beside the best known"
STATED, DRAWN = "fBGD stated", "fBGD drawn"
BAR = 0.97
SETTINGS = {
    "Last.fm": (100, 50),
    "FilmTrust": (100, 50),
    "ML-100K": (40, 20),
    "ML-1M": (20, 10),
    "Gowalla": (8, 16),
    **dict.fromkeys(ranking_data.UNSEEN, (30, 20)),
}
"""How many are drawn on each split, from everywhere and near the best; a fit of the large sets takes long."""
MOST_EPOCHS, PATIENCE = 40, 4
HOPELESS = 0.8
"""After three epochs a fit below this share of the best so far is given up."""
NEAR = 0.25
"""Deviation of the factor by which a setting near the best differs from it."""
LEAST_FACTORS, MOST_FACTORS = 16, 512
VARIED = ("factors", "alpha0", "reg", "nu_user", "nu_item")


def drawn(train: Interactions, rng: np.random.Generator) -> FbgdConfig:
    """Return settings from anywhere; weights and regularisation in units of size and density of the data."""
    per_user, per_item = mean_count(train.user_counts), mean_count(train.item_counts)
    most = min(MOST_FACTORS, max(LEAST_FACTORS, min(train.n_users, train.n_items) // 2))
    return FbgdConfig(
        factors=8 * round(_between(rng, LEAST_FACTORS, most) / 8),
        alpha0=per_user * _between(rng, 0.5, 300.0),
        reg=float(np.sqrt(per_user * per_item)) * _between(rng, 0.003, 1.0),
        nu_user=float(rng.uniform(0.0, 1.0)),
        nu_item=float(rng.uniform(0.0, 1.0)),
        epochs=MOST_EPOCHS,
    )


def near(known: dict[str, Any], rng: np.random.Generator) -> FbgdConfig:
    """Return settings around these."""
    times = np.exp(NEAR * rng.standard_normal(3))
    nus = np.clip([known["nu_user"], known["nu_item"]] + 0.1 * rng.standard_normal(2), 0.0, 1.0)
    factors = round(known["factors"] * times[0] / 8)
    return FbgdConfig(
        factors=8 * min(max(factors, LEAST_FACTORS // 8), MOST_FACTORS // 8),
        alpha0=float(known["alpha0"] * times[1]),
        reg=float(known["reg"] * times[2]),
        nu_user=float(nus[0]),
        nu_item=float(nus[1]),
        draw=float(known.get("draw", 0.0)),
        epochs=MOST_EPOCHS,
    )


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw evenly in the logarithm."""
    return float(low * (high / low) ** rng.uniform())


def tried(over: Contest, config: FbgdConfig, metric: str, reached: float) -> Attempt:
    """Fit until the test part's metric stops rising; return the attempt at the best epoch."""
    curve: list[dict[str, float]] = []
    begun = over.clock()

    def on_epoch(model: Fbgd, epoch: int) -> bool:
        row = drawn_to_typical(model.fitted, over.train, config.draw)
        curve.append(over.scores(row.vectors(over.train), row.item_factors))
        values = [scores[metric] for scores in curve]
        stale = epoch - 1 - int(np.argmax(values)) >= PATIENCE
        return stale or (epoch >= 3 and max(values) < HOPELESS * reached)

    Fbgd(config).fit(over.train, on_epoch=on_epoch)
    at = int(np.argmax([scores[metric] for scores in curve]))
    settings = {name: getattr(config, name) for name in VARIED} | {"epochs": at + 1}
    if config.draw:
        settings["draw"] = config.draw
    return Attempt(over.data, over.split, DRAWN, settings, curve[at], over.clock() - begun)


def best_known(over: Contest, metric: str, table: Attempts) -> Attempt:
    """Try as many settings as the data set is given, going on where the table ends; return the best of all that are known."""
    anywhere, close = SETTINGS[over.data]
    tried_before = table.find(over.data, over.split, DRAWN)
    known = tried_before + [
        one for model in (OWN, STATED) for one in table.find(over.data, over.split, model)
    ]
    for number in range(len(tried_before), anywhere + close):
        rng = np.random.default_rng([over.split, number])
        if known and number >= anywhere:
            config = near(best(known, metric).settings, rng)
        else:
            config = drawn(over.train, rng)
        reached = best(known, metric).scores[metric] if known else 0.0
        known.append(tried(over, config, metric, reached))
        table.add(known[-1:])
    return best(known, metric)


def figure(data: str, metric: str, ours: list[Attempt], known: list[Attempt]) -> Figure:
    """Compare search by search; the worst counts."""
    pairs = [(a.scores[metric], b.scores[metric]) for a, b in zip(ours, known, strict=True)]
    what = f"{data}, own settings : best known, {sum(SETTINGS[data])} drawn, {metric}, worst search"
    note = "; ".join(f"{own:.4f} : {best_one:.4f}" for own, best_one in pairs)
    return Figure(SECTION, what, min(a / b for a, b in pairs), "", BAR, "higher", note)
