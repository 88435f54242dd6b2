"""Progress of the partitions as the api reports it: the same as an operator's command finds."""

from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.progress import partition_progress, workers
from service.store.server.inspection import PartitionReport, inspect_partition
from tests.stories import run


def test_a_new_partition_has_nothing_waiting(redis_url, namespace):
    report = run(redis_url, lambda one: partition_progress(one, namespace, 0))
    assert (report.appended, report.behind, report.leader) == (0, 0, None)


def test_waiting_events_are_appended_and_not_learned(client, redis_url, namespace):
    keys = PartitionKeys(namespace, 1)
    client.mset({keys.sequence: 100, keys.log_bytes: 4_000, keys.lease: "host:1:a"})
    client.hset(keys.state, "watermark", 90)
    report = run(redis_url, lambda one: partition_progress(one, namespace, 1))
    assert report == PartitionReport(
        partition=1,
        appended=100,
        learned=90,
        waiting_bytes=4_000,
        leader="host:1:a",
        dead_letters=0,
    )
    assert report.behind == 10
    assert report == inspect_partition(client, namespace, 1)


def test_workers_are_told_by_their_leases(client, redis_url, namespace):
    client.set(PartitionKeys(namespace, 1).lease, "host:1:a")
    assert run(redis_url, lambda one: workers(one, namespace, 3)) == ([0, 2], False)
    client.set(NamespaceKeys(namespace).trainer, "host:2:b")
    assert run(redis_url, lambda one: workers(one, namespace, 3)) == ([0, 2], True)
