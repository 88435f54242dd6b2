import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.learning.dedupe import DedupeWindow, Sighting
from service.store.profiles.commit import DedupeChange
from service.store.profiles.dedupe_chunk import (
    DedupeChunk,
    DedupeClock,
    StoredIds,
    StoredWindow,
)

MINUTE, HOUR = 60_000, 3_600_000


def digests(*names: str, producer: int = 0):
    """Ids as the log has them; those of a producer end with it."""
    packed = [
        hashlib.blake2b(name.encode(), digest_size=16).digest()[:12]
        + producer.to_bytes(4, "little")
        for name in names
    ]
    return np.frombuffer(b"".join(packed), np.uint8).reshape(-1, 16)


def repeats(window: DedupeWindow, *names: str, at_ms: int = 0, producer: int = 0) -> list[int]:
    return window.see(digests(*names, producer=producer), at_ms).repeated.tolist()


class Stored:
    """What commits have written, as Redis keeps it."""

    def __init__(self) -> None:
        self.lists: dict[int, list[bytes]] = {}
        self.standings: dict[int, tuple[int, int]] = {}
        self.clock: DedupeClock | None = None

    def commit(self, change: DedupeChange) -> None:
        for number, one in change.lists.items():
            self.lists.setdefault(number, []).extend(chunk.pack() for chunk in one.chunks)
            del self.lists[number][: one.obsolete]
            self.standings[number] = (one.tag, one.held)
            if not one.held:
                assert not self.lists.pop(number)
                del self.standings[number]
        self.clock = change.clock or self.clock

    def window(self, size: int, max_age_ms: int, n_lists: int = 64) -> DedupeWindow:
        window = DedupeWindow(size, max_age_ms, n_lists=n_lists)
        lists = {
            number: StoredIds(*standing, [*map(DedupeChunk.unpack, self.lists[number])])
            for number, standing in self.standings.items()
        }
        window.load(StoredWindow(lists, self.clock))
        return window


def test_a_repeat_is_found_within_one_entry_and_across_entries():
    window = DedupeWindow(10, HOUR)
    assert repeats(window, "a", "b", "a") == [0, 0, 1]
    assert repeats(window, "b", "c", at_ms=1) == [1, 0]


def test_an_id_is_the_same_whoever_sends_it():
    window = DedupeWindow(10, HOUR)
    assert repeats(window, "a", producer=7) == [0]
    assert repeats(window, "a", "b", producer=8) == [1, 0]
    assert repeats(window, "a", "b") == [1, 1]


def test_one_producer_evicts_nothing_of_another_that_holds_less():
    window = DedupeWindow(1_000, HOUR)
    small = [f"order {n}" for n in range(400)]
    repeats(window, *small, producer=7)
    for part in range(50):
        assert not any(repeats(window, *(f"{part} {n}" for n in range(100)), producer=8))
    assert repeats(window, *small, producer=7) == [1] * 400
    # the import has what is left
    assert repeats(window, *(f"{part} {n}" for part in range(44, 50) for n in range(100))) == (
        [1] * 600
    )


ARRIVALS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 20 * MINUTE)), max_size=40)


@settings(max_examples=200, deadline=None)
@given(size=st.integers(1, 24), n_lists=st.integers(2, 7), arrivals=ARRIVALS)
def test_each_producer_keeps_its_share_of_ids_that_are_young(size, n_lists, arrivals):
    """Whatever the others send: with P producers, the latest size / P ids of each."""
    window = DedupeWindow(size, 10 * HOUR, n_lists=n_lists)
    sent = {producer: list[tuple[str, int]]() for producer, _ in arrivals}
    now_ms = 0
    for n, (producer, passed_ms) in enumerate(arrivals):
        now_ms += passed_ms
        name = f"{producer} {n}"
        assert repeats(window, name, at_ms=now_ms, producer=producer) == [0]
        sent[producer].append((name, now_ms))
        share = size // len(sent) if len(sent) < n_lists else 0
        for mine in sent.values():
            promised = [name for name, ms in mine[len(mine) - share :] if now_ms - ms <= 10 * HOUR]
            assert repeats(window, *promised, at_ms=now_ms) == [1] * len(promised)


ENTRIES = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 30)), min_size=1, max_size=6),
        st.integers(-MINUTE, 2 * MINUTE),
        st.integers(0, 6),
        st.booleans(),
    ),
    max_size=30,
)


@settings(max_examples=150, deadline=None)
@given(
    size=st.integers(0, 12),
    n_lists=st.integers(1, 5),
    age_ms=st.integers(0, 10 * MINUTE),
    entries=ENTRIES,
)
def test_neither_batches_nor_restarts_change_what_is_a_repeat(size, n_lists, age_ms, entries):
    """A learner that dies after any part of an entry goes on as one that does not."""
    steady = DedupeWindow(size, age_ms, n_lists=n_lists)
    stored, mortal = Stored(), DedupeWindow(size, age_ms, n_lists=n_lists)
    now_ms, waiting = 0, list[Sighting]()
    for rows, passed_ms, cut, dies in entries:
        now_ms += passed_ms
        ids = np.concatenate([digests(f"id {name}", producer=one) for one, name in rows])
        expected = steady.see(ids, now_ms).told.tolist()
        seen = mortal.see(ids, now_ms)
        cut = min(cut, len(ids))
        if dies:
            # what ran ahead of the commit is lost, and read again
            stored.commit(mortal.store([*waiting, seen.part(0, cut)] if cut else waiting))
            waiting = []
            mortal = stored.window(size, age_ms, n_lists)
            assert seen.told.tolist() == expected
            if cut < len(ids):
                seen = mortal.see(ids[cut:], now_ms)
                assert seen.told.tolist() == expected[cut:]
                waiting.append(seen)
        else:
            assert seen.told.tolist() == expected
            waiting.append(seen)
    stored.commit(mortal.store(waiting))
    held = sum(held for _, held in stored.standings.values())
    assert held <= size
    assert all(len(DedupeChunk.unpack(one)) for chunks in stored.lists.values() for one in chunks)


