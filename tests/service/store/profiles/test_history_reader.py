"""The trainer's reader: every user once, in pages, as of the moment when it was made."""

import contextlib

import numpy as np
import pytest

from service.errors import StoreUnavailable
from service.settings import Settings
from service.store.catalogue.documents import Catalogue
from service.store.connection import connect
from service.store.keys import PartitionKeys
from service.store.profiles.history_reader import HistoryReader
from service.store.profiles.history_record import sequences
from service.store.profiles.history_store import pack_trimmed
from tests.histories import Record, store_histories
from tests.proxy import LossyProxy
from tests.stories import run

TOLD = [Record("bob", 2), Record("ada", 0, value=4.0), Record("bob", 0, value=1.0, kind=3)]


@pytest.fixture
def keys(namespace):
    return PartitionKeys(namespace, 0)


@pytest.fixture
def stored(client, namespace):
    """Store more records; return the opened namespace."""
    return lambda told=TOLD, **more: store_histories(
        client, Settings(namespace=namespace, **more), told
    )


def records_of(reader):
    """Return (item, value, kind, sequence) of each record by user; the users in their order."""
    found = {}
    for page in reader.pages():
        for at, user in enumerate(page.users):
            own = page.records[page.user_ix == at]
            columns = (own["item"], own["value"], own["kind"], sequences(own))
            assert user not in found
            found[user] = list(zip(*(column.tolist() for column in columns), strict=True))
    return found


def test_every_user_comes_once_with_all_records_in_order(client, stored):
    found = records_of(HistoryReader(client, stored()))
    assert found == {"ada": [(0, 4.0, 0, 2)], "bob": [(2, 5.0, 0, 1), (0, 1.0, 3, 3)]}
    assert list(found) == ["ada", "bob"]


@pytest.mark.parametrize("partitions", [1, 3])
def test_pages_hold_at_most_so_many_users_and_lose_none(client, stored, partitions):
    told = [Record(f"u{n:02d}", n % 5) for n in range(23)]
    reader = HistoryReader(client, stored(told, partitions=partitions), users_at_once=4)
    pages = list(reader.pages())
    assert max(len(page.users) for page in pages) == 4
    assert sorted(user for page in pages for user in page.users) == [r.user for r in told]
    assert sum(reader.watermarks) == 23
    assert len(reader.watermarks) == partitions


def test_later_events_are_left_out_of_every_reading(client, stored):
    reader = HistoryReader(client, stored())
    before = records_of(reader)
    stored([Record("ada", 7), Record("eve", 1)])
    assert records_of(reader) == before | {"eve": []}
    assert (reader.watermarks, reader.n_items) == ([3], 3)
    later = HistoryReader(client, stored([]))
    assert records_of(later)["eve"] == [(1, 5.0, 0, 5)]
    assert later.n_items == 8


def test_records_up_to_the_deletion_of_their_item_are_left_out(client, stored, keys):
    namespace = stored([*TOLD, Record("ada", 2)])
    client.hset(keys.deleted_items, "2", 1)
    found = records_of(HistoryReader(client, namespace))
    assert found == {"ada": [(0, 4.0, 0, 2), (2, 5.0, 0, 4)], "bob": [(0, 1.0, 3, 3)]}


def test_trimmed_items_belong_to_their_user(client, stored, keys):
    namespace = stored()
    client.set(keys.trimmed("bob"), pack_trimmed(np.array([9, 4])))
    [page] = HistoryReader(client, namespace).pages()
    assert [page.users[at] for at in page.trimmed_user_ix] == ["bob", "bob"]
    assert page.trimmed.tolist() == [9, 4]
    assert page.trimmed.dtype == np.int64


def test_a_user_of_the_index_without_a_history_has_no_records(client, stored, keys):
    namespace = stored()
    client.zadd(keys.users, {"zoe": 0})
    assert records_of(HistoryReader(client, namespace))["zoe"] == []


def test_an_empty_namespace_has_no_pages(client, stored):
    reader = HistoryReader(client, stored([]))
    assert list(reader.pages()) == []
    assert list(reader.item_documents()) == []
    assert (reader.watermarks, reader.n_items) == ([0], 0)


def test_documents_come_in_the_order_asked_for_and_absent_ones_are_empty(
    client, stored, namespace, redis_url
):
    reader, described = HistoryReader(client, stored()), {"features": {"age": 44}}
    run(redis_url, lambda redis: Catalogue(redis, namespace).replace_users({"bob": described}))
    assert reader.documents(["bob", "ada", "bob"]) == [described, {}, described]


def test_documents_of_items_come_by_number_in_pages(client, stored, namespace, redis_url):
    reader = HistoryReader(client, stored([Record("ada", 4)]), items_at_once=2)
    bodies = {number: {"hidden": bool(number)} for number in (0, 4)}
    run(redis_url, lambda redis: Catalogue(redis, namespace).replace_items(bodies))
    pages = list(reader.item_documents())
    assert [len(page) for page in pages] == [2, 2, 1]
    assert [body for page in pages for body in page] == [
        {"hidden": False},
        {},
        {},
        {},
        {"hidden": True},
    ]


def test_a_lost_answer_is_an_error_and_the_next_reading_is_whole(stored, redis_url, tmp_path):
    namespace, path = stored(), tmp_path / "p"
    with (
        contextlib.closing(
            LossyProxy(redis_url, path, lambda request: b"MGET" in request)
        ) as proxy,
        connect(proxy.url, role="test") as client,
    ):
        reader = HistoryReader(client, namespace)
        with pytest.raises(StoreUnavailable):
            list(reader.pages())
        proxy.loses = lambda request: False
        assert list(records_of(reader)) == ["ada", "bob"]
