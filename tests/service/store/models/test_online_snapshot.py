"""The online snapshot: replaced as a whole; readers of the old one get an error; chunks expire."""

import numpy as np
import pytest

from core.errors import SnapshotFormat
from core.snapshot import Snapshot, blob
from service.errors import NotFound
from service.store.keys import PartitionKeys
from service.store.models.online_snapshot import CHUNK_BYTES, UNPUBLISHED_S, OnlineSnapshots


@pytest.fixture
def snapshots(client, namespace):
    return OnlineSnapshots(client, PartitionKeys(namespace, 0))


def made(value: float, n: int = 10) -> Snapshot:
    return Snapshot("online", {"items": np.full((n, 4), value, np.float32)}, {}, {}, {})


def chunk_keys(client, namespace):
    name = PartitionKeys(namespace, 0).online_snapshot_chunk("*", 0)
    return list(client.scan_iter(name.replace(":0", ":*"), count=1000))


def test_before_the_first_there_is_none(snapshots):
    assert snapshots.version() is None
    with pytest.raises(NotFound, match="take the newest"):
        snapshots.manifest("v")


def test_a_snapshot_in_chunks_is_restored_to_the_bit(snapshots):
    large = made(0.5, n=CHUNK_BYTES // 16 + 7)
    snapshots.publish(large)
    assert snapshots.version() == large.version
    assert snapshots.manifest(large.version) == large.manifest
    chunks = list(snapshots.chunks(large.version))
    assert len(chunks) == 2
    assert len(chunks[0]) == CHUNK_BYTES
    assert b"".join(chunks) == b"".join(blob(large))


def test_the_next_one_replaces_it_and_lets_its_chunks_expire(snapshots, client, namespace):
    first, second = made(1.0), made(2.0)
    snapshots.publish(first)
    [before] = chunk_keys(client, namespace)
    assert client.ttl(before) == -1
    snapshots.publish(second)
    assert snapshots.version() == second.version
    with pytest.raises(NotFound, match="take the newest"):
        snapshots.manifest(first.version)
    assert 0 < client.ttl(before) <= UNPUBLISHED_S
    [after] = set(chunk_keys(client, namespace)) - {before}
    assert client.ttl(after) == -1


def test_a_lost_chunk_is_an_error(snapshots, client, namespace):
    snapshots.publish(made(1.0))
    client.delete(*chunk_keys(client, namespace))
    with pytest.raises(SnapshotFormat, match="is missing"):
        list(snapshots.chunks(snapshots.version()))
