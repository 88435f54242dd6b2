import hashlib

import pytest

from service.learning.dedupe import DedupeWindow
from service.store.profiles.dedupe_chunk import DedupeChunk

MINUTE, HOUR = 60_000, 3_600_000


def digests(*names: str) -> bytes:
    return b"".join(hashlib.blake2b(name.encode(), digest_size=16).digest() for name in names)


def test_a_repeat_is_found_within_one_entry_and_across_entries():
    window = DedupeWindow(10, HOUR)
    assert window.repeats(digests("a", "b", "a"), 0).tolist() == [0, 0, 1]
    assert window.repeats(digests("b", "c"), 1).tolist() == [1, 0]


def pass_time(window: DedupeWindow, first_ms: int, last_ms: int) -> None:
    """Let events arrive all the time."""
    for ms in range(first_ms, last_ms, MINUTE):
        window.repeats(digests(f"at {ms}"), ms)


def test_the_window_forgets_by_number_and_by_age():
    window = DedupeWindow(2, HOUR)
    window.repeats(digests("a", "b", "c"), 0)
    assert window.repeats(digests("a"), 1).tolist() == [0]
    window = DedupeWindow(1_000, HOUR)
    window.repeats(digests("a"), 0)
    pass_time(window, MINUTE, HOUR)
    assert window.repeats(digests("a"), HOUR).tolist() == [1]
    assert window.repeats(digests("a"), HOUR + MINUTE).tolist() == [0]


@pytest.mark.parametrize("jump_ms", [48 * HOUR, -48 * HOUR])
def test_a_clock_that_jumps_makes_nothing_forgotten(jump_ms: int):
    """Whether it stays wrong, or beside another that is right."""
    window, stored = DedupeWindow(1_000, 24 * HOUR), []

    def arrives(name: str, ms: int) -> bool:
        repeated = bool(window.repeats(digests(name), ms)[0])
        chunk = DedupeChunk(ms, b"" if repeated else digests(name))
        stored.append(chunk)
        del stored[: window.store([chunk])]
        return repeated

    start = 1_790_000_000_000
    assert not arrives("a", start)
    for n in range(30):
        assert not arrives(f"wrong {n}", start + jump_ms + n)
        assert not arrives(f"right {n}", start + n)
    assert arrives("a", start + 100)
    assert arrives("a", start + jump_ms + 100)
    again = DedupeWindow(1_000, 24 * HOUR)
    again.load(stored)
    assert again.repeats(digests("a", "wrong 3", "right 3"), start + 200).tolist() == [1, 1, 1]


def test_a_clock_that_goes_back_brings_nothing_back():
    window = DedupeWindow(1_000, HOUR)
    window.repeats(digests("a"), 0)
    pass_time(window, MINUTE, 2 * HOUR)
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
    window, gone = DedupeWindow(1_000, HOUR), []
    for minute in range(62):
        chunk = DedupeChunk(minute * MINUTE, digests(str(minute)))
        window.repeats(chunk.digests, chunk.appended_ms)
        gone.append(window.store([chunk]))
    assert gone == [0] * 61 + [1]
