"""Slates of a stack: the order of its logit, from any cache, and what is said of each item."""

import dataclasses

import msgspec
import numpy as np
import pytest

from core.batch.here.model import Here
from core.mixture_weights import Weights
from core.stack.arms import FUSION, STACK, Arms
from core.stack.logit import Logit
from service.ranking.asker import NOBODY
from service.ranking.families import FAMILIES
from service.ranking.pool import Pool
from service.ranking.slates.choice import choose
from service.ranking.slates.slate import slate
from service.ranking.slates.wanted import Wanted
from service.ranking.stack import candidates, signal_names
from service.ranking.strategies import is_at_place, is_mixture
from service.ranking.trained.here import ByContext
from tests.rankers import asker, fold_in, lineup, no_categories

N = 400
MODELS = [fold_in(N, 1), fold_in(N, 2, "neighbours")]
POPULAR = list(range(0, N, 2))


def logit(rankers, seed=0):
    """Return weights of signals that are standardised by nothing."""
    names = tuple(signal_names(rankers))
    rng, ones = np.random.default_rng(seed), np.ones(len(names), np.float32)
    weights = rng.normal(size=(len(names), 3))
    return Logit(names, 0.0 * ones, ones, weights, (2.0, 1.0))


def world(models=MODELS, arm=STACK, weigh=None):
    made = lineup(*models, popular=POPULAR)
    of = logit(made.rankers if weigh is None else weigh)
    weights = Weights({arm: 0.9, "x": 0.1})
    return lineup(*models, popular=POPULAR, arms=Arms(of, weights))


def shown(served, me, pool, k=10, **wanted):
    return slate(served, me, pool, Wanted(k, **wanted), no_categories)


def plain(served, me, pool):
    """Return all candidates as a plain reading orders them, with their probabilities."""
    found = candidates(list(served.stack([*served.rankers]).rankers), me, pool)
    stack = served.stack([*served.rankers])
    z = stack.logit.scores(found.signals, me.preferences.item_ix.size)
    chance = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
    order = np.lexsort((found.items, -z.astype(np.float32)))
    return found.items[order].tolist(), chance[order].tolist()


def everything(me, hidden=()):
    return Pool(~np.isin(np.arange(N), hidden), me.preferences.seen, reopened=1)


def test_a_slate_is_the_order_of_the_logit_with_its_probabilities():
    me, served = asker([3, 7, 11]), world()
    items, chances = plain(served, me, everything(me))
    made = shown(served, me, everything(me), 20)
    assert [pick.item for pick in made.picks] == items[:20]
    np.testing.assert_allclose([p.score for p in made.picks], chances[:20], rtol=1e-4)
    assert made.score_kind == "probability"
    assert made.origin.strategy == "mixture"
    assert {pick.strategy for pick in made.picks} <= {"fbgd", "neighbours", "popular", "trending"}


@pytest.mark.parametrize("hidden", [(), range(0, N, 3)])
def test_pages_from_the_cache_are_those_of_one_long_list(hidden):
    me, served = asker([3, 7, 11]), world()
    pool = everything(me, hidden)
    whole = [pick.item for pick in shown(served, me, pool, 60).picks]
    first = shown(served, msgspec.structs.replace(me, heads={}), pool)
    heads = {made.strategy: made.head for made in first.made if made.head is not None}
    assert "mixture" in heads
    again = msgspec.structs.replace(me, heads=heads)
    for page in range(6):
        out = pool.without(np.array(whole[: 10 * page], np.int32))
        made = shown(served, again, out)
        assert [pick.item for pick in made.picks] == whole[10 * page : 10 * page + 10]
        assert not made.made


def test_a_cached_head_is_made_again_when_what_it_stands_on_changes():
    me, pool = asker([3, 7, 11]), everything(asker([3, 7, 11]))
    served = world()
    head = shown(served, msgspec.structs.replace(me, heads={}), pool).made[-1].head
    again = msgspec.structs.replace(me, heads={"mixture": head})

    def remade(served=served, **changed):
        made = shown(served, again, msgspec.structs.replace(pool, **changed)).made
        return [one.strategy for one in made if one.strategy == "mixture"]

    assert remade() == remade(time_ms=10**9) == []
    # a filter or a category is not what the head chose from, and makes none
    assert remade(reopened=None) == []
    without = {item: np.arange(N) != item for item in (int(head.items[100]), 3)}
    changes = [{"reopened": 2}, *({"allowed": allowed} for allowed in without.values())]
    assert [remade(**changed) for changed in changes] == [[], [], []]
    later = [remade(**changed, time_ms=31_000) for changed in changes]
    assert later == [["mixture"], ["mixture"], []]
    moved = msgspec.structs.replace(served.basis, number=7, n_events=0)
    assert remade(replace_basis(served, moved)) == []
    assert remade(replace_basis(served, moved), time_ms=31_000) == []
    counted = msgspec.structs.replace(moved, n_events=1)
    assert remade(replace_basis(served, counted), time_ms=31_000) == ["mixture"]
    assert remade(replace_basis(served, msgspec.structs.replace(moved, models="others"))) == [
        "mixture"
    ]


