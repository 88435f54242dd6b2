import hashlib

from service.learning.dedupe import DedupeWindow
from service.store.profiles.dedupe_chunk import DedupeChunk

HOUR = 3_600_000


def digests(*names: str) -> bytes:
    return b"".join(hashlib.blake2b(name.encode(), digest_size=16).digest() for name in names)


def test_a_repeat_is_found_within_one_entry_and_across_entries():
    window = DedupeWindow(10, HOUR)
    assert window.repeats(digests("a", "b", "a"), 0).tolist() == [0, 0, 1]
    assert window.repeats(digests("b", "c"), 1).tolist() == [1, 0]


def test_the_window_forgets_by_number_and_by_age():
    window = DedupeWindow(2, HOUR)
    window.repeats(digests("a", "b", "c"), 0)
    assert window.repeats(digests("a"), 1).tolist() == [0]
    assert window.repeats(digests("c"), 2 + HOUR).tolist() == [0]


def test_a_clock_that_goes_back_brings_nothing_back():
    window = DedupeWindow(10, HOUR)
    window.repeats(digests("a"), 0)
    window.repeats(digests("b"), 2 * HOUR)
    assert window.repeats(digests("a"), 0).tolist() == [0]


def test_a_window_of_size_zero_finds_nothing():
    window = DedupeWindow(0, HOUR)
    assert window.repeats(digests("a", "a"), 0).tolist() == [0, 0]


def test_a_window_loaded_from_its_chunks_is_the_same():
    first, stored = DedupeWindow(3, HOUR), []
    for minute, names in enumerate(("ab", "c", "cd", "e")):
        now_ms = minute * 60_000
        new = first.repeats(digests(*names), now_ms) == 0
        fresh = [name for name, is_new in zip(names, new, strict=True) if is_new]
        chunk = DedupeChunk(now_ms, digests(*fresh))
        stored.append(chunk)
        del stored[: first.store([chunk])]
    assert len(stored) == 3  # c, d, e
    second = DedupeWindow(3, HOUR)
    second.load(stored)
    for window in (first, second):
        assert window.repeats(digests("c", "d", "e", "b"), 300_000).tolist() == [1, 1, 1, 0]


def test_old_chunks_may_go():
    window = DedupeWindow(100, HOUR)
    window.repeats(digests("a"), 0)
    assert window.store([DedupeChunk(0, digests("a"))]) == 0
    window.repeats(digests("b"), HOUR + 1)
    assert window.store([DedupeChunk(HOUR + 1, digests("b"))]) == 1
