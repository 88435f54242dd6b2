"""Commits of a partition: two learners that commit at once, lost connections, lost answers."""

import threading

import numpy as np
import pytest

from service.errors import StoreRolledBack, StoreUnavailable, Superseded
from service.store.connection import connect
from service.store.identity.survey import run_of
from service.store.keys import PartitionKeys
from service.store.log.state import read_state
from service.store.profiles.commit import (
    Changes,
    Commit,
    HistoryChanges,
    RowChanges,
    StateChange,
)
from service.store.profiles.rows import RowStore
from service.store.profiles.take_over import check_epoch, take_over
from service.store.profiles.writer import ProfileWriter
from tests.proxy import LossyProxy

FINGERPRINT = b"experts1"


@pytest.fixture
def keys(namespace):
    return PartitionKeys(namespace, 0)


@pytest.fixture
def proxy(redis_url, tmp_path_factory):
    path = tmp_path_factory.mktemp("p") / "s"
    proxy = LossyProxy(redis_url, path)
    yield proxy
    proxy.close()


def writer_of(client, keys):
    """Take over the partition and return its writer."""
    state = take_over(client, keys, fingerprint=FINGERPRINT, machine="m")
    return ProfileWriter(client, keys, state)


def commit_of(follows, watermark):
    appended = HistoryChanges(users=["ann"], records=[memoryview(b"r" * 24)], new_users=["ann"])
    return Commit(follows=follows, watermark=watermark, changes=Changes(histories=appended))


def test_rows_of_one_commit_arrive_as_they_were(client, keys):
    writer, stored = writer_of(client, keys), RowStore(client, keys, 0)
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    changed = RowChanges(
        users=["ann", "b\r\n/é"],
        user_rows=rows,
        items=[7],
        item_rows=rows[1:],
        new_items=[7],
    )
    state = StateChange(arrays={"mean": b"abcd"})
    writer.commit(Commit(follows=0, watermark=2, changes=Changes(rows=changed), state=state))
    assert list(stored.user_rows(["ann", "b\r\n/é", "eve"])) == [
        [rows[0].tobytes(), rows[1].tobytes(), None]
    ]
    assert list(stored.item_rows([7])) == [[rows[1].tobytes()]]
    assert stored.stored_items().tolist() == [7]
    assert stored.arrays() == {"mean": b"abcd"}
    writer.close()


@pytest.mark.parametrize("hangs", [False, True])
def test_a_commit_whose_reply_is_lost_happens_once(proxy, client, keys, hangs):
    with connect(proxy.url, role="test", timeout_s=2.0) as lossy:
        writer = writer_of(lossy, keys)
        writer.commit(commit_of(0, 1))
        proxy.hangs, proxy.loses = hangs, lambda request: b"EXEC" in request
        commit = commit_of(1, 2)
        with pytest.raises(StoreUnavailable):
            writer.commit(commit)
        proxy.loses = lambda _: False
        writer.commit(commit)
        writer.commit(commit_of(2, 3))
        assert proxy.lost == 1
        assert client.strlen(keys.history("ann")) == 3 * 24
        assert client.xlen(keys.changes) == 3
        writer.close()


def test_a_commit_that_never_arrived_is_sent_again(private_server, keys):
    with connect(private_server.url, role="test") as client:
        writer = writer_of(client, keys)
        writer.commit(commit_of(0, 1))
        commit = commit_of(1, 2)
        private_server.kill()
        with pytest.raises(StoreUnavailable):
            writer.commit(commit)
        private_server.start()
        writer.commit(commit)
        assert client.strlen(keys.history("ann")) == 2 * 24
        writer.close()


def test_a_writer_is_refused_when_another_took_over(client, keys):
    first = writer_of(client, keys)
    first.commit(commit_of(0, 1))
    second = writer_of(client, keys)
    assert read_state(client, keys).epoch == 2
    with pytest.raises(Superseded, match="epoch 1 is over"):
        check_epoch(client, keys, 1)
    with pytest.raises(Superseded, match="epoch 1 is over"):
        first.commit(commit_of(1, 2))
    second.commit(commit_of(1, 2))
    assert client.strlen(keys.history("ann")) == 2 * 24
    first.close()
    second.close()


def test_a_commit_must_follow_the_watermark(client, keys):
    writer = writer_of(client, keys)
    with pytest.raises(StoreRolledBack, match="went back from event 5 to 0"):
        writer.commit(commit_of(5, 6))
    client.hset(keys.state, "watermark", 7)
    with pytest.raises(Superseded, match="watermark is 7, not 5"):
        writer.commit(commit_of(5, 6))
    assert client.exists(keys.history("ann")) == 0


def test_a_writer_is_refused_by_a_restarted_server_and_by_another_identity(client, keys):
    state = take_over(client, keys, fingerprint=FINGERPRINT, machine="m")
    restarted = ProfileWriter(client, keys, state, run="0" * 40)
    with pytest.raises(StoreRolledBack, match="restarted"):
        restarted.commit(commit_of(0, 1))
    here = ProfileWriter(client, keys, state, run=run_of(client))
    here.commit(commit_of(0, 1))
    client.hset(keys.state, "identity", "9f2c.1.5c1d")
    with pytest.raises(StoreRolledBack, match="another one"):
        here.commit(commit_of(1, 2))
    assert client.strlen(keys.history("ann")) == 24
    restarted.close()
    here.close()


def test_an_error_inside_a_transaction_is_not_swallowed(client, keys):
    writer = writer_of(client, keys)
    client.set(keys.changes, "no stream")
    with pytest.raises(Exception, match="WRONGTYPE"):
        writer.commit(commit_of(0, 1))


def test_racing_writers_leave_one_line_of_commits(client, keys):
    def fight() -> None:
        state = take_over(client, keys, fingerprint=FINGERPRINT, machine="m")
        writer = ProfileWriter(client, keys, state)
        try:
            for n in range(state.watermark, state.watermark + 30):
                writer.commit(commit_of(n, n + 1))
        except Superseded:
            pass
        finally:
            writer.close()

    threads = [threading.Thread(target=fight) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    watermark = int(client.hget(keys.state, "watermark"))
    feed = client.xrange(keys.changes)
    assert [fields[b"f"] for _, fields in feed] == [b"%d" % n for n in range(watermark)]
    epochs = [int(fields[b"e"]) for _, fields in feed]
    assert epochs == sorted(epochs)
    assert client.strlen(keys.history("ann")) == 24 * watermark
