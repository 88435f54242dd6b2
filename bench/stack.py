"""A stack of stated settings beside each of its families, on the splits of ``bench.ranking``.

    python -m bench.stack [--sets Gowalla,ML-1M,ML-100K,Last.fm,FilmTrust] [--users 6000] [--json]

All sides have the same settings of the families, so the figures tell what the stack adds. The
settings are those that searches found (fBGD: split 0 of ``bench/tables/ranking.csv``).
"""

import argparse
import sys

import numpy as np

from bench import ranking_data
from bench.report import Figure, publish
from core import ranking_metrics
from core.batch.fbgd.config import FbgdConfig
from core.batch.neighbours.config import NeighboursConfig
from core.gate import paired_interval
from core.interactions import Interactions
from core.ranking_metrics import Hits
from core.types import I64
from service.evaluation.topk_mixture import FittedStack, stacked
from service.ranking.families import FAMILIES
from service.ranking.stack import Stack
from service.ranking.strategies import MIXTURE, POPULAR
from service.training.all_families.settled import Settled
from service.training.data.material import Material
from service.training.recipes import SERVED


def _fbgd(
    factors: int, alpha0: float, reg: float, nu: float, epochs: int, shrinkage: float = 8.0
) -> FbgdConfig:
    sides = {"nu_user": nu, "nu_item": nu}
    found = {"factors": factors, "alpha0": alpha0, "reg": reg, "epochs": epochs}
    return FbgdConfig(**found, **sides, rho=0.0, shrinkage=shrinkage)


def _exact(reg: float, user_exponent: float, item_exponent: float) -> NeighboursConfig:
    return NeighboursConfig(reg, user_exponent, item_exponent)


SETTINGS = {
    "Gowalla": (
        _fbgd(512, 500.0, 2.0, 0.25, 4, shrinkage=0.0),
        NeighboursConfig(factors=512, share=0.8),
    ),
    "Last.fm": (_fbgd(512, 882.3, 3.773, 0.1894, 4), NeighboursConfig(factors=236, share=0.8)),
    "ML-1M": (_fbgd(512, 1221.0, 12.3, 0.513, 6), _exact(7.0, 0.4, 0.3)),
    "ML-100K": (_fbgd(464, 1231.0, 8.222, 0.4543, 4), _exact(10.0, 0.2, 0.3)),
    "FilmTrust": (_fbgd(512, 325.6, 1.999, 0.6774, 6), _exact(20.0, 0.1, 0.2)),
}
DEPTH = 20
LEAST = -0.005
"""Least lower end of the paired interval against fBGD, as a share of fBGD's figure."""


def settled(name: str) -> list[Settled]:
    """Return the families of the stack of a data set."""
    return [
        Settled(FAMILIES["fbgd"], SERVED["fbgd"], SETTINGS[name][0]),
        Settled(FAMILIES[POPULAR]),
        Settled(FAMILIES["neighbours"], SERVED["neighbours"], SETTINGS[name][1]),
    ]


def figures(name: str, n_users: int) -> list[Figure]:
    """Measure the stack of a data set and its families on some users of the test part."""
    train, test = ranking_data.split(name, 0)
    stack, weights = stacked(settled(name), Material(train), 0, lambda stage, share: None)
    users = np.random.default_rng(0).permutation(np.flatnonzero(test.user_counts))
    users = np.sort(users[:n_users])
    alone = {one: Stack(stack.rankers, stack.logit, one) for one in ("fbgd", "neighbours")}
    found = {
        ranker: _hits(one, train, test, users) for ranker, one in {MIXTURE: stack, **alone}.items()
    }
    note = ", ".join(f"{signal} {weight:.2f}" for signal, weight in weights.items())
    rows = [
        Figure(name, f"{ranker}, {metric}", value, note=note if ranker == MIXTURE else "")
        for ranker, hits in found.items()
        for metric, value in ranking_metrics.means(hits, (10, DEPTH)).items()
        if metric in {"ndcg@10", "recall@20", "ndcg@20"}
    ]
    return [*rows, *_gains(name, found[MIXTURE], found["fbgd"])]


def _hits(stack: Stack, train: Interactions, test: Interactions, users: I64) -> Hits:
    lists = FittedStack(stack, {}, 0.0, 0.0).ranked(train, users, DEPTH)
    return ranking_metrics.hits(lists, test.rows(users))


def _gains(name: str, ours: Hits, theirs: Hits) -> list[Figure]:
    """Return the ends of the paired interval over users, as shares of the other's figure."""
    one, other = (ranking_metrics.ndcg(hits, 10) for hits in (ours, theirs))
    gain = paired_interval(one, other, np.random.default_rng(0))
    low, high = (end / float(other.mean()) for end in (gain.low, gain.high))
    what = "mixture beside fbgd, ndcg@10, {} end of the 95 % interval"
    return [
        Figure(name, what.format("lower"), low, bar=LEAST, better="higher"),
        Figure(name, what.format("upper"), high),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETTINGS))
    parser.add_argument("--users", type=int, default=6_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [row for name in options.sets.split(",") for row in figures(name, options.users)]
    sys.exit(publish(rows, as_json=options.json, data=options.sets))


if __name__ == "__main__":
    main()