def replace_basis(served, basis):
    return dataclasses.replace(served, basis=basis)


def test_items_that_open_and_close_all_the_time_cost_each_user_few_lists():
    served, seconds = world(), 120
    heads = {user: {} for user in range(20)}
    made, shown_closed = 0, 0
    for second in range(seconds):
        closed = (7 * second) % N
        for user, own in heads.items():
            me = msgspec.structs.replace(asker([user, user + 20]), heads=own)
            pool = msgspec.structs.replace(
                everything(me, [closed]), reopened=second + 1, time_ms=1_000 * second
            )
            slate_of = shown(served, me, pool)
            shown_closed += any(pick.item == closed for pick in slate_of.picks)
            assert len(slate_of.picks) == 10
            for one in slate_of.made:
                if one.strategy == "mixture":
                    made, own[one.strategy] = made + 1, one.head
    assert shown_closed == 0
    # not 120 of each user: one of any fifteen seconds
    assert 20 * seconds / 30 <= made <= 20 * seconds / 15


def test_the_probability_of_an_item_that_closes_goes_to_the_others():
    me, served = asker([3, 7, 11]), world()
    items, chances = plain(served, me, everything(me))
    head = shown(served, msgspec.structs.replace(me, heads={}), everything(me)).made[-1].head
    again = msgspec.structs.replace(me, heads={"mixture": head})
    made = shown(served, again, everything(me, [items[1]]), 5)
    assert not made.made
    assert [pick.item for pick in made.picks] == [items[0], *items[2:6]]
    expected = np.array([chances[0], *chances[2:6]]) / (1.0 - chances[1])
    np.testing.assert_allclose([pick.score for pick in made.picks], expected, rtol=1e-4)


def test_an_item_that_opens_is_in_the_list_within_half_a_minute():
    me, served = asker([3, 7, 11]), world()
    [best, *_] = plain(served, me, everything(me))[0]
    before = msgspec.structs.replace(me, heads={})
    head = shown(served, before, everything(me, [best])).made[-1].head
    again = msgspec.structs.replace(me, heads={"mixture": head})
    opened = msgspec.structs.replace(everything(me), reopened=2, time_ms=30_000)
    assert shown(served, again, opened).picks[0].item == best


def test_a_cached_head_answers_for_no_other_items_nor_for_another_lineup():
    me, served = asker([3, 7, 11]), world()
    pool = everything(me)
    head = shown(served, msgspec.structs.replace(me, heads={}), pool).made[-1]
    again = msgspec.structs.replace(me, heads={"mixture": head.head})
    filtered = everything(me, range(0, N, 2))
    expected, chances = plain(served, me, filtered)
    made = shown(served, again, filtered)
    assert [pick.item for pick in made.picks] == expected[:10]
    np.testing.assert_allclose([p.score for p in made.picks], chances[:10], rtol=1e-4)
    other = world([fold_in(N, 5), MODELS[1]])
    assert [p.item for p in shown(other, again, pool).picks] == plain(other, me, pool)[0][:10]


def test_a_cached_head_does_not_answer_for_features_and_weighs_what_it_holds():
    me, pool = asker([3, 7, 11]), everything(asker([3, 7, 11]))
    model = MODELS[0]
    served = world()
    head = shown(served, msgspec.structs.replace(me, heads={}), pool).made[-1].head
    assert head.nbytes == head.items.nbytes + head.scores.nbytes + head.loudest.nbytes
    features = {model.version: np.full(model.item_vectors.shape[1], 9.0, np.float32)}
    known = msgspec.structs.replace(me, features=features)
    again = msgspec.structs.replace(known, heads={"mixture": head})
    expected = plain(served, known, pool)[0]
    assert expected != plain(served, me, pool)[0]
    assert [pick.item for pick in shown(served, again, pool).picks] == expected[:10]


def by_context():
    """Return a ranker that knows two devices."""
    rng = np.random.default_rng(3)
    said = [("device", "phone"), ("device", "tv")]
    lift, share = rng.normal(size=(2, N)).astype(np.float32), np.full(N, 1 / N, np.float32)
    return ByContext(FAMILIES["here"], "here-1", Here(said, lift, share), {0: 7})


def test_each_context_has_a_cached_head_of_its_own():
    me, served = asker([3, 7, 11]), world([*MODELS, by_context()])
    pool, heads = everything(me), {}
    unheard = {"device": "watch"}
    places = [{}, {"device": "phone"}, {"device": "tv"}, {"device": "tv", "page": "home"}]

    def items(context, heads=None, **wanted):
        asks = msgspec.structs.replace(me, context=context, heads=heads)
        made = shown(served, asks, pool, **wanted)
        new = {one.strategy: one.head for one in made.made if one.head is not None}
        return [(pick.item, pick.strategy) for pick in made.picks], new

    for place in places[:3]:
        found, new = items(place, heads)
        assert found == items(place)[0]
        [name] = [name for name in new if is_mixture(name)]
        assert name not in heads
        heads |= new
    assert len([name for name in heads if is_at_place(name)]) == 2
    lists = [items(place, heads) for place in (*places, unheard)]
    assert [found for found, _ in lists] == [items(place)[0] for place in (*places, unheard)]
    assert not any(new for _, new in lists)
    assert lists[0] == lists[4]
    assert lists[2] == lists[3]
    assert lists[0] != lists[1] != lists[2]
    # what is explained is made now, also for a context
    assert any(map(is_at_place, items(places[1], heads, explain=True)[1]))


