"""The registry: models are published whole or not at all, and every change has an author."""

import threading
import time

import numpy as np
import pytest
import redis

from core.errors import SnapshotFormat
from core.snapshot import Snapshot, blob, mapped
from service.errors import Conflict, NotFound, StoreUnavailable, VersionConflict
from service.store.connection import connect
from service.store.keys import NamespaceKeys
from service.store.models.published import CHUNK_BYTES, UNPUBLISHED_S
from service.store.models.records import ModelRecord
from service.store.models.registry import Registry
from tests.models import activated, published, snapshot
from tests.server import PrivateServer, wait_until

UNKNOWN = "0" * 64
DAY_MS = 86_400_000


@pytest.fixture
def registry(client: redis.Redis, namespace: str) -> Registry:
    return Registry(client, namespace)


def large(seed: int = 0) -> Snapshot:
    """A model of several chunks, whose arrays do not end where chunks do."""
    drawn = np.random.default_rng(seed).normal(size=(5_001, 101)).astype(np.float32)
    return Snapshot("large", {"a": drawn, "b": np.arange(7, dtype=np.int64), "c": drawn[:2_000]})


def test_an_empty_registry_has_nothing(registry: Registry) -> None:
    assert (registry.records(), registry.active(), registry.pins()) == ([], {}, {})
    assert registry.changes(10) == []
    for read in (registry.record, registry.manifest, lambda v: list(registry.chunks(v))):
        with pytest.raises(NotFound, match="there is no model"):
            read(UNKNOWN)


def test_a_published_model_is_restored_to_the_bit(registry: Registry) -> None:
    made = large()
    record = published(registry, made)
    chunks = list(registry.chunks(record.version))
    assert {len(chunk) for chunk in chunks[:-1]} == {CHUNK_BYTES}
    assert 0 < len(chunks[-1]) <= CHUNK_BYTES
    assert b"".join(chunks) == b"".join(blob(made))
    assert len(b"".join(chunks)) == record.bytes
    again = mapped(registry.manifest(record.version), b"".join(chunks))
    assert again.version == record.version == made.version
    assert registry.record(record.version) == record


def test_a_model_without_arrays_can_be_published(registry: Registry) -> None:
    record = published(registry, Snapshot("empty", {"a": np.empty((0, 4), np.float32)}))
    assert (record.bytes, list(registry.chunks(record.version))) == (0, [])


def test_records_are_listed_newest_first_and_by_strategy(registry: Registry) -> None:
    old, new = published(registry, seed=1), published(registry, seed=2)
    other = published(registry, seed=3, strategy="ocmf")
    assert registry.records() == [other, new, old]
    assert registry.records("fbgd") == [new, old]
    assert registry.records("exmlds") == []


def test_a_model_is_named_by_how_its_version_begins(registry: Registry) -> None:
    records = [published(registry, seed=seed) for seed in range(17)]
    assert [registry.named(record.version[:12]) for record in records] == records
    assert registry.named(records[0].version) == records[0]
    first = [record.version[0] for record in records]
    twice = next(digit for digit in first if first.count(digit) > 1)
    with pytest.raises(Conflict, match=f"models begin with {twice!r}"):
        registry.named(twice)
    with pytest.raises(NotFound, match="there is no model 'x'"):
        registry.named("x")


def test_publishing_twice_changes_nothing(registry: Registry, client: redis.Redis) -> None:
    record = published(registry, seed=1)
    registry.publish(snapshot(seed=1), record)
    assert registry.records() == [record]
    [key] = registry._chunk_keys(record.version)
    assert client.ttl(key) == -1, "the chunks that are named stay"


class DyingRegistry(Registry):
    """A registry whose process ends before the chunks get a name."""

    def _evaluate(self, *_: object) -> None:
        raise KeyboardInterrupt


class ForgetfulRegistry(Registry):
    """A registry whose chunks have expired when they are to be named."""

    def _put(self, *_: object) -> None:
        return


def test_a_publication_that_breaks_off_leaves_nothing_to_see_and_expires(
    client: redis.Redis, namespace: str
) -> None:
    registry = DyingRegistry(client, namespace)
    with pytest.raises(KeyboardInterrupt):
        published(registry)
    assert registry.records() == []
    chunks = list(client.scan_iter(NamespaceKeys(namespace).model_chunk("*", 0), count=1000))
    assert len(chunks) == 1
    assert 0 < client.ttl(chunks[0]) <= UNPUBLISHED_S


def test_a_publication_whose_parts_expired_is_not_visible(
    client: redis.Redis, namespace: str
) -> None:
    registry = ForgetfulRegistry(client, namespace, patience_s=0.0)
    with pytest.raises(StoreUnavailable, match="publish it again"):
        published(registry)
    assert registry.records() == []