def pass_time(window: DedupeWindow, first_ms: int, last_ms: int) -> None:
    """Let events arrive all the time."""
    for ms in range(first_ms, last_ms, MINUTE):
        repeats(window, f"at {ms}", at_ms=ms)


def test_the_window_forgets_by_number_and_by_age():
    window = DedupeWindow(2, HOUR)
    repeats(window, "a", "b", "c")
    assert repeats(window, "a", at_ms=1) == [0]
    window = DedupeWindow(1_000, HOUR)
    repeats(window, "a")
    pass_time(window, MINUTE, HOUR)
    assert repeats(window, "a", at_ms=HOUR) == [1]
    assert repeats(window, "a", at_ms=HOUR + MINUTE) == [0]


@pytest.mark.parametrize("jump_ms", [48 * HOUR, -48 * HOUR])
def test_a_clock_that_jumps_makes_nothing_forgotten(jump_ms: int):
    """Whether it stays wrong, or beside another that is right."""
    window, stored = DedupeWindow(1_000, 24 * HOUR), Stored()

    def arrives(name: str, ms: int) -> bool:
        seen = window.see(digests(name), ms)
        stored.commit(window.store([seen]))
        return bool(seen.repeated[0])

    start = 1_790_000_000_000
    assert not arrives("a", start)
    for n in range(30):
        assert not arrives(f"wrong {n}", start + jump_ms + n)
        assert not arrives(f"right {n}", start + n)
    assert arrives("a", start + 100)
    assert arrives("a", start + jump_ms + 100)
    again = stored.window(1_000, 24 * HOUR)
    assert repeats(again, "a", "wrong 3", "right 3", at_ms=start + 200) == [1, 1, 1]


def test_a_clock_that_goes_back_brings_nothing_back():
    window = DedupeWindow(1_000, HOUR)
    repeats(window, "a")
    pass_time(window, MINUTE, 2 * HOUR)
    assert repeats(window, "a") == [0]


def test_a_window_of_size_zero_finds_and_stores_nothing():
    window = DedupeWindow(0, HOUR)
    seen = window.see(digests("a", "a"), 0)
    assert seen.repeated.tolist() == [0, 0]
    assert window.store([seen]).lists == {}


def test_old_chunks_may_go():
    window, gone = DedupeWindow(1_000, HOUR), []
    for minute in range(62):
        change = window.store([window.see(digests(str(minute)), minute * MINUTE)])
        gone.append(change.lists[0].obsolete)
    assert gone == [0] * 61 + [1]


def test_a_smaller_window_drops_what_is_stored_beyond_it():
    window, stored = DedupeWindow(100, HOUR), Stored()
    for producer in (7, 8):
        for n in range(50):
            seen = window.see(digests(f"{producer} {n}", producer=producer), 0)
            stored.commit(window.store([seen]))
    smaller = stored.window(20, HOUR)
    stored.commit(smaller.store([smaller.see(digests("8 49", producer=8), 0)]))
    assert {number: len(chunks) for number, chunks in stored.lists.items()} == {1: 10, 2: 10}
    assert repeats(smaller, "7 40", "7 39", "8 40", producer=7) == [1, 0, 1]


def test_a_window_from_before_there_were_producers_is_kept_with_its_ages():
    """Its chunks have times, and its digests 4 more bytes of the id."""
    minutes = [0, 1, 2, 500, 501]  # a pause counts as a minute
    old = [hashlib.blake2b(str(n).encode(), digest_size=16).digest() for n in range(len(minutes))]
    chunks = [
        DedupeChunk(minute * MINUTE, digest, has_age=False)
        for minute, digest in zip(minutes, old, strict=True)
    ]
    stored = Stored()
    window = DedupeWindow(1_000, HOUR)
    window.load(StoredWindow({0: StoredIds(0, len(chunks), chunks)}))
    stored.lists[0] = [chunk.pack() for chunk in chunks]
    stored.standings[0] = (0, len(chunks))
    for minute in range(502, 502 + 57):
        stored.commit(window.store([window.see(digests(f"x {minute}"), minute * MINUTE)]))
        window = stored.window(1_000, HOUR)
    # the second is now 61 minutes old, the third 60
    seen = window.see(digests("1", "2", "4", producer=7), 559 * MINUTE)
    assert seen.repeated.tolist() == [0, 1, 1]
    stored.commit(window.store([seen]))
    assert stored.lists[0][0] == chunks[2].pack()
