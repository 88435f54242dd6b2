"""Taking over a partition: the epoch rises, and rows of another model stop the start."""

import threading
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
import redis

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


class Interrupted(redis.UnixDomainSocketConnection):
    """A connection that lets something happen before one of its calls."""

    def __init__(self, *, before: int, meanwhile: Callable[[], None], **options) -> None:
        super().__init__(**options)
        self.before, self.meanwhile = before, meanwhile

    def send_packed_command(self, command, check_health=True) -> None:
        if self.before == 0:
            self.meanwhile()
        self.before -= 1
        super().send_packed_command(command, check_health)


@pytest.mark.parametrize("before", range(4))
def test_a_first_commit_may_come_between_any_two_calls(client, keys, redis_url, before):
    def meanwhile() -> None:
        take_over(client, keys, fingerprint=b"experts1", machine="m")
        client.zadd(keys.users, {"ann": 0})

    pool = redis.ConnectionPool(
        connection_class=Interrupted,
        path=urlsplit(redis_url).path,
        driver_info=None,
        protocol=2,
        before=before,
        meanwhile=meanwhile,
    )
    with redis.Redis.from_pool(pool) as late:
        state = take_over(late, keys, fingerprint=b"experts1", machine="m")
    assert state.epoch == 2