def test_a_server_that_restarts_during_a_publication_is_waited_for(
    private_server: PrivateServer, namespace: str
) -> None:
    made = large()
    with connect(private_server.url, role="test") as client:
        registry = Registry(client, namespace)
        crashed = threading.Event()
        put = registry._put

        def put_and_crash(key: str, chunk: bytes) -> None:
            put(key, chunk)
            if key.endswith(":1") and not crashed.is_set():
                private_server.kill()
                crashed.set()

        registry._put = put_and_crash  # type: ignore[method-assign]
        revival = threading.Thread(target=lambda: (crashed.wait(), private_server.start()))
        revival.start()
        record = published(registry, made)
        revival.join()
        assert b"".join(registry.chunks(record.version)) == b"".join(blob(made))
        assert registry.records() == [record]


def test_the_record_must_be_of_the_snapshot(registry: Registry) -> None:
    record = ModelRecord.of(snapshot(seed=1), "fbgd", created_ms=1, decision={})
    with pytest.raises(ValueError, match="another snapshot"):
        registry.publish(snapshot(seed=2), record)


def test_the_served_version_changes_only_from_the_expected_one(registry: Registry) -> None:
    a, b = published(registry, seed=1).version, published(registry, seed=2).version
    registry.set_active("fbgd", a, expected=None, who="gate", why="nothing was active")
    for wrong in (None, b):
        with pytest.raises(VersionConflict, match=f"{a[:12]} now serves fbgd"):
            registry.set_active("fbgd", b, expected=wrong, who="gate", why="")
    assert registry.active() == {"fbgd": a}
    registry.set_active("fbgd", b, expected=a, who="gate", why="better")
    assert registry.active() == {"fbgd": b}
    other = published(registry, seed=3, strategy="ocmf").version
    with pytest.raises(VersionConflict, match="nothing now serves ocmf"):
        registry.set_active("ocmf", other, expected=a, who="gate", why="")


def test_only_a_model_of_the_strategy_can_serve_it(registry: Registry) -> None:
    a = published(registry).version
    for strategy, version in (("ocmf", a), ("fbgd", UNKNOWN)):
        with pytest.raises(NotFound, match=f"no model {version} of the strategy {strategy}"):
            registry.set_active(strategy, version, expected=None, who="gate", why="")
    assert registry.active() == {}


