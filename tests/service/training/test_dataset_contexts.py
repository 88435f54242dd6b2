"""The trainer's dataset for models of contexts: what was liked where, and what came next."""

from collections import Counter

import numpy as np
import pytest

from core.errors import DataError
from core.meaning import EventMeanings
from service.configs import kind_table
from service.settings import Settings
from service.store.keys import PartitionKeys
from service.store.partitions import partition_of
from service.store.profiles.history_reader import HistoryReader
from service.training.data import contexts
from service.training.data.next_events import next_events
from service.training.data.reading import read
from service.training.recipes.here import RECIPES
from tests.histories import Record, on_devices, store_histories

READING = EventMeanings(kind_table(Settings()))
CLICK = Settings().kinds["click"].code
[RECIPE] = RECIPES


def dataset(client, namespace, told, **more):
    reader = HistoryReader(
        client, store_histories(client, Settings(namespace=namespace, **more), told)
    )
    return read(reader, READING, with_documents=False, with_contexts=True)


def counted(likes):
    pairs = zip(likes.said_ix.tolist(), likes.item_ix.tolist(), strict=True)
    return Counter((*likes.said[said], item) for said, item in pairs)


@pytest.mark.parametrize("partitions", [1, 3])
def test_each_user_counts_once_for_what_was_liked_where(client, namespace, partitions):
    told = [
        Record("ada", 0, context="device=phone\npage=home"),
        Record("ada", 0, kind=CLICK, context="device=phone"),
        Record("bob", 0, context="device=phone"),
        Record("bob", 0, value=1.0, context="device=tv"),
        Record("bob", 1, context="device=tv"),
        Record("cy", 1),
        Record("cy", 2, value=3.0, context="device=tv"),
    ]
    data = dataset(client, namespace, told, partitions=partitions)
    expected = {("device", "phone", 0): 2, ("page", "home", 0): 1, ("device", "tv", 1): 1}
    found = data.now.contexts
    assert counted(found) == expected
    n_users = dict(zip(found.said, found.n_users.tolist(), strict=True))
    assert n_users == {("device", "phone"): 2, ("page", "home"): 1, ("device", "tv"): 1}


def test_what_one_user_says_is_not_learned_however_much_they_like(client, namespace):
    told = on_devices() + [Record("fan", item, context="device=car") for item in range(60)]
    made = RECIPE.fit(dataset(client, namespace, told).now, RECIPE.settings.base)
    assert sorted(made.said) == [("device", "phone"), ("device", "tv")]


def test_what_was_liked_after_the_cut_is_not_known_at_the_cut(client, namespace):
    told = on_devices()
    data = dataset(client, namespace, told)
    known, whole = counted(data.at_cut.contexts), counted(data.now.contexts)
    assert 0 < known.total() < whole.total()
    assert known <= whole
    assert known.total() == len(data.known.liked)
    assert whole.total() == len(data.whole.liked)


def test_the_next_events_say_where_they_happened(client, namespace):
    told = on_devices()
    where = {(one.user, one.item): one.context for one in told}
    data = dataset(client, namespace, told)
    events = next_events(data)
    assert len(events) > 200
    for n in range(0, len(events), 9):
        [(name, said)] = events.context(n).items()
        assert where[f"u{events.user_ix[n]:04d}", int(events.item[n])] == f"{name}={said}"
    without = read(
        HistoryReader(client, store_histories(client, Settings(namespace=namespace), [])),
        READING,
        with_documents=False,
        with_order=True,
    )
    assert without.contexts is None
    assert next_events(without).context(0) == {}
    assert without.now.contexts is None


def test_contexts_of_deleted_users_and_items_are_forgotten(client, namespace):
    told = [
        Record("ada", 0, context="device=phone"),
        Record("bob", 1, context="device=phone"),
        Record("bob", 0, context="device=tv"),
    ]
    settings = Settings(namespace=namespace, partitions=2)
    room = store_histories(client, settings, told)
    of_bob = PartitionKeys(namespace, partition_of("bob", 2))
    client.hset(of_bob.deleted_items, 1, 9)
    gone = PartitionKeys(namespace, partition_of("ada", 2))
    client.zrem(gone.users, "ada")
    data = read(HistoryReader(client, room), READING, with_documents=False, with_contexts=True)
    assert counted(data.now.contexts) == {("device", "tv", 0): 1}


def test_names_with_endless_texts_cost_no_more_than_the_first(client, namespace):
    n = contexts.MOST_TEXTS + 30
    told = [Record(f"u{at}", 0, context=f"device=phone\nvisit={at}") for at in range(n)]
    found = counted(dataset(client, namespace, told).now.contexts)
    assert found["device", "phone", 0] == n
    assert sum(name == "visit" for name, _, _ in found) == contexts.MOST_TEXTS


def test_a_model_is_validated_where_the_next_event_happened(client, namespace):
    data = RECIPE.held_out(dataset(client, namespace, on_devices()))
    assert data.held_out.user_ix.size >= 200
    model = RECIPE.fit(data.at_cut, RECIPE.settings.base)
    found = RECIPE.validated(data, model).metrics["ndcg@10"]
    swapped = type(model)([*reversed(model.said)], model.lift, model.share)
    assert found > 1.3 * RECIPE.validated(data, swapped).metrics["ndcg@10"]


def test_only_users_who_say_where_they_are_validate_it(client, namespace):
    told = [
        Record(one.user, one.item, one.value, one.kind, one.time_ms, one.context * (at % 3 > 0))
        for at, one in enumerate(on_devices())
    ]
    whole = dataset(client, namespace, told)
    judges = RECIPE.held_out(whole)
    assert 0 < judges.held_out.user_ix.size < whole.held_out.user_ix.size
    assert np.isin(judges.held_out.user_ix, whole.held_out.user_ix).all()


def test_nothing_is_learned_where_no_event_says_where_it_happened(client, namespace):
    data = dataset(client, namespace, [Record("ada", 0), Record("ada", 1)])
    with pytest.raises(DataError, match="send events with a `context`"):
        RECIPE.fit(data.now, RECIPE.settings.base)
    assert RECIPE.held_out(data).held_out.user_ix.size == 0 < data.held_out.user_ix.size
