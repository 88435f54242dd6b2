"""The heads of the lists hold what the stack would rank first among all items of a large shop."""

import numpy as np

from core.stack.logit import Logit
from core.types import F32, I32
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.pool import Pool, Ranked, chosen
from service.ranking.ranker import Listed, Ranker
from service.ranking.stack import Stack, signal_names
from tests.rankers import asker, everything

N, SHOPPERS = 100_000, 30


class Noisy(Ranker):
    """Ranks by the taste of a shopper, as well as it has learned it."""

    def __init__(self, name: str, scores: F32) -> None:
        super().__init__(FAMILIES[name], name, {})
        self._scores, self.n_items = scores, scores.size

    def knows(self, asker: Asker) -> bool:
        return True

    def best(self, asker: Asker, pool: Pool, n: int) -> Listed:
        return Listed(*self._best(pool, n))

    def _best(self, pool: Pool, n: int) -> Ranked:
        return chosen(self._scores, pool, n)

    def scores(self, asker: Asker) -> F32:
        return self._scores


def test_of_a_hundred_thousand_items_the_heads_lose_none_that_would_be_seen() -> None:
    """Four rankers; of what each says, half is the taste, which all share, and half its own."""
    rng, found = np.random.default_rng(0), 0
    me, pool = asker([3, 7]), everything(N)
    for _ in range(SHOPPERS):
        taste = rng.normal(size=N)
        rankers = [
            Noisy(name, (taste + rng.normal(size=N)).astype(np.float32))
            for name in ("fbgd", "neighbours", "ocmf", "sequence")
        ]
        names = tuple(signal_names(rankers))
        of_scores = np.array([name.endswith(": score") for name in names], np.float32)
        weights = np.outer(of_scores, [1.0, 0.0, 0.0])
        logit = Logit(names, 0 * of_scores, np.ones(len(names), np.float32), weights, (0.0, 1.0))
        shown, _ = Stack(rankers, logit).best(me, pool, 10)
        found += len({*shown.tolist()} & {*first(rankers, me).tolist()})
    assert found >= 0.99 * 10 * SHOPPERS


def first(rankers: list[Noisy], me: Asker) -> I32:
    """Return the ten items that have the largest sums."""
    total = np.sum([ranker.scores(me) for ranker in rankers], axis=0)
    total[me.preferences.seen] = -np.inf
    return np.argsort(-total)[:10].astype(np.int32)
