import pytest

from core.scale import Scale
from service.errors import Misconfigured
from service.settings import Settings
from service.store.namespace import open_namespace, read_namespace
from service.store.namespace_copy import copy_namespace
from service.store.partitions import partition_of


def test_a_namespace_is_created_once_and_then_the_same(client, namespace):
    settings = Settings(namespace=namespace, partitions=2, scale="-10:10", seed=7)
    first = open_namespace(client, settings)
    assert (first.partitions, first.scale, first.seed) == (2, Scale(-10, 10), 7)
    assert open_namespace(client, settings) == first == read_namespace(client, namespace)


def test_an_equal_scale_in_another_spelling_is_the_same(client, namespace):
    open_namespace(client, Settings(namespace=namespace, scale="1:5"))
    open_namespace(client, Settings(namespace=namespace, scale="1.0:5.0"))


@pytest.mark.parametrize("changed", [{"partitions": 3}, {"scale": "0:5"}, {"seed": 1}])
def test_other_settings_than_the_stored_ones_stop_the_start(client, namespace, changed):
    open_namespace(client, Settings(namespace=namespace))
    with pytest.raises(Misconfigured, match=f"HEDGEROW_{next(iter(changed)).upper()}="):
        open_namespace(client, Settings(namespace=namespace, **changed))


def test_a_copy_keeps_what_is_fixed_and_overwrites_nothing(client, namespace):
    source = open_namespace(client, Settings(namespace=namespace, scale="0.5:4", seed=3))
    copy = copy_namespace(client, source, namespace + "-copy")
    assert (copy.partitions, copy.scale, copy.seed) == (1, Scale(0.5, 4), 3)
    assert read_namespace(client, copy.name) == copy
    with pytest.raises(Misconfigured, match="new name"):
        copy_namespace(client, source, copy.name)


def test_users_spread_over_the_partitions_always_alike():
    counts = [0, 0, 0, 0]
    for number in range(4000):
        counts[partition_of(f"user-{number}", 4)] += 1
    assert min(counts) > 900
    assert partition_of("ann", 1) == 0
    assert partition_of("ann", 1_000) == partition_of("ann", 1_000)
