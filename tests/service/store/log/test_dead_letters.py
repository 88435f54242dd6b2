"""An entry of the log that cannot be learned is set aside; the learner goes on behind it."""

import re
from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.scale import Scale
from service.errors import Misconfigured
from service.learning.inspection import DAMAGED, Inspection
from service.store.log.codec import MERGE_USER, Entry, decode, encode
from service.store.log.dead_letters import KEPT, DeadLetter, DeadLetters
from service.store.log.state import read_state
from service.store.log.stream import LogEntry
from tests.feed import NOW_MS, Event

ONE = [Event("ann", "a", 5)]
POISON = {
    "nonsense": (lambda packed: b"nonsense", "not a log entry"),
    "cut short": (lambda packed: packed[:-3], "cannot be read|should have|buffer"),
    "bytes behind its end": (lambda packed: packed + b"more", "should have"),
    "no bytes": (lambda packed: b"", "not a log entry"),
    "an id that is no text": (lambda packed: packed.replace(b"ann", b"\xff\xfe\xfd"), "utf-8"),
}
WRONG = {
    "a user that it lacks": ({"user_ix": np.array([7], np.uint32)}, "names user 7 of 1"),
    "an item without a number": ({"item": np.array([9_999], np.uint32)}, "item number 9999"),
    "a rating that is none": ({"value": np.array([np.nan], np.float32)}, "outside 1 to 5"),
    "a rating off the scale": ({"value": np.array([1e30], np.float32)}, "outside 1 to 5"),
    "a kind of no version": ({"kind": np.array([250], np.uint8)}, "kind 250"),
    "a time of no calendar": ({"time_ms": np.array([2**62])}, "year 9999"),
    "ids that it lacks": ({"flags": np.array([1], np.uint8)}, "0 bytes instead of 16"),
    "a merge with nobody": ({"kind": np.array([MERGE_USER], np.uint8)}, "merges user"),
}


SOUND = encode(
    Entry(
        users=("ann", "bob"),
        user_ix=np.array([0, 1, 0], np.uint32),
        item=np.array([1, 2, 9], np.uint32),
        value=np.array([1, 5, 3], np.float32),
        time_ms=np.array([1, 2, 3]),
        kind=np.zeros(3, np.uint8),
        flags=np.array([1, 0, 1], np.uint8),
        digests=bytes(32),
        appended_ms=NOW_MS,
    )
)


def poisons(feed):
    """Yield (name, packed entry of one event, words of the reason)."""
    feed.with_items(3)
    entry = feed.entry([Event("ann", "i2", 5)])
    for name, (spoil, reason) in POISON.items():
        yield name, spoil(encode(entry)), reason
    for name, (fields, reason) in WRONG.items():
        yield name, encode(replace(entry, **fields)), reason


def test_the_learner_goes_on_behind_every_kind_of_poison(learner_of, feed, client):
    learner = learner_of()
    letters = DeadLetters(client, feed.keys)
    for name, packed, reason in poisons(feed):
        feed.append([Event("bob", "i0", 4)])
        last = feed.append_packed(packed, 1)
        feed.append([Event("bob", "i1", 2)])
        learner.drain()
        assert feed.is_learned(), name
        found = letters.find(last)
        assert found is not None, name
        assert (found.first, found.packed) == (last, packed), name
        assert re.search(reason, found.reason), (name, found.reason)
    n = len(POISON) + len(WRONG)
    state = read_state(client, feed.keys)
    assert (letters.count(), state.dead_letters, state.learned) == (n, n, 2 * n)
    assert len(feed.history("bob")) == 2 * n
    assert client.get(feed.keys.history("ann")) is None
    assert client.get(feed.keys.log_bytes) == b"0"


def as_in_memory(client, key, packed, checksum):
    """Put other bytes into the place of the only entry of a stream."""
    [(name, _)] = client.xrange(key)
    client.delete(key)
    client.xadd(key, {"d": packed} | checksum, id=name)


