"""A lease has one holder: it passes on when it is released, expires, or its process has ended."""

import pytest

from service.store.keys import PartitionKeys
from service.store.log.lease import Lease
from tests.server import wait_until


@pytest.fixture
def keys(namespace):
    return PartitionKeys(namespace, 0)


def test_a_lease_is_held_by_one_and_passes_on(client, keys):
    first, second = (Lease(client, keys.lease, 60_000) for _ in range(2))
    assert first.acquire()
    assert first.keep()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    first.release()  # not its own any more
    assert not first.acquire()


def test_the_lease_of_a_process_that_ended_is_free_at_once(client, keys):
    lease = Lease(client, keys.lease, 60_000)
    host = lease.token.partition(":")[0]
    client.set(keys.lease, f"{host}:{2**22 + 1}:x")  # beyond the largest process id
    assert lease.acquire()
    client.set(keys.lease, "elsewhere:1:x")
    assert not Lease(client, keys.lease, 60_000).acquire()


def test_a_seized_lease_is_lost_to_its_holder(client, keys):
    first, second = Lease(client, keys.lease, 300), Lease(client, keys.lease, 60_000)
    assert first.acquire()
    second.seize()
    wait_until(lambda: not first.keep())
