"""Cursors of slates hold all shown items, or there is no cursor."""

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.api.slates.cursors import make_slate_cursor, read_slate_cursor
from service.http.cursors import InvalidCursor, seal
from service.ranking.families import FAMILIES, STRATEGIES
from service.serving.asked import PagePosition

LIST = b"a list"


def place(shown: list[int]) -> PagePosition:
    return PagePosition("fbgd", {"fbgd": "f" * 12}, 7, shown)


@given(st.sets(st.integers(0, 2**31 - 1), max_size=300))
def test_a_cursor_gives_back_what_was_shown(shown: set[int]) -> None:
    given_back = place(sorted(shown))
    cursor = make_slate_cursor(LIST, given_back)
    assert cursor is not None
    assert read_slate_cursor(LIST, cursor) == given_back


def test_a_cursor_is_short_although_many_models_rank() -> None:
    rng = np.random.default_rng(0)
    trained = [name for name, family in FAMILIES.items() if family.trained]
    versions = {strategy: rng.bytes(32).hex() for strategy in trained}
    shown = sorted(rng.integers(0, 100_000, 10).tolist())
    cursor = make_slate_cursor(LIST, PagePosition("mixture", versions, 10**9, shown))
    assert cursor is not None
    assert len(cursor) < 160
    found = read_slate_cursor(LIST, cursor)
    assert (found.strategy, found.seen_through, found.shown) == ("mixture", 10**9, shown)
    assert found.versions == {strategy: version[:12] for strategy, version in versions.items()}


@pytest.mark.parametrize(
    "content",
    [
        [-1, b"", 7, b"\1"],
        [len(STRATEGIES), b"", 7, b"\1"],
        [0, b"\0abc", 7, b"\1"],
        [0, b"\xffabcdef", 7, b"\1"],
        ["fbgd", {"fbgd": "f" * 64}, 7, b"\1"],
    ],
)
def test_a_forged_cursor_is_refused(content: list[Any]) -> None:
    with pytest.raises(InvalidCursor):
        read_slate_cursor(LIST, seal(LIST, msgspec.msgpack.encode(content)))


@pytest.mark.parametrize("gap", [1, 300])
def test_a_list_ends_before_its_cursor_forgets_an_item(gap: int) -> None:
    # evenly spaced numbers compress to almost nothing
    for size in (30_000, 32_768, 32_769, 65_536, 65_537, 70_000):
        shown = (gap * np.arange(1, size + 1)).tolist()
        cursor = make_slate_cursor(LIST, place(shown))
        assert cursor is None or read_slate_cursor(LIST, cursor).shown == shown
        assert (cursor is None) == (size * (1 if gap < 256 else 2) > 65_536)


def test_a_cursor_of_another_list_is_refused() -> None:
    cursor = make_slate_cursor(LIST, place([1, 2]))
    assert cursor is not None
    for of, text in ((b"another list", cursor), (LIST, cursor[:-4]), (LIST, "AAAA"), (LIST, "ü")):
        with pytest.raises(InvalidCursor):
            read_slate_cursor(of, text)


def test_a_cursor_with_any_other_character_is_refused() -> None:
    cursor = make_slate_cursor(LIST, place([1, 2]))
    assert cursor is not None
    for at, own in enumerate(cursor):
        for other in "AZaz09-_".replace(own, ""):
            with pytest.raises(InvalidCursor):
                read_slate_cursor(LIST, cursor[:at] + other + cursor[at + 1 :])
    with pytest.raises(InvalidCursor):
        read_slate_cursor(LIST, cursor[:-4] + "AAAA")
