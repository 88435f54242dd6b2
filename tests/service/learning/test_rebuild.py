import threading

import pytest

from service.errors import Misconfigured, Superseded
from service.learning.learner import Learner
from service.learning.partition_loop import learn_partition
from service.learning.rebuild import rebuild
from service.settings import KINDS, Settings
from service.store.log.codec import DELETE_ITEM, DELETE_USER
from service.store.log.dead_letters import DeadLetters
from service.store.log.state import read_state
from service.store.namespace import open_namespace
from service.store.recovery.healing import align
from tests.feed import Event, Feed, some_ratings
from tests.server import wait_until

VIEW = KINDS["view"].code


def a_mixed_stream(n=3_000):
    events = some_ratings(n, users=120, items=50)
    events[::9] = [Event(e.user, e.item, 0, VIEW) for e in events[::9]]
    return events


@pytest.mark.parametrize("users_in_memory", [64, 32_768])
def test_a_rebuild_gives_the_learners_state_bit_for_bit(
    learner_of, feed, redis_url, namespace, users_in_memory
):
    feed.append(a_mixed_stream())
    learner_of().drain()
    before = feed.online_state()
    settings = Settings(namespace=namespace, users_in_memory=users_in_memory)
    (report,) = rebuild(settings, redis_url)
    assert (report.watermark, report.generation, report.learned) == (3_000, 1, 2_666)
    assert feed.online_state() == before
    # the next learner goes on with it
    feed.append(some_ratings(200))
    assert learner_of().drain() == 200


def rows_of(client, namespace, generation) -> list[bytes]:
    """Every key of a generation."""
    patterns = (f"user:{generation}:*", f"item:{generation}:*", f"*s:{generation}", "online:*")
    keys = [key for p in patterns for key in client.keys(f"hr:{{{namespace}.0}}:{p}")]
    return [key for key in keys if b"online" not in key or key.endswith(b":%d" % generation)]


def test_a_rebuild_leaves_no_old_rows(learner_of, feed, redis_url, namespace, client):
    feed.append(some_ratings(300))
    learner_of().drain()
    rebuild(Settings(namespace=namespace), redis_url)
    assert rows_of(client, namespace, 0) == []
    assert len(rows_of(client, namespace, 1)) == 20 + 30 + 4


@pytest.mark.parametrize("phase", ["reading", "learning", "catching up"])
def test_a_rebuild_that_breaks_off_changes_nothing(
    learner_of, feed, redis_url, namespace, client, phase
):
    feed.append(some_ratings(500))
    learner_of().drain()
    before = feed.online_state()

    def break_off(now: str, *_: int) -> None:
        if now == "learning":
            # so that there is something to catch up with
            feed.append(some_ratings(50))
            old.drain()
        if now == phase:
            raise KeyboardInterrupt

    old = learner_of()
    settings = Settings(namespace=namespace)
    with pytest.raises(KeyboardInterrupt):
        rebuild(settings, redis_url, progress=break_off)
    if phase == "reading":
        assert feed.online_state() == before
    feed.append(some_ratings(100))
    going_on = learner_of()
    going_on.drain()
    state = feed.online_state()
    assert client.exists(feed.keys.lease) == 0
    (report,) = rebuild(settings, redis_url)
    assert report.generation == 2
    assert feed.online_state() == state
    assert rows_of(client, namespace, 0) + rows_of(client, namespace, 1) == []


def test_a_rebuild_into_a_second_namespace_compares_and_leaves_the_first_alone(
    learner_of, feed, redis_url, namespace, client
):
    feed.append(a_mixed_stream())
    learner_of().drain()
    before = read_state(client, feed.keys)
    (report,) = rebuild(Settings(namespace=namespace), redis_url, into=namespace + "-2")
    assert report.differences == []
    assert read_state(client, feed.keys) == before
    assert Feed(client, namespace + "-2").online_state() == feed.online_state()
    client.delete(feed.keys.user_row(0, "u3"))
    (report,) = rebuild(Settings(namespace=namespace), redis_url, into=namespace + "-3")
    assert report.differences == ["user u3"]
    with pytest.raises(Misconfigured, match="exists already"):
        rebuild(Settings(namespace=namespace), redis_url, into=namespace + "-3")


def test_a_changed_set_of_experts_replaces_the_old_one(learner_of, feed, redis_url, namespace):
    feed.append(some_ratings(500))
    old = learner_of()
    old.drain()
    changed = {"experts": "paper", "aggregator": "hedge"}
    rebuild(Settings(namespace=namespace, **changed), redis_url)
    feed.append(some_ratings(100))
    with pytest.raises(Superseded):
        old.step(0)
    with pytest.raises(Misconfigured, match="hedgerow rebuild"):
        learner_of()
    assert learner_of(**changed).drain() == 100


