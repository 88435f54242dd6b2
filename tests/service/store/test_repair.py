"""Whether what is stored fits together, and the repair of what does not."""

from dataclasses import replace

import numpy as np
import pytest

from service.settings import Settings
from service.store.identity.identity import Identity
from service.store.identity.known import Positions
from service.store.identity.memory import Memory
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.codec import decode, encode
from service.store.log.state import read_state
from service.store.namespace import open_namespace, read_namespace
from service.store.namespaces import delete_namespace
from service.store.recovery.healing import read_rollbacks
from service.store.recovery.repair import PLACEHOLDER, plan
from service.store.recovery.wholeness import faults
from tests.feed import Event, some_ratings


@pytest.fixture
def settings(namespace, tmp_path):
    return Settings(namespace=namespace, data_dir=tmp_path)


@pytest.fixture
def world(feed, learner_of, namespace):
    """A namespace where 40 events are learned and 10 wait."""
    learner = learner_of()
    feed.append(some_ratings(40))
    learner.drain()
    feed.append(some_ratings(10, seed=2))
    learner.close()
    return feed


def repaired(client, settings) -> list[str]:
    """Carry out the plan; returns what it said."""
    steps = plan(client, settings)
    for step in steps:
        step.do()
    assert plan(client, settings) == []
    return [step.says for step in steps]


def test_what_the_service_stores_fits_together(client, world, settings):
    assert faults(client, world.namespace, 1) == []
    assert plan(client, settings) == []
    assert read_rollbacks(client, world.namespace) == []


def test_a_part_of_an_entry_may_be_learned(client, world):
    client.hset(world.keys.state, "watermark", 44)
    assert faults(client, world.namespace, 1) == []


def test_a_damaged_entry_tells_nothing_of_the_items(client, world):
    [(name, fields)] = client.xrange(world.keys.log)
    entry = decode(fields[b"d"])
    damaged = replace(entry, item=entry.item | np.uint32(1 << 30))
    client.delete(world.keys.log)
    client.xadd(world.keys.log, {**fields, b"d": encode(damaged)}, id=name)
    assert faults(client, world.namespace, 1) == []


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda c, k, n: c.set(k.sequence, 45), "there is event 50"),
        (lambda c, k, n: c.set(k.sequence, 60), "said to be 60"),
        (lambda c, k, n: c.delete(k.sequence), "there is event 50"),
        (lambda c, k, n: c.delete(k.log), "said to be 50"),
        (lambda c, k, n: c.hset(k.state, "watermark", 30), "events after 30 up to 40"),
        (lambda c, k, n: c.ltrim(n.item_ids, 0, 4), "only 5 were given"),
        (lambda c, k, n: c.delete(n.item_numbers), "0 items have a number"),
    ],
)
def test_what_does_not_fit_is_found_and_repaired(client, world, settings, learner_of, damage, says):
    keys, names = world.keys, NamespaceKeys(world.namespace)
    era = Identity.parse(read_namespace(client, world.namespace).identity).era
    damage(client, keys, names)
    assert says in "; ".join(faults(client, world.namespace, 1))
    told = repaired(client, settings)
    assert "new era" in told[-1]
    assert faults(client, world.namespace, 1) == []
    assert Identity.parse(read_namespace(client, world.namespace).identity).era == era + 1
    learner = learner_of()
    learner.drain()
    world.append([Event("zoe", "i1", 4.0)])
    learner.drain()
    assert read_state(client, keys).watermark == int(client.get(keys.sequence))


def test_items_whose_ids_are_lost_get_others(client, world, settings):
    names = NamespaceKeys(world.namespace)
    before = client.lrange(names.item_ids, 0, -1)
    client.ltrim(names.item_ids, 0, len(before) - 3)
    repaired(client, settings)
    after = client.lrange(names.item_ids, 0, -1)
    lost = [f"{PLACEHOLDER}{number}".encode() for number in range(len(before) - 2, len(before))]
    assert after == before[:-2] + lost
    numbers = {item: int(number) for item, number in client.hgetall(names.item_numbers).items()}
    assert numbers == {item: number for number, item in enumerate(after)}


def test_histories_without_an_online_state_are_for_a_rebuild(client, world, settings):
    client.delete(world.keys.state)
    client.set(world.keys.sequence, 0)
    client.delete(world.keys.log)
    [says] = faults(client, world.namespace, 1)
    assert "hedgerow rebuild" in says
    assert plan(client, settings) == []


def test_another_namespace_is_accepted_in_the_place_of_the_known_one(client, namespace, settings):
    first = Identity.parse(open_namespace(client, settings).identity)
    Memory(settings.data_dir).remember(namespace, first, Positions((7,), 3))
    delete_namespace(client, namespace)
    open_namespace(client, Settings(namespace=namespace, data_dir=settings.data_dir / "other"))
    [says] = repaired(client, settings)
    assert first.incarnation in says
    assert "partition 0: 7 events; 3 items" in says
    opened = open_namespace(client, settings)
    assert Memory(settings.data_dir).of(namespace).identity == opened.identity


def test_a_namespace_that_is_gone_is_created_anew_and_its_keys_stay_needed(
    client, namespace, settings
):
    first = Identity.parse(open_namespace(client, settings).identity)
    memory = Memory(settings.data_dir)
    memory.remember(namespace, first, Positions((7,), 3))
    memory.remember_keys(namespace)
    delete_namespace(client, namespace)
    [says] = repaired(client, settings)
    assert "anew and empty" in says
    assert client.hget(NamespaceKeys(namespace).settings, "replaces") == first.incarnation.encode()
    assert memory.of(namespace).had_keys
    assert client.hexists(PartitionKeys(namespace, 0).state, "identity")


def test_a_store_of_which_nothing_is_known_needs_no_repair(client, settings):
    assert plan(client, settings) == []
