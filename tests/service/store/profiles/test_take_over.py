"""Taking over a partition: the epoch rises, and rows of another model stop the start."""

import threading

import pytest

from service.errors import Misconfigured, Superseded
from service.store.keys import PartitionKeys
from service.store.profiles.take_over import check_epoch, take_over


@pytest.fixture
def keys(namespace):
    return PartitionKeys(namespace, 0)


def test_the_first_writer_finds_an_empty_partition(client, keys):
    state = take_over(client, keys, fingerprint=b"experts1", machine="m1")
    assert (state.epoch, state.watermark, state.generation) == (1, 0, 0)
    assert (state.fingerprint, state.machine) == (b"experts1".hex(), "m1")


def test_the_next_writer_goes_on_where_the_first_stopped(client, keys):
    take_over(client, keys, fingerprint=b"experts1", machine="m1")
    client.hset(keys.state, mapping={"watermark": 70, "learned": 60})
    state = take_over(client, keys, fingerprint=b"experts1", machine="m2")
    assert (state.epoch, state.watermark, state.learned, state.machine) == (2, 70, 60, "m2")
    check_epoch(client, keys, 2)
    with pytest.raises(Superseded, match="epoch 1 is over, 2 has begun"):
        check_epoch(client, keys, 1)


def test_rows_of_another_model_stop_the_start(client, keys):
    take_over(client, keys, fingerprint=b"experts1", machine="m")
    with pytest.raises(Misconfigured, match="another set of experts"):
        take_over(client, keys, fingerprint=b"experts2", machine="m")
    assert int(client.hget(keys.state, "epoch")) == 1


def test_histories_without_a_state_ask_for_a_rebuild(client, keys):
    client.zadd(keys.users, {"ann": 0})
    with pytest.raises(Misconfigured, match="hedgerow rebuild"):
        take_over(client, keys, fingerprint=b"experts1", machine="m")


def test_writers_that_race_get_epochs_of_their_own(client, keys):
    epochs = []

    def race() -> None:
        epochs.append(take_over(client, keys, fingerprint=b"experts1", machine="m").epoch)

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(epochs) == list(range(1, 9))