def test_no_flipped_bit_is_learned(learner_of, feed, client):
    learner = learner_of()
    learner.drain()
    packed = encode(feed.with_items(3).entry([Event("ann", "i2", 5)]))
    checksum = {"c": crc32(packed)}
    bits = range(0, 8 * len(packed), 5)
    for bit in bits:
        feed.append_packed(packed, 1)
        flipped = bytearray(packed)
        flipped[bit // 8] ^= 1 << bit % 8
        as_in_memory(client, feed.keys.log, bytes(flipped), checksum)
        learner.drain()
    state = read_state(client, feed.keys)
    assert (state.learned, state.dead_letters) == (0, len(bits))
    assert {one.reason for one in DeadLetters(client, feed.keys).all()} == {DAMAGED}


def test_a_checksum_that_is_damaged_or_missing(learner_of, feed, client):
    learner = learner_of()
    learner.drain()
    packed = encode(feed.entry(ONE))
    feed.append_packed(packed, 1)
    as_in_memory(client, feed.keys.log, packed, {"c": "1x3"})
    learner.drain()
    assert read_state(client, feed.keys).dead_letters == 1
    feed.append_packed(packed, 1)
    # as an earlier version appended it
    as_in_memory(client, feed.keys.log, packed, {})
    learner.drain()
    assert read_state(client, feed.keys).learned == 1


def test_a_new_learner_goes_on_behind_what_was_set_aside(learner_of, feed, client):
    learner_of().drain()
    feed.append_packed(b"nonsense", 4)
    learner_of().drain()
    feed.append(ONE)
    learner_of().drain()
    assert feed.watermark == 5
    [letter] = DeadLetters(client, feed.keys).all()
    assert (letter.first, letter.last, letter.n) == (1, 4, 4)


def test_the_commit_of_a_letter_counts_nothing_that_comes_after_it(learner_of, feed, client):
    """A learner that dies between the two commits leaves what came after for the next one."""
    learner = learner_of()
    feed.append(ONE)
    feed.append_packed(b"nonsense", 1)
    feed.append([Event("bob", "a", 4), Event("bob", "b", 2)])
    # the letter is found while the first event is committed, and waits for the next batch
    assert learner.step(block_ms=0) == 1
    [(letter, *_)] = learner._commits
    assert letter.dead is not None
    learner._learn_batch(learner._backlog)
    learner._finish(but=1)
    state = read_state(client, feed.keys)
    assert (state.watermark, state.learned, state.dead_letters) == (2, 1, 1)
    learner_of().drain()
    assert read_state(client, feed.keys).learned == 3


def test_a_learner_stops_before_it_loses_a_letter(learner_of, feed, client):
    learner = learner_of()
    for _ in range(KEPT + 1):
        feed.append_packed(b"nonsense", 1)
    with pytest.raises(Misconfigured, match="hedgerow dead-letters list"):
        learner.drain()
    learner.settle()
    assert DeadLetters(client, feed.keys).count() == KEPT
    assert feed.watermark == KEPT
    assert client.xlen(feed.keys.log) == 1


def test_odd_bytes_behind_a_history_harm_neither_it_nor_its_deletion(learner_of, feed, client):
    learner_of().drain()
    feed.append(ONE)
    learner_of().drain()
    key = feed.keys.history("ann")
    client.append(key, b"odd bytes")
    learner = learner_of()
    feed.append([Event("ann", "b", 3)])
    learner.drain()
    assert feed.history("ann") == [(1, "a", 5.0), (2, "b", 3.0)]
    assert client.strlen(key) == 2 * 24
    client.append(key, b"odd")
    from_store = learner_of()
    feed.append([Event("ann", "c", 1)])
    from_store.drain()
    assert [item for _, item, _ in feed.history("ann")] == ["a", "b", "c"]


def test_what_a_deleted_user_did_later_stays_in_a_letter(feed, client):
    client.xadd(feed.keys.dead, dict(DeadLetter(1, 3, "a test", SOUND).fields()), id="3-0")
    letters = DeadLetters(client, feed.keys)
    # the user's events are the first and the third of the letter
    assert letters.leave_out({"ann": 2}) == (1, 0)
    [letter] = letters.all()
    left = decode(letter.packed)
    assert [
        (left.users[ix], value) for ix, value in zip(left.user_ix, left.value, strict=True)
    ] == [
        ("bob", 5.0),
        ("ann", 3.0),
    ]
    assert letters.leave_out({"ann": 3}) == (1, 0)
    [letter] = letters.all()
    assert decode(letter.packed).users == ("bob",)


@given(data=st.data())
def test_no_bytes_make_the_inspection_fail(data):
    packed = bytearray(SOUND)
    for _ in range(data.draw(st.integers(0, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(packed)))
    found = Inspection(Scale(1.0, 5.0), lambda: 10).of([LogEntry(3, bytes(packed[:cut]))], 0)
    assert bool(found.sound) != bool(found.dead)
    for sound in found.sound:
        assert sound.entry.item[sound.entry.kind < 202].max(initial=0) < 10