def test_a_long_list_goes_on_with_popular_items_that_have_no_probability():
    me, served = asker([3, 7, 11]), world()
    few = everything(me, range(40, N))
    made = shown(served, me, few, 60)
    assert len(made.picks) == 37
    deep = shown(served, me, everything(me), 390)
    assert len({pick.item for pick in deep.picks}) == 390
    assert sum(pick.score for pick in deep.picks) == pytest.approx(1.0, abs=1e-3)


def test_only_those_items_are_ranked_that_a_request_names():
    me, served = asker([3, 7, 11]), world()
    named = np.array([3, 20, 21, 50, 333], np.int32)
    made = shown(served, me, Pool(np.ones(N, np.bool_), me.preferences.seen, named))
    assert sorted(pick.item for pick in made.picks) == [20, 21, 50, 333]


def test_parts_add_up_to_the_odds_between_two_items():
    me, served = asker([3, 7, 11]), world()
    made = shown(served, me, everything(me), 12, explain=True)
    stack = served.stack([*served.rankers])
    of_history = stack.logit.weights[-3:, 0]
    assert of_history.any()
    sums = np.array([sum(parts.values()) for parts in made.parts])
    odds = np.log([pick.score for pick in made.picks])
    # none of these was seen, so the history says the same of all
    np.testing.assert_allclose(sums - sums[0], odds - odds[0], atol=2e-2)
    for pick, parts in zip(made.picks, made.parts, strict=True):
        assert parts[pick.strategy] == max(parts.values())


@pytest.mark.parametrize("case", ["named", "seen", "long"])
def test_whatever_has_a_probability_has_parts(case):
    me, served, k = asker([3, 7, 11]), world(), 10
    pool = everything(me)
    if case == "named":
        # nobody has these among the first of all items
        few = np.setdiff1d(np.arange(N), plain(served, me, pool)[0])[:20].astype(np.int32)
        pool = Pool(pool.allowed, pool.excluded, few)
    elif case == "seen":
        latest = np.array([11, 7, 3], np.int32)
        preferences = dataclasses.replace(me.preferences, latest=latest)
        me = msgspec.structs.replace(me, preferences=preferences)
        pool, k = Pool(pool.allowed), 200
    else:
        k = 300
    made = shown(served, me, pool, k, explain=True)
    assert made.picks[0].score > 0.0
    for pick, parts in zip(made.picks, made.parts, strict=True):
        assert bool(parts) == (pick.score > 0.0)
        assert not parts or parts[pick.strategy] == max(parts.values())


def test_without_a_history_or_weights_for_who_knows_it_the_stack_is_not_asked():
    me = asker([3, 7, 11])
    assert choose(world(), NOBODY, Wanted(3)).stack is None
    shared = lineup(popular=POPULAR).rankers
    assert choose(world(weigh=shared), me, Wanted(3)).stack is None
    assert choose(lineup(*MODELS, popular=POPULAR), me, Wanted(3)).arm == FUSION


def test_a_ranker_that_has_no_weight_yet_is_left_out():
    served = world(weigh=[MODELS[0], *lineup(popular=POPULAR).rankers])
    stack = choose(served, asker([3]), Wanted(3)).stack
    assert [one.strategy for one in stack.rankers] == ["fbgd", "popular", "trending"]


def test_a_ranker_that_is_better_alone_answers_alone():
    me = asker([3, 7, 11])
    made = shown(world(arm="neighbours"), me, everything(me))
    assert made.origin.strategy == "neighbours"
    assert made.score_kind == "likeness"
    fused = shown(world(arm=FUSION), me, everything(me))
    assert fused.score_kind == "rank_sum"
    named = shown(world(), me, everything(me), model="fbgd")
    assert (named.origin.strategy, named.score_kind) == ("fbgd", "likeness")
    counted = shown(world(), me, everything(me), model="popular")
    assert (counted.origin.strategy, counted.score_kind) == ("popular", "count")


def test_what_a_slate_stands_on_depends_on_who_was_asked_for():
    me, served = asker([3, 7, 11]), world()
    pool = everything(me)
    named = shown(served, me, pool, model="fbgd").kept
    assert named.by == ("fbgd", MODELS[0].made_of)
    # the version of such a list does not change with its order
    everybodys = shown(served, me, pool, model="popular").kept
    assert (everybodys.by, everybodys.patience) == (None, 0.0)
    assert everybodys.basis is served.basis
    known = msgspec.structs.replace(me, heads={})
    assert 0.5 <= shown(served, known, pool).kept.patience <= 1.0
    assert shown(served, known, pool, explain=True).kept is None
    fused = shown(world(arm=FUSION), me, pool).kept
    assert fused.by is None
    assert 0.5 <= fused.patience <= 1.0
