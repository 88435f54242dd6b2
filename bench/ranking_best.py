"""The best settings that a random search finds on the TEST part, beside those of our own search.

A section of ``bench.ranking``. Settings are first drawn from a range wider than our search covers,
then near the best so far, whichever search found it. Each counts at its best epoch. Because the
random search sees the test part, its "best known" score is slightly optimistic.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench import ranking_data
from bench.attempts import Attempt, Attempts, best
from bench.ranking_contest import Contest
from bench.ranking_own import OWN
from bench.report import Figure
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.shrinkage import shrunk
from core.batch.weighting import mean_count
from core.interactions import Interactions

SECTION = "Ranking: own settings beside the best known"
STATED, DRAWN = "fBGD stated", "fBGD drawn"
BAR = 0.97
Plan = Mapping[str, tuple[int, int]]
"""Data set -> settings drawn on each split: from the whole range, and near the best."""
SETTINGS: Plan = {
    "Last.fm": (100, 50),
    "FilmTrust": (100, 50),
    "ML-100K": (40, 20),
    "ML-1M": (20, 10),
    "Gowalla": (8, 16),
    **dict.fromkeys(ranking_data.UNSEEN, (30, 20)),
}
MOST_EPOCHS, PATIENCE = 40, 4
HOPELESS = 0.8
"""Share of the best score so far below which a fit is stopped after three epochs."""
NEAR = 0.25
"""Standard deviation of the logarithm of the factor between a setting and the best so far."""
LEAST_FACTORS, MOST_FACTORS = 16, 512
VARIED = ("factors", "alpha0", "reg", "nu_user", "nu_item")


def drawn(train: Interactions, rng: np.random.Generator) -> FbgdConfig:
    """Return random settings.

    Weights and regularisation scale with the size and density of the data.
    """
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
    """Return random settings near ``known``."""
    times = np.exp(NEAR * rng.standard_normal(3))
    nus = np.clip([known["nu_user"], known["nu_item"]] + 0.1 * rng.standard_normal(2), 0.0, 1.0)
    factors = round(known["factors"] * times[0] / 8)
    return FbgdConfig(
        factors=8 * min(max(factors, LEAST_FACTORS // 8), MOST_FACTORS // 8),
        alpha0=float(known["alpha0"] * times[1]),
        reg=float(known["reg"] * times[2]),
        nu_user=float(nus[0]),
        nu_item=float(nus[1]),
        shrinkage=float(known.get("draw", 0.0)),
        epochs=MOST_EPOCHS,
    )


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw log-uniformly between low and high."""
    return float(low * (high / low) ** rng.uniform())


def tried(over: Contest, config: FbgdConfig, metric: str, reached: float) -> Attempt:
    """Fit until the test metric stops rising; return the attempt at the best epoch."""
    curve: list[dict[str, float]] = []
    begun = over.clock()

    def on_epoch(model: Fbgd, epoch: int) -> bool:
        row = shrunk(model.fitted, over.train, config.shrinkage)
        curve.append(over.scores(row.vectors(over.train), row.item_factors))
        values = [scores[metric] for scores in curve]
        stale = epoch - 1 - int(np.argmax(values)) >= PATIENCE
        return stale or (epoch >= 3 and max(values) < HOPELESS * reached)

    Fbgd(config).fit(over.train, on_epoch=on_epoch)
    at = int(np.argmax([scores[metric] for scores in curve]))
    settings = {name: getattr(config, name) for name in VARIED} | {"epochs": at + 1}
    if config.shrinkage:
        settings["draw"] = config.shrinkage
    return Attempt(over.data, over.split, DRAWN, settings, curve[at], over.clock() - begun)


def best_known(over: Contest, metric: str, table: Attempts, plan: Plan = SETTINGS) -> Attempt:
    """Try the data set's number of settings and return the best attempt that is known.

    Attempts that the table already contains are not repeated.
    """
    anywhere, close = plan[over.data]
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


def figure(
    data: str, metric: str, ours: list[Attempt], known: list[Attempt], plan: Plan = SETTINGS
) -> Figure:
    """Compare our search with the best known settings, split by split; the worst ratio counts."""
    pairs = [(a.scores[metric], b.scores[metric]) for a, b in zip(ours, known, strict=True)]
    what = f"{data}, own settings : best known, {sum(plan[data])} drawn, {metric}, worst search"
    note = "; ".join(f"{own:.4f} : {best_one:.4f}" for own, best_one in pairs)
    return Figure(SECTION, what, min(a / b for a, b in pairs), "", BAR, "higher", note)
