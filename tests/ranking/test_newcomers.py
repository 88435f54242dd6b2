"""New items in a stack: the chance of their look-alikes, as far as nothing is known of them."""

import msgspec
import numpy as np
import pytest

from core.mixture_weights import Weights
from core.popularity import TOTAL, WIDTH, popular
from core.stack.arms import STACK, Arms
from core.stack.logit import Logit
from service.ranking.families import FAMILIES
from service.ranking.newcomers import Newcomers
from service.ranking.pool import Pool
from service.ranking.slates.exploration import Exploration, NewItems
from service.ranking.slates.new_items import LOOK_ALIKES, LookAlikes, Said, new_items
from service.ranking.slates.slate import slate
from service.ranking.slates.wanted import Wanted
from service.ranking.stack import signal_names
from service.ranking.trained.content import ByContent
from service.ranking.untrained.everybody import Orders
from service.ranking.untrained.learned import LearnedState
from service.serving.copies.new_items import known_events
from tests.core.described import N_ITEMS, N_NEW, body, fitted
from tests.rankers import asker, everything, fold_in, lineup, no_categories

N = 20
ITEMS = np.array([2, 5, 6, 9], np.int32)
Z = np.log(np.array([0.4, 0.3, 0.2, 0.1]))


def newcomers(alike, doubt=1.0, items=(12,)):
    rows = np.array(alike, np.int32).reshape(len(items), -1)
    return Newcomers.of(
        np.array(items, np.int32), np.full(len(items), doubt, np.float32), rows, "content"
    )


def chances(new: Newcomers, pool: Pool | None = None):
    items, z = new.joined(ITEMS, Z, everything(N) if pool is None else pool)
    return dict(zip(items.tolist(), np.exp(z).round(6).tolist(), strict=True))


def test_a_new_item_has_the_mean_chance_of_its_look_alikes() -> None:
    # item 17 is named by nobody; of all 20 items the mean is 0.05
    found = chances(newcomers([2, 6, 17]))
    expected = 0.5 * (0.4 + 0.2 + 0.0) / 3 + 0.5 * 0.05
    assert found == pytest.approx({2: 0.4, 5: 0.3, 6: 0.2, 9: 0.1, 12: expected})
    assert chances(newcomers([17, 18]))[12] == pytest.approx(0.5 * 0.05)


def test_what_is_known_of_an_item_counts_more_and_more() -> None:
    for item, other, own, likely in ((9, 2, 0.1, 0.4), (2, 9, 0.4, 0.1)):
        found = chances(newcomers([other, other], 0.5, (item,)))
        assert found[item] == pytest.approx(0.25 * (likely + 0.05) / 2 + 0.75 * own)


def test_an_item_that_many_people_looked_at_is_known_although_views_weigh_little() -> None:
    model = ByContent(FAMILIES["content"], "v", fitted(), {})
    views = np.zeros((3, WIDTH))
    views[:, TOTAL] = 0.2, 9.0, 0.0
    evidence = Orders(popular(views))
    events = known_events(evidence, LearnedState(), model)
    likes = fitted().likes
    assert likes is not None
    assert likes[0] > 5.0
    expected = likes.astype(float)
    expected[1] = max(9.0, likes[1])
    np.testing.assert_array_equal(events, expected)
    np.testing.assert_allclose(known_events(evidence, LearnedState(), None), [0.2, 9.0], rtol=1e-6)


def test_look_alikes_that_cannot_be_shown_do_not_count() -> None:
    allowed = np.ones(N, np.bool_)
    allowed[17] = False
    found = chances(newcomers([2, 6, 17]), Pool(allowed))
    assert found[12] == pytest.approx((0.3 + 1 / 19) / 2, abs=1e-6)
    seen = Pool(np.ones(N, np.bool_), np.array([2, 17], np.int32))
    found = chances(newcomers([2, 6, 17]), seen)
    assert found[12] == pytest.approx((0.2 + 1 / 18) / 2, abs=1e-6)
    assert chances(newcomers([2, 6, -1]))[12] == pytest.approx((0.3 + 0.05) / 2)


def test_a_new_item_that_may_not_be_shown_does_not_come() -> None:
    before = dict(zip(ITEMS.tolist(), np.exp(Z).round(6).tolist(), strict=True))
    hidden = Pool(np.arange(N) != 12)
    excluded = Pool(np.ones(N, np.bool_), np.array([12], np.int32))
    named = Pool(np.ones(N, np.bool_), candidates=np.array([5, 12], np.int32))
    # the pool is shorter than the catalogue
    short = Pool(np.ones(10, np.bool_))
    for pool in (hidden, excluded, named, short):
        assert chances(newcomers([2, 6]), pool) == pytest.approx(before)
    assert chances(newcomers([-1, -1])) == pytest.approx(before)
    nothing = Newcomers().joined(ITEMS[:0], Z[:0], everything(N))
    assert nothing[0].size == 0


