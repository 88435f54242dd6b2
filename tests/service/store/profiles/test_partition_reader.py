"""Learners and rebuilds read a whole partition, however many reads that takes."""

import numpy as np
import pytest

from service.store.keys import PartitionKeys
from service.store.profiles.dedupe_chunk import (
    DedupeChunk,
    DedupeClock,
    StoredIds,
    StoredWindow,
)
from service.store.profiles.history_record import records
from service.store.profiles.history_store import HistoryStore, pack_trimmed
from service.store.profiles.partition_reader import PartitionReader
from service.store.profiles.rows import SLICE, RowStore


@pytest.fixture
def keys(namespace):
    return PartitionKeys(namespace, 0)


@pytest.fixture
def reader(client, keys):
    return PartitionReader(client, keys)


def test_a_new_partition_is_empty(reader):
    assert (reader.last_generation(), reader.deleted_items()) == (0, {})
    assert (reader.ids(), reader.click_through()) == (StoredWindow(), {})
    assert reader.impressions_of("ann") == []
    assert reader.counts(0).shape == (0, 3)


@pytest.mark.parametrize("n", [SLICE - 1, SLICE, SLICE + 1])
def test_all_chunks_are_read_oldest_first(client, keys, reader, n):
    chunks = [DedupeChunk(ms, bytes(16)) for ms in range(n)]
    client.rpush(keys.dedupe(3), *(chunk.pack() for chunk in chunks))
    client.hset(keys.dedupe_lists, mapping={"3": f"0000002a {n - 1}", "clock": "17 -4"})
    found = reader.ids()
    assert found == StoredWindow({3: StoredIds(42, n - 1, chunks)}, DedupeClock(17, -4))


def test_chunks_from_before_there_were_producers_are_one_list(client, keys, reader):
    chunks = [DedupeChunk(ms, bytes(16), has_age=False) for ms in range(3)]
    client.rpush(keys.dedupe(0), *(chunk.pack() for chunk in chunks))
    assert reader.ids() == StoredWindow({0: StoredIds(0, 3, chunks)})


def test_all_impressions_of_a_user_are_found(client, keys, reader):
    for n in range(1, SLICE + 50):
        user = "ann" if n in {1, SLICE, SLICE + 40} else "bob"
        client.xadd(keys.impressions, {"u": user, "d": b""}, id=f"{n}-0")
    wanted = [b"1-0", b"%d-0" % SLICE, b"%d-0" % (SLICE + 40)]
    assert reader.impressions_of("ann") == wanted


def test_rows_come_in_slices_and_in_their_order(client, keys):
    store = RowStore(client, keys, 3)
    for number in (0, 7, SLICE):
        client.set(keys.item_row(3, number), b"row%d" % number)
        client.setbit(keys.item_rows(3), number, 1)
    client.set(keys.item_row(2, 1), b"of another generation")
    assert store.stored_items().tolist() == [0, 7, SLICE]
    slices = list(store.item_rows(range(SLICE + 1)))
    assert [len(part) for part in slices] == [SLICE, 1]
    rows = [row for part in slices for row in part]
    assert (rows[7], rows[SLICE], rows[1]) == (b"row7", b"row%d" % SLICE, None)


def test_a_history_is_read_whole_or_by_its_end(client, keys):
    n = 5
    item, zero = np.arange(n), np.zeros(n)
    told = records(item, zero, zero.astype(np.int64), np.arange(1, n + 1), zero.astype(np.uint8))
    client.set(keys.history("ann"), told.tobytes())
    client.set(keys.trimmed("ann"), pack_trimmed(np.array([9, 11])))
    store = HistoryStore(client, keys)
    history, trimmed = store.whole("ann")
    assert history["item"].tolist() == item.tolist()
    assert trimmed.tolist() == [9, 11]
    assert [len(part) for part in store.whole("eve")] == [0, 0]
    assert store.sizes(["ann", "eve"]) == [n * 24, 0]
    assert [tail["item"].tolist() for tail in store.tails(["ann", "eve"], 48)] == [[3, 4], []]
    histories, gone = store.of_users(["eve", "ann"])
    assert [len(one) for one in histories] == [0, n]
    assert [one.tolist() for one in gone] == [[], [9, 11]]