def test_one_of_many_racing_promotions_wins(redis_url: str, namespace: str) -> None:
    with connect(redis_url, role="test") as client:
        registry = Registry(client, namespace)
        versions = [published(registry, seed=seed).version for seed in range(8)]
        lost = []

        def race(version: str) -> None:
            try:
                registry.set_active("fbgd", version, expected=None, who="racer", why="")
            except VersionConflict:
                lost.append(version)

        threads = [threading.Thread(target=race, args=(version,)) for version in versions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        [winner] = set(versions) - set(lost)
        assert registry.active() == {"fbgd": winner}
        assert [change.version for change in registry.changes(10)] == [winner]


def test_every_change_has_an_author_a_time_and_a_reason(registry: Registry) -> None:
    before_ms = time.time_ns() // 1_000_000
    a, b = published(registry, seed=1).version, published(registry, seed=2).version
    registry.set_active("fbgd", a, expected=None, who="gate", why="nothing was active")
    registry.set_active("fbgd", b, expected=a, who="gate", why="+2 %")
    registry.set_active("fbgd", b, expected=b, who="gate", why="no change is no entry")
    registry.roll_back("fbgd", who="key 0a", why="complaints")
    registry.pin(a, "key 0a", "stay" * 1_000)
    registry.unpin(a, "key 0b", "")
    changes = registry.changes(10)
    assert [(c.action, c.version, c.before, c.who, c.why) for c in changes] == [
        ("unpinned", a, a, "key 0b", ""),
        ("pinned", a, a, "key 0a", ("stay" * 1_000)[:500]),
        ("rolled_back", a, b, "key 0a", "complaints"),
        ("promoted", b, a, "gate", "+2 %"),
        ("promoted", a, None, "gate", "nothing was active"),
    ]
    assert all(before_ms <= change.at_ms <= time.time_ns() // 1_000_000 for change in changes)
    assert registry.changes(2) == changes[:2]


def test_rolling_back_goes_back_step_by_step(registry: Registry) -> None:
    a, b, c = (activated(registry, seed=seed).version for seed in range(3))
    assert registry.active() == {"fbgd": c}
    assert registry.roll_back("fbgd", who="me", why="") == b
    assert registry.roll_back("fbgd", who="me", why="") == a
    with pytest.raises(Conflict, match="no earlier version of fbgd") as refused:
        registry.roll_back("fbgd", who="me", why="")
    assert refused.value.code == "no_earlier_version"
    assert registry.active() == {"fbgd": a}


def test_a_roll_back_without_any_model_says_that_none_has_served(registry: Registry) -> None:
    activated(registry, seed=0)
    with pytest.raises(Conflict, match="ocmf has never served a model") as refused:
        registry.roll_back("ocmf", who="me", why="")
    assert refused.value.code == "no_earlier_version"


def test_a_version_has_served_once_another_replaced_it(registry: Registry) -> None:
    first = activated(registry, seed=1)
    registry.pin(first.version, "me", "")
    registry.unpin(first.version, "me", "")
    assert not registry.has_served(first.version)
    second = activated(registry, seed=2)
    assert registry.has_served(first.version)
    assert not registry.has_served(second.version)
    registry.roll_back("fbgd", who="me", why="")
    assert registry.has_served(second.version)


def test_a_pinned_version_serves_and_stays(registry: Registry) -> None:
    a, b = activated(registry, seed=1).version, activated(registry, seed=2).version
    registry.pin(a, "me", "")
    assert (registry.active(), registry.pins()) == ({"fbgd": a}, {"fbgd": a})
    for refused in (
        lambda: registry.set_active("fbgd", b, expected=a, who="gate", why=""),
        lambda: registry.pin(b, "me", ""),
        lambda: registry.roll_back("fbgd", who="me", why=""),
    ):
        with pytest.raises(
            VersionConflict, match=f"version {a[:12]} of fbgd is pinned"
        ) as conflict:
            refused()
        assert conflict.value.code == "model_pinned"
    registry.pin(a, "me", "again is fine")
    registry.unpin(b, "me", "not pinned: nothing happens")
    assert registry.pins() == {"fbgd": a}
    registry.unpin(a, "me", "")
    assert (registry.active(), registry.pins()) == ({"fbgd": a}, {})
    registry.set_active("fbgd", b, expected=a, who="gate", why="")


def test_pruning_keeps_what_serves_served_and_is_pinned(
    registry: Registry, client: redis.Redis, namespace: str
) -> None:
    pinned = published(registry, seed=0, strategy="ocmf")
    registry.pin(pinned.version, "me", "")
    first, before, active = (activated(registry, seed=seed) for seed in (1, 2, 3))
    newer = [published(registry, seed=seed) for seed in (4, 5)]
    assert registry.prune(keep=1, max_age_ms=10**15) == [newer[0].version, first.version]
    assert registry.records() == [newer[1], active, before, pinned]
    left = client.scan_iter(NamespaceKeys(namespace).model_chunk("*", 0), count=1000)
    assert len(list(left)) == 4
    assert registry.prune(keep=0, max_age_ms=10**15) == [newer[1].version]
    assert registry.roll_back("fbgd", who="me", why="") == before.version


def test_pruning_goes_by_age_too(registry: Registry) -> None:
    now = time.time_ns() // 1_000_000
    old = published(registry, seed=1, created_ms=now - 2 * DAY_MS)
    young = published(registry, seed=2, created_ms=now)
    assert registry.prune(keep=9, max_age_ms=DAY_MS) == [old.version]
    assert registry.records() == [young]


def test_a_roll_back_passes_over_versions_that_are_gone(registry: Registry) -> None:
    first, gone, before, _ = (activated(registry, seed=seed) for seed in range(4))
    registry.roll_back("fbgd", who="me", why="")
    assert registry.active() == {"fbgd": before.version}
    assert registry._remove(gone) is False, "it is the one before the active"
    registry._client.zrem(registry._keys.models, gone.version)
    assert registry._remove(first) is False, "now this one is"
    assert registry.roll_back("fbgd", who="me", why="") == first.version


def test_a_damaged_manifest_is_refused(registry: Registry, client: redis.Redis) -> None:
    record = published(registry)
    key = registry._keys.model(record.version)
    for damage in (b"{", b'{"schema":1}'):
        client.hset(key, "manifest", damage)
        with pytest.raises(SnapshotFormat, match="is damaged"):
            registry.manifest(record.version)


def test_a_missing_chunk_is_an_error(registry: Registry, client: redis.Redis) -> None:
    record = published(registry)
    client.delete(*registry._chunk_keys(record.version))
    with pytest.raises(SnapshotFormat, match="is missing from the store"):
        list(registry.chunks(record.version))


def test_an_unreachable_server_is_an_error(private_server: PrivateServer, namespace: str) -> None:
    with connect(private_server.url, role="test") as client:
        registry = Registry(client, namespace)
        private_server.kill()
        wait_until(lambda: not private_server.alive)
        with pytest.raises(StoreUnavailable):
            registry.active()
