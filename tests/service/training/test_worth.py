"""Choosing families by what they add: the events, the stack of any subset, and the order."""

from dataclasses import replace

import numpy as np
import pytest

from core.interactions import from_pairs
from core.meaning import EventMeanings
from core.stack.choices import ndcg10
from core.stack.fitting import PRIOR
from service.configs import kind_table
from service.ranking.asker import NOBODY, Asker
from service.ranking.families import FAMILIES
from service.ranking.pool import NOTHING, Pool
from service.settings import Settings
from service.store.profiles.history_reader import HistoryReader
from service.training.all_families.contest import contest, contest_of, pooled
from service.training.all_families.settled import COUNTED, ranker_of
from service.training.all_families.weighing import weigh
from service.training.all_families.worth import worth
from service.training.data.material import Material
from service.training.data.next_events import first_events, next_events
from service.training.data.reading import read
from service.training.recipes import SERVED
from tests.histories import Record, store_histories, world

READING = EventMeanings(kind_table(Settings()))


@pytest.fixture
def data(client, namespace):
    stored = store_histories(client, Settings(namespace=namespace), world())
    return read(HistoryReader(client, stored), READING, with_documents=False, with_order=True)


@pytest.fixture
def rankers(data):
    known = data.at_cut
    counted = {name: made(FAMILIES[name], known) for name, made in COUNTED.items()}
    fitted = {}
    for name in ("neighbours", "fbgd"):
        recipe = SERVED[name]
        model = recipe.fit(known, recipe.settings.base)
        fitted[name] = ranker_of(FAMILIES[name], recipe, model)
    return counted | fitted


def test_popularity_counts_the_weights_of_pairs():
    pairs = from_pairs([0, 1, 2, 2], [0, 0, 1, 2], weight=[0.2, 0.2, 2.0, 1.0], target=[1, 1, 1, 0])
    popular = COUNTED["popular"](FAMILIES["popular"], Material(pairs))
    items, scores, _ = popular.best(NOBODY, Pool(np.ones(3, np.bool_), NOTHING), 2)
    assert items.tolist() == [1, 0]
    np.testing.assert_allclose(scores, [2.0, 0.4], rtol=1e-6)


def test_an_event_has_the_history_of_its_moment(client, namespace):
    told = [record for record in world() if record.user != "u0007"]
    last = max(record.time_ms for record in told)
    mine = [(3, 5.0), (9, 1.0), (11, 5.0), (20, 1.0), (14, 4.0), (3, 1.0), (17, 5.0)]
    times = [last - 10**8, last - 10**8 + 1, *(last - 5 + n for n in range(5))]
    own = [
        Record("u0007", item, stars, time_ms=at)
        for (item, stars), at in zip(mine, times, strict=True)
    ]
    stored = store_histories(client, Settings(namespace=namespace), [*told, *own])
    data = read(HistoryReader(client, stored), READING, with_documents=False, with_order=True)
    events = next_events(data)
    of_user = [
        n
        for n in range(len(events))
        if {3, 9} <= set(events.preferences(n).seen.tolist())
        and data.order.known.of(int(events.user_ix[n])).tolist() == [3, 9]
    ]
    assert events.item[of_user].tolist() == [11, 14, 17]
    first, second, third = (events.preferences(n) for n in of_user)
    assert (first.item_ix.tolist(), first.target.tolist()) == ([3, 9], [1.0, 0.0])
    assert first.latest.tolist() == [9, 3]
    assert second.item_ix.tolist() == [3, 9, 11, 20]
    assert second.target.tolist() == [1.0, 0.0, 1.0, 0.0]
    assert second.latest.tolist() == [20, 11, 9, 3]
    assert second.seen.tolist() == [3, 9, 11, 20]
    assert third.latest.tolist() == [3, 14, 20, 11, 9]
    # a later rating of an item that was known at the cut is not known yet
    assert third.target[0] == 1.0


def test_the_first_events_of_all_users_are_kept_before_second_ones(data):
    every, some = next_events(data), next_events(data, most=100)
    assert len(every) > np.unique(every.row).size > 100
    assert len(some) == np.unique(some.row).size == 100
    first_of = dict(zip(every.row.tolist()[::-1], every.item.tolist()[::-1], strict=True))
    kept = dict(zip(some.row.tolist(), some.item.tolist(), strict=True))
    assert kept.items() <= first_of.items()


def beginner(client, namespace, *stars):
    """Return the data of a world in which zoe came last and gave these stars to items 0, 1, .."""
    told = world()
    last = max(record.time_ms for record in told)
    own = [Record("zoe", item, value, time_ms=last + item) for item, value in enumerate(stars)]
    stored = store_histories(client, Settings(namespace=namespace), [*told, *own])
    return read(HistoryReader(client, stored), READING, with_documents=False, with_order=True)