# --- in a slate -------------------------------------------------------------------------------


def world():
    """Return a lineup whose stack trusts two models that know the first items alone."""
    known = N_ITEMS - N_NEW
    models = [fold_in(known, 1), fold_in(known, 2, "neighbours")]
    popular = list(range(known))
    names = tuple(signal_names(lineup(*models, popular=popular).rankers))
    ones = np.ones(len(names), np.float32)
    weights = np.random.default_rng(0).normal(size=(len(names), 3))
    arms = Arms(Logit(names, 0 * ones, ones, weights, (2.0, 1.0)), Weights({STACK: 1.0}))
    content = ByContent(FAMILIES["content"], "v1", fitted(), {})
    return lineup(*models, content, popular=popular, arms=arms), content


def fresh(content: ByContent) -> NewItems:
    said = Said(np.empty(0, np.int64), np.empty(0, np.int32), 0, np.zeros(N_ITEMS, np.int64))
    events = (np.arange(N_ITEMS) < N_ITEMS - N_NEW) * 9.0
    new = new_items(said, np.ones(N_ITEMS, np.bool_), events, np.zeros(0), content)
    return LookAlikes().joined(new, events)


def test_described_items_that_nobody_took_are_in_default_slates() -> None:
    served, content = world()
    new = fresh(content)
    assert new.items.tolist() == list(range(N_ITEMS - N_NEW, N_ITEMS))
    assert new.coming.alike.shape == (N_NEW, LOOK_ALIKES)
    me = asker([2, 4, 8, 20])
    pool = Pool(np.ones(N_ITEMS, np.bool_), me.preferences.seen)
    wanted, explored = Wanted(N_ITEMS), Exploration(new, 0.0, 0)
    made = slate(served, me, pool, wanted, no_categories, exploration=explored)
    before = slate(served, me, pool, wanted, no_categories)
    assert made.score_kind == before.score_kind == "probability"
    place = {pick.item: (at, pick) for at, pick in enumerate(made.picks)}
    came = [place[item] for item in new.items.tolist()]
    assert all(pick.strategy == "content" and pick.score > 0.0 for _, pick in came)
    assert sum(pick.score for pick in made.picks) == pytest.approx(1.0, abs=1e-5)
    # the others keep their order
    old = [pick.item for pick in made.picks if pick.item < N_ITEMS - N_NEW]
    assert old == [pick.item for pick in before.picks if pick.item < N_ITEMS - N_NEW]
    assert min(at for at, _ in came) < len(old) / 2


def test_a_cached_head_without_a_new_item_is_stale_and_pages_continue() -> None:
    served, content = world()
    me = asker([2, 4, 8, 20])
    pool = Pool(np.ones(N_ITEMS, np.bool_), me.preferences.seen)

    def shown(new: NewItems, k: int, **more):
        explored = Exploration(new, 0.0, 0)
        return slate(served, me, pool, Wanted(k, **more), no_categories, exploration=explored)

    me = msgspec.structs.replace(me, heads={})
    first = shown(NewItems(), 10)
    me = msgspec.structs.replace(me, heads={one.strategy: one.head for one in first.made})
    assert shown(NewItems(), 10).picks == first.picks
    new = fresh(content)
    later = shown(new, N_ITEMS)
    assert {pick.item for pick in later.picks} >= {*new.items.tolist()}
    pages = [shown(new, 10, offset=at) for at in range(0, N_ITEMS, 10)]
    assert [p.item for page in pages for p in page.picks] == [p.item for p in later.picks]


def test_what_is_alike_is_looked_up_once_for_each_document() -> None:
    asked: list[list[int]] = []

    class Noted(ByContent):
        def alike(self, items, known, n):
            asked.append(items.tolist())
            return super().alike(items, known, n)

    found, content = LookAlikes(), Noted(FAMILIES["content"], "v1", fitted(), {})
    events = (np.arange(N_ITEMS) < N_ITEMS - N_NEW) * 9.0
    new = fresh(content)
    asked.clear()
    one = found.joined(new, events).coming
    again = found.joined(new, events).coming
    assert again.alike.tolist() == one.alike.tolist()
    assert asked == [new.items.tolist(), []]
    model = content.model.with_items({int(new.items[0]): body(int(new.items[1]))})
    changed = Noted(FAMILIES["content"], "v1", model, {})
    said = found.joined(NewItems(new.items, new.doubt, placing=changed), events).coming
    assert asked[-1] == [int(new.items[0])]
    assert said.version != one.version
