"""Stored formats: each module reads what it writes, and the bytes are those of old versions."""

import json

import numpy as np

from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.change import LISTED, Change
from service.store.log.codec import AWAITED_ANSWER, LEARNED
from service.store.models.mixture import (
    LengthRecord,
    MixtureReader,
    MixtureRecord,
    RankerRecord,
    read_first_stack,
    read_mixture,
    write_mixture,
)
from service.store.profiles.click_through import (
    SourceCounts,
    pack_counts,
    read_click_through,
    stored_click_through,
    unpack_counts,
)
from service.store.profiles.dedupe_chunk import DedupeChunk
from service.store.profiles.expert_history import pack_point, shown, unpack_point
from tests.stories import run


def packed(change: Change) -> dict[bytes, bytes]:
    """The fields of a change as a stream returns them."""
    texts = {
        name: value if isinstance(value, bytes) else str(value).encode()
        for name, value in change.pack().items()
    }
    return {name.encode(): value for name, value in texts.items()}


def test_a_change_is_read_as_it_was_written():
    answers = np.array([(7, 3.5, 3.0, 4.0, LEARNED)], dtype=AWAITED_ANSWER)
    items = np.array([3, 70_000])
    change = Change(follows=6, epoch=2, users=["ann", "b/é"], items=items, answers=answers)
    fields = packed(change)
    assert fields == {
        b"f": b"6",
        b"e": b"2",
        b"u": "ann\nb/é".encode(),
        b"i": items.astype("<u4").tobytes(),
        b"p": answers.tobytes(),
    }
    back = Change.unpack(fields)
    assert (back.follows, back.epoch, back.users, back.is_all) == (6, 2, ["ann", "b/é"], False)
    assert back.items.tolist() == [3, 70_000]
    assert back.answers.tolist() == answers.tolist()


def test_a_change_of_very_many_users_is_stored_as_all():
    named = Change(follows=0, epoch=1, users=[f"u{n}" for n in range(LISTED)])
    many = Change(follows=0, epoch=1, users=[f"u{n}" for n in range(LISTED + 1)])
    assert not Change.unpack(packed(named)).is_all
    assert packed(many) == {b"f": b"0", b"e": b"1", b"a": b"1"}
    assert Change.unpack(packed(many)).is_all


def test_a_change_without_names_is_read_as_none():
    back = Change.unpack({})
    assert (back.follows, list(back.users), back.items.size, back.answers.size) == (-1, [], 0, 0)


def test_a_dedupe_chunk_is_read_as_it_was_written():
    chunk = DedupeChunk(61_000, bytes(range(32)))
    assert chunk.pack() == b"\2" + (61_000).to_bytes(8, "little") + bytes(range(32))
    for one in (chunk, DedupeChunk(-5, b"")):
        assert DedupeChunk.unpack(one.pack()) == one
    assert len(chunk) == 2


def test_a_dedupe_chunk_from_before_there_were_ages_is_read():
    packed = (1_763_000_000_000).to_bytes(8, "little") + bytes(range(32))
    chunk = DedupeChunk.unpack(packed)
    assert chunk == DedupeChunk(1_763_000_000_000, bytes(range(32)), has_age=False)
    assert chunk.pack() == packed


def test_a_point_of_the_experts_is_read_as_it_was_written():
    expert = {"name": "sgd", "weight": 0.25, "part": 0.5, "recent_loss": 0.125}
    point = {"learned": 990, "experts": [expert]}
    entry = (b"1000-0", {b"d": pack_point(point)})
    assert unpack_point(entry) == (1000, point)
    assert shown(entry) == {"sequence": 1000, "learned": 990, "experts": [expert]}


def test_click_through_is_summed_over_the_partitions(client, redis_url, namespace):
    first, second = SourceCounts(9, {"6": 4, "2": 1}), SourceCounts(3, {"6": 1})
    assert pack_counts(first) == b'{"last": 9, "events": {"6": 4, "2": 1}}'
    assert unpack_counts(pack_counts(first)) == first
    for partition, counts in enumerate((first, second)):
        keys = PartitionKeys(namespace, partition)
        client.hset(keys.responses, "00013fa2b4c1d2e3", pack_counts(counts))
    stored = stored_click_through(client, PartitionKeys(namespace, 1))
    assert stored == {"00013fa2b4c1d2e3": second}

    found = run(redis_url, lambda connection: read_click_through(connection, namespace, 2))
    assert found == {bytes.fromhex("00013fa2b4c1d2e3"): {6: 5, 2: 1}}


def test_a_mixture_is_read_as_it_was_written(client, redis_url, namespace):
    keys = PartitionKeys(namespace, 0)
    ranker = RankerRecord(weight=0.5, version="4f2a", judged=31, mrr=0.25, ndcg10=0.125)
    record = MixtureRecord(
        watermark=2000,
        judged=31,
        passed_over=2,
        rankers={"fbgd": ranker},
        mixture=ranker,
        by_length={4: LengthRecord(judged=3, weights={"fbgd": 1.0})},
    )
    assert read_mixture(client, keys) is None
    write_mixture(client, keys, record)
    assert read_mixture(client, keys) == record
    records = run(redis_url, lambda one: MixtureReader(one, namespace, 2).records())
    assert records == [record, None]


def test_a_mixture_of_another_version_is_none(client, redis_url, namespace):
    keys = PartitionKeys(namespace, 0)
    stack = {"names": ["a"], "mean": [0], "scale": [1], "weights": [[1, 2]], "length": [0, 1]}
    record = {"watermark": 1, "judged": 1, "passed_over": 0, "rankers": {}, "stack": stack}
    client.set(keys.mixture, json.dumps(record))
    client.set(NamespaceKeys(namespace).first_stack, json.dumps({"job": "j", "stack": stack}))
    assert read_mixture(client, keys) is None
    assert read_first_stack(client, namespace) is None
    assert run(redis_url, lambda one: MixtureReader(one, namespace, 1).records()) == [None]