def test_first_events_are_what_beginners_liked_after_a_short_history(client, namespace):
    stars = [5.0, 1.0, 5.0, 3.0, 4.0, 1.0, 5.0, 5.0, 5.0, 5.0]
    events = first_events(beginner(client, namespace, *stars))
    # after six preferences a history is no longer short, and three stars are no preference
    assert events.item.tolist() == [2, 4, 6, 7]
    assert events.of_beginners.all()
    first, second = events.preferences(0), events.preferences(1)
    assert (first.item_ix.tolist(), first.target.tolist()) == ([0, 1], [1.0, 0.0])
    assert second.item_ix.tolist() == [0, 1, 2]
    assert second.seen.tolist() == [0, 1, 2, 3]
    assert second.latest.tolist() == [3, 2, 1, 0]


def test_without_beginners_there_are_no_first_events(data):
    assert len(first_events(data)) == 0


def test_beginners_teach_the_stack_and_no_gain_counts_them(client, namespace):
    data = beginner(client, namespace, *[5.0] * 8)
    whole = contest_of({}, data, 0, lambda share: None)
    known = contest(whole.rankers, next_events(data), 0, lambda share: None)
    assert len(whole.choices) == len(known.choices) + 6
    names = ["popular", "next"]
    assert whole.gains(names).size == known.gains(names).size
    np.testing.assert_array_equal(whole.alone("popular"), known.alone("popular"))
    assert (whole.stack(names).logit.weights != known.stack(names).logit.weights).any()


def test_a_family_alone_has_the_figures_of_its_lists(data, rankers):
    events = next_events(data)
    table = contest(rankers, events, 0, lambda share: None)
    for name in ("fbgd", "neighbours", "popular"):
        gains: dict[int, list[float]] = {}
        for n in range(len(events)):
            rank = _rank(rankers[name], events, n)
            gains.setdefault(int(events.row[n]), []).append(float(ndcg10(np.array([rank]))[0]))
        means = [np.mean(gains[row]) for row in sorted(gains)]
        np.testing.assert_allclose(table.alone(name), means, atol=1e-12)


def _rank(ranker, events, n):
    me = Asker(events.preferences(n))
    pool = Pool(np.ones(events.data.known.n_items, np.bool_), me.preferences.seen)
    items = ranker.mixing_list(me, pool, 50).items.tolist()
    return 1 + items.index(int(events.item[n])) if int(events.item[n]) in items else 0


def test_a_subset_ranks_as_if_there_were_no_others(data, rankers):
    events = next_events(data)
    names = ["popular", "next", "fbgd"]
    whole = contest(rankers, events, 0, lambda share: None)
    part = contest({name: rankers[name] for name in names}, events, 0, lambda share: None)
    np.testing.assert_array_equal(whole.gains(names), part.gains(names))
    mine, theirs = whole.stack(names), part.stack(names)
    assert mine.logit.names == theirs.logit.names
    np.testing.assert_array_equal(mine.logit.weights, theirs.logit.weights)
    assert whole.gains(names).mean() > whole.gains(["popular", "next"]).mean()


def test_where_few_judge_the_figure_is_that_of_the_pull_that_was_chosen(client, namespace):
    told = world(users=25, items=20, each=8)
    stored = store_histories(client, Settings(namespace=namespace), told)
    data = read(HistoryReader(client, stored), READING, with_documents=False, with_order=True)
    found = weigh(data, [], 0, serves=True, on_share=lambda share: None)
    parts = [contest_of({}, split, 0, lambda share: None) for split in data.splits]
    chosen, usual = (pooled(parts).gains([*COUNTED], pull) for pull in (found.stack.pull, PRIOR))
    assert found.metrics["ndcg@10"] == chosen.mean() != usual.mean()


def test_where_nobody_lists_what_came_there_is_no_stack(data, rankers):
    table = contest(rankers, next_events(data), 0, lambda share: None)
    nothing = replace(table.choices, taken=np.full_like(table.choices.taken, -1))
    unlisted = replace(table, choices=nothing)
    assert unlisted.stack([*rankers]) is None
    assert not unlisted.gains([*rankers]).any()
    found = worth(unlisted, [*COUNTED], {"fbgd": "fbgd"}, 0)
    assert not found["fbgd"].chosen


HELPED = {"a": slice(0, 200), "b": slice(0, 190), "c": slice(200, 260), "noise": slice(0, 0)}


class Figures:
    """Gains of 400 users: each recipe helps some of them, and two may help the same ones."""

    def gains(self, names):
        found = np.zeros(400)
        for name in names:
            found[HELPED[name]] = 1.0
        if "noise" in names:
            found += np.random.default_rng(3).normal(0.0, 0.2, 400) - 0.005
        return found


def test_recipes_are_chosen_by_what_they_add_and_not_alone():
    found = worth(Figures(), [], {"noise": "n", "c": "z", "b": "y", "a": "x"}, 0)
    assert [name for name, one in found.items() if one.chosen] == ["a", "c"]
    assert found["b"].added.mean == 0.0
    assert found["b"].beside == found["noise"].beside == ("a", "c")
    assert found["c"].added.mean == pytest.approx(60 / 400)


def test_one_recipe_of_a_family_is_chosen():
    helped = worth(Figures(), [], {"a": "x", "c": "x"}, 0)
    assert [name for name, one in helped.items() if one.chosen] == ["a"]
    assert helped["c"].beside == ()