def test_a_learner_that_has_nothing_to_do_notices_the_swap(feed, redis_url, namespace):
    settings = Settings(namespace=namespace)
    ended: list[BaseException] = []

    def keep_learning() -> None:
        try:
            learn_partition(settings, redis_url, 0, stop)
        except Superseded as error:
            ended.append(error)

    stop = threading.Event()
    feed.append(some_ratings(100))
    thread = threading.Thread(target=keep_learning)
    thread.start()
    try:
        wait_until(feed.is_learned)
        rebuild(settings, redis_url)
        wait_until(lambda: bool(ended))
    finally:
        stop.set()
        thread.join()


def test_ratings_that_arrive_during_a_rebuild_are_learned_once(
    learner_of, feed, redis_url, namespace, client
):
    """The old learner learns until the swap stops it; every event counts exactly once."""
    events = some_ratings(6_000, users=200, items=60)
    feed.append(events[:3_000])
    old = learner_of()
    old.drain()
    swapped = threading.Event()

    def keep_learning() -> None:
        for first in range(3_000, 6_000, 50):
            feed.append(events[first : first + 50])
            if not swapped.is_set():
                try:
                    old.drain()
                except Superseded:
                    swapped.set()

    thread = threading.Thread(target=keep_learning)
    thread.start()
    rebuild(Settings(namespace=namespace, experts="paper"), redis_url)
    thread.join()
    new = learner_of(experts="paper")
    new.drain()
    assert new.watermark == 6_000
    for user in {event.user for event in events}:
        expected = [(i + 1, e.item, e.value) for i, e in enumerate(events) if e.user == user]
        assert feed.history(user) == expected
    (report,) = rebuild(
        Settings(namespace=namespace, experts="paper"), redis_url, into=namespace + "-2"
    )
    assert report.differences == []


def test_a_lost_state_costs_a_rebuild_and_no_data(learner_of, feed, redis_url, namespace, client):
    feed.append(a_mixed_stream())
    learner_of().drain()
    before = feed.online_state()
    feed.append(some_ratings(100))
    client.delete(feed.keys.state, feed.keys.online(0), feed.keys.item_rows(0))
    with pytest.raises(Misconfigured, match="hedgerow rebuild"):
        learner_of()
    rebuild(Settings(namespace=namespace), redis_url)
    assert feed.online_state() == before
    # a learner's process does so before it goes on: the identity of the partition is lost as well
    align(client, namespace, 1)
    learner = learner_of()
    assert learner.state.watermark == 3_000
    assert learner.drain() == 100


@pytest.mark.parametrize("has_checksum", [True, False])
def test_a_lost_state_before_a_damaged_entry_costs_no_more_than_that_entry(
    learner_of, feed, redis_url, namespace, client, has_checksum
):
    feed.append(some_ratings(50))
    learner_of().drain()
    feed.append_packed(b"damaged", 7)
    feed.append(some_ratings(20, seed=1))
    if has_checksum:
        [(name, fields), *rest] = client.xrange(feed.keys.log)
        client.delete(feed.keys.log)
        client.xadd(feed.keys.log, {**fields, b"c": b"1"}, id=name)
        for one, content in rest:
            client.xadd(feed.keys.log, content, id=one)
    client.delete(feed.keys.state, feed.keys.online(0), feed.keys.item_rows(0))
    rebuild(Settings(namespace=namespace), redis_url)
    align(client, namespace, 1)
    learner = learner_of()
    assert learner.watermark == 56
    learner.drain()
    assert learner.watermark == 77
    [letter] = DeadLetters(client, feed.keys).all()
    assert (letter.first, letter.last, letter.packed) == (57, 57, b"damaged")


def test_deleted_events_stay_deleted(learner_of, feed, redis_url, namespace):
    feed.append(some_ratings(400))
    feed.append([Event("u1", "i1", 0, DELETE_USER), Event("u2", "i7", 0, DELETE_ITEM)])
    learner_of().drain()
    rebuild(Settings(namespace=namespace), redis_url)
    state = feed.online_state()
    assert b"user:u1" not in state
    assert b"user:u2" in state
    assert f"item:{feed.numbers['i7']}".encode() not in state


def test_an_empty_namespace_can_be_rebuilt(redis_url, namespace, learner_of, feed):
    (report,) = rebuild(Settings(namespace=namespace), redis_url)
    assert (report.watermark, report.learned) == (0, 0)
    feed.append(some_ratings(10))
    assert learner_of().drain() == 10


def test_every_partition_is_rebuilt(redis_url, namespace, client):
    settings = Settings(namespace=namespace, partitions=2)
    space = open_namespace(client, settings)
    states = []
    for partition in range(2):
        feed = Feed(client, namespace, partition)
        feed.numbers = {f"i{n}": n for n in range(30)} if partition else {}
        feed.append(some_ratings(200, seed=partition))
        learner = Learner(settings, client, space, partition)
        learner.drain()
        learner.close()
        states.append(feed.online_state())
    reports = rebuild(settings, redis_url)
    assert [(r.partition, r.watermark, r.generation) for r in reports] == [(0, 200, 1), (1, 200, 1)]
    assert [Feed(client, namespace, p).online_state() for p in range(2)] == states
    assert states[0] != states[1]
