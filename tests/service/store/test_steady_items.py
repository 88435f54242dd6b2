"""What was read for minutes must still be so when a model that names it becomes visible."""

import pytest

from service.errors import StoreRolledBack
from service.settings import Settings
from service.store.connection import connect
from service.store.identity.survey import run_of
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.models.records import ModelRecord
from service.store.models.registry import Registry
from service.store.namespace import open_namespace
from service.store.recovery.steady import SteadyItems
from tests.feed import Event, Feed
from tests.models import snapshot


@pytest.fixture
def space(client, namespace):
    space = open_namespace(client, Settings(namespace=namespace))
    Feed(client, namespace).with_items(3).append([Event("ada", "i1")])
    return space


def test_new_events_and_items_change_nothing(client, space):
    steady = SteadyItems(client, space)
    Feed(client, space.name).append([Event("ada", "new")])
    assert steady.token() == f"{space.identity}/{run_of(client)}"


def test_a_store_with_fewer_items_or_events_is_refused(client, space):
    steady = SteadyItems(client, space)
    client.rpop(NamespaceKeys(space.name).item_ids)
    with pytest.raises(StoreRolledBack, match="retrain again"):
        steady.token()
    steady = SteadyItems(client, space)
    client.set(PartitionKeys(space.name, 0).sequence, 0)
    with pytest.raises(StoreRolledBack):
        steady.token()


def test_a_new_era_is_refused(client, space):
    steady = SteadyItems(client, space)
    client.hset(NamespaceKeys(space.name).settings, "identity", f"{space.identity[:16]}.1.00000000")
    with pytest.raises(StoreRolledBack):
        steady.token()


def test_after_a_restart_the_numbers_must_be_those_of_the_same_items(private_server, namespace):
    with connect(private_server.url, role="test") as client:
        space = open_namespace(client, Settings(namespace=namespace))
        Feed(client, namespace).with_items(3).append([Event("ada", "i1")])
        steady = SteadyItems(client, space)
        before = steady.token()
        private_server.kill()
        private_server.start()
        client.connection_pool.disconnect()
        assert steady.token() != before
        # lost and given again: as many items, but others
        client.lset(NamespaceKeys(namespace).item_ids, 2, "other")
        with pytest.raises(StoreRolledBack):
            steady.token()


def test_a_model_of_another_store_does_not_become_visible(client, space):
    registry, made = Registry(client, space.name), snapshot(seed=1)
    record = ModelRecord.of(made, "fbgd", created_ms=1, job="a job", decision={})
    with pytest.raises(StoreRolledBack):
        registry.publish(made, record, token=lambda: "another store")
    assert registry.records() == []
    registry.publish(made, record, token=SteadyItems(client, space).token)
    assert registry.records() == [record]
