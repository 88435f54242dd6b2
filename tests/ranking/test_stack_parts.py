"""What the rankers add to a score, with what the history adds and a constant, is its logarithm."""

import dataclasses

import msgspec
import numpy as np
import pytest

from core.batch.preferences import Preferences
from core.mixture_weights import Weights
from core.stack.arms import STACK, Arms
from core.stack.logit import Logit
from service.ranking.asker import Asker
from service.ranking.lineup import Lineup
from service.ranking.newcomers import Newcomers
from service.ranking.pool import NOTHING, Pool
from service.ranking.slates.exploration import Exploration, NewItems
from service.ranking.slates.slate import Slate, slate
from service.ranking.slates.wanted import Wanted
from service.ranking.stack import history_signals, signal_names
from tests.rankers import fold_in, lineup, no_categories

N = 300


class World:
    """Rankers, weights, a history and new items, all drawn."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        models = [fold_in(N, 2 * seed + 1), fold_in(N, 2 * seed + 2, "neighbours")]
        popular = rng.permutation(N)[:100].tolist()
        names = tuple(signal_names(lineup(*models, popular=popular).rankers))
        weights, ones = rng.normal(size=(len(names), 3)), np.ones(len(names), np.float32)
        mean = rng.normal(size=len(names)).astype(np.float32)
        self.logit = Logit(names, mean, ones, weights, (2.0, 1.0))
        arms = Arms(self.logit, Weights({STACK: 1.0}))
        self.served: Lineup = lineup(*models, popular=popular, arms=arms)
        new = np.sort(rng.choice(N, 12, replace=False)).astype(np.int32)
        alike = rng.integers(-1, N, (new.size, 5)).astype(np.int32)
        doubt = rng.random(new.size).astype(np.float32)
        coming = Newcomers.of(new, doubt, alike, "content")
        self.new = NewItems(new, doubt, coming=coming)

    def asker(self, *, returning: bool) -> Asker:
        own = self.rng.choice(N, int(self.rng.integers(1, 30)), replace=False).astype(np.int32)
        liked, ones = np.sort(own), np.ones(own.size, np.float32)
        seen = NOTHING if returning else liked
        return Asker(Preferences(liked, ones, ones, seen, own), heads=None if returning else {})

    def listed(self, me: Asker, pool: Pool, k: int, offset: int = 0) -> Slate:
        wanted, draw = Wanted(k, offset=offset, explain=True), Exploration(self.new, 0.3, 7)
        return slate(self.served, me, pool, wanted, no_categories, exploration=draw)

    def rests(self, me: Asker, made: Slate) -> list[float]:
        """Return what is left of the logarithm of each score without the parts."""
        assert made.parts is not None
        stacked = [
            (pick, parts)
            for pick, parts in zip(made.picks, made.parts, strict=True)
            if pick.score > 0.0 and pick.strategy != "explore"
        ]
        items = np.array([pick.item for pick, _ in stacked], np.int32)
        names = [name for name in self.logit.names if name.startswith("history")]
        # the signals of some items, in the order of these items
        order = np.argsort(items)
        signals = np.empty((items.size, len(names)), np.float32)
        signals[order] = history_signals(me, items[order])
        history = self.logit.aligned(names).scores(signals, me.preferences.item_ix.size)
        return [
            float(np.log(pick.score) - sum(parts.values()) - own)
            for (pick, parts), own in zip(stacked, history, strict=True)
        ]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("case", ["first page", "later page", "long", "returning", "named"])
def test_the_parts_add_up_to_the_logarithm_of_the_score(case: str, seed: int) -> None:
    world = World(seed)
    me = world.asker(returning=case == "returning")
    allowed = world.rng.random(N) < 0.9
    pool, k, offset = Pool(allowed, me.preferences.seen, reopened=1), 40, 0
    if case == "later page":
        offset = 100
    elif case == "long":
        k = 220
    elif case == "named":
        some = np.sort(world.rng.choice(N, 60, replace=False)).astype(np.int32)
        pool = Pool(allowed, NOTHING, some)
    rests = world.rests(me, world.listed(me, pool, k, offset))
    assert len(rests) > 10
    np.testing.assert_allclose(rests, np.full(len(rests), rests[0]), atol=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_a_list_that_was_kept_is_not_explained_by_what_is_counted_now(seed: int) -> None:
    world = World(seed)
    me = world.asker(returning=False)
    pool = Pool(np.ones(N, np.bool_), me.preferences.seen, reopened=1)
    kept = {one.strategy: one.head for one in world.listed(me, pool, 10).made if one.head}
    later = World(seed + 100)
    # the same models, with other weights
    moved = dataclasses.replace(world.served, arms=later.served.arms, basis=world.served.basis)
    world.served, world.logit = moved, later.logit
    again = msgspec.structs.replace(me, heads=kept)
    plain = slate(moved, again, pool, Wanted(10), no_categories)
    rests = world.rests(again, world.listed(again, pool, 10))
    np.testing.assert_allclose(rests, np.full(len(rests), rests[0]), atol=2e-3)
    assert plain.picks != world.listed(again, pool, 10).picks
