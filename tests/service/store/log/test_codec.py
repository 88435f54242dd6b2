"""Log entries: what is packed is unpacked, and damaged or foreign bytes are refused."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.store.log.codec import (
    HAS_CONTEXT,
    HAS_DIGEST,
    HAS_SOURCE,
    MERGE_USER,
    SOURCE_BYTES,
    Entry,
    decode,
    encode,
    without,
)

USER = st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), min_size=1, max_size=40)


def entry_of(users: list[str], rows: list[tuple[int, int, float, int, int, int]]) -> Entry:
    columns = list(zip(*rows, strict=True)) or [()] * 6
    return Entry(
        users=tuple(users),
        user_ix=np.array(columns[0], dtype=np.uint32),
        item=np.array(columns[1], dtype=np.uint32),
        value=np.array(columns[2], dtype=np.float32),
        time_ms=np.array(columns[3], dtype=np.int64),
        kind=np.array(columns[4], dtype=np.uint8),
        flags=np.array(columns[5], dtype=np.uint8),
        digests=b"d" * 16,
        appended_ms=1_763_000_000_000,
        sources=b"".join(bytes((i,)) * 8 for i, row in enumerate(rows) if row[5] & HAS_SOURCE),
        contexts=tuple(b"a=%d" % i for i, row in enumerate(rows) if row[5] & HAS_CONTEXT),
    )


ROW = st.tuples(
    st.just(0),
    st.integers(0, 2**32 - 1),
    st.floats(-10, 10, width=32),
    st.integers(-(2**62), 2**62),
    st.integers(0, 255),
    st.integers(0, 15),
)


@settings(max_examples=50)
@given(users=st.lists(USER, min_size=1, max_size=4, unique=True), rows=st.lists(ROW, max_size=5))
def test_an_entry_is_read_as_it_was_packed(users, rows):
    entry = entry_of(users, rows)
    back = decode(encode(entry))
    assert back.users == entry.users
    for name in ("user_ix", "item", "value", "time_ms", "kind", "flags"):
        assert getattr(back, name).tolist() == getattr(entry, name).tolist()
    for name in ("digests", "sources", "contexts", "appended_ms"):
        assert getattr(back, name) == getattr(entry, name)


def test_an_entry_without_sources_is_written_as_before_there_were_any():
    plain = encode(entry_of(["ann"], [(0, 7, 4.5, 1, 0, 0)]))
    sourced = encode(entry_of(["ann"], [(0, 7, 4.5, 1, 0, HAS_SOURCE)]))
    assert (plain[:4], sourced[:4]) == (b"hrl1", b"hrl2")
    assert len(sourced) == len(plain) + SOURCE_BYTES
    # in the first format the bit of this flag has no meaning
    assert decode(b"hrl1" + sourced[4:-SOURCE_BYTES]).sources == b""
    placed = encode(entry_of(["ann"], [(0, 7, 4.5, 1, 0, HAS_SOURCE | HAS_CONTEXT)]))
    assert (placed[:4], placed[-5:]) == (b"hrl3", b"\3\0a=0")
    assert decode(b"hrl2" + placed[4:-5]).contexts == ()


@pytest.mark.parametrize("cut", [0, 3, 20, 40, -1])
def test_a_cut_entry_is_refused(cut):
    packed = encode(entry_of(["ann", "bob"], [(1, 7, 4.5, 1, 0, 0)]))
    with pytest.raises(ValueError, match=r"entry|buffer"):
        decode(packed[:cut])


def test_another_format_is_refused():
    with pytest.raises(ValueError, match="not a log entry"):
        decode(b"PK\x03\x04" + bytes(60))


NAMED = st.lists(
    st.tuples(st.sampled_from(["ann", "bob", "eve"]), st.integers(0, 9), st.integers(0, 15)),
    max_size=8,
)


def packed_rows(rows: list[tuple[str, int, int]]) -> Entry:
    """Return an entry; what a row's flags announce says which row it is of."""
    marked = [bytes((user.encode()[0], item, flags)) for user, item, flags in rows]
    users = list(dict.fromkeys(user for user, _, _ in rows))
    return Entry(
        users=tuple(users),
        user_ix=np.array([users.index(user) for user, _, _ in rows], dtype=np.uint32),
        item=np.array([item for _, item, _ in rows], dtype=np.uint32),
        value=np.zeros(len(rows), np.float32),
        time_ms=np.arange(len(rows), dtype=np.int64) * 0,
        kind=np.zeros(len(rows), np.uint8),
        flags=np.array([flags for _, _, flags in rows], dtype=np.uint8),
        digests=b"".join(
            mark.ljust(16) for mark, row in zip(marked, rows, strict=True) if row[2] & HAS_DIGEST
        ),
        appended_ms=0,
        sources=b"".join(
            mark.ljust(8) for mark, row in zip(marked, rows, strict=True) if row[2] & HAS_SOURCE
        ),
        contexts=tuple(
            mark for mark, row in zip(marked, rows, strict=True) if row[2] & HAS_CONTEXT
        ),
    )


@settings(max_examples=100)
@given(rows=NAMED)
def test_an_entry_without_a_user_is_that_of_the_others_events(rows):
    left = without(packed_rows(rows), {"bob": len(rows)}, 1)
    assert encode(left) == encode(packed_rows([row for row in rows if row[0] != "bob"]))
    assert decode(encode(left)).users == left.users


@given(rows=NAMED, until=st.integers(0, 20), first=st.integers(1, 9))
def test_what_a_user_did_later_stays(rows, until, first):
    left = without(packed_rows(rows), {"bob": until}, first)
    kept = [row for n, row in enumerate(rows, first) if row[0] != "bob" or n > until]
    users = [left.users[ix] for ix in left.user_ix]
    assert list(zip(users, left.item, left.flags, strict=True)) == kept
    assert set(left.users) == {user for user, _, _ in kept}
    alone = packed_rows(kept)
    for column in ("digests", "sources", "contexts"):
        assert getattr(left, column) == getattr(alone, column)


def test_a_merge_leaves_with_either_of_its_users():
    def merge(source: str, target: str) -> Entry:
        entry = entry_of([source, target, "third"], [(0, 1, 0, 1, MERGE_USER, 0)])
        return replace(entry, digests=b"")

    assert len(without(merge("ann", "bob"), {"ann": 7}, 7)) == 0
    assert len(without(merge("ann", "bob"), {"bob": 7}, 7)) == 0
    assert len(without(merge("ann", "bob"), {"ann": 6, "bob": 6}, 7)) == 1
    kept = without(merge("ann", "bob"), {"third": 7}, 7)
    assert (kept.users, kept.item.tolist(), kept.user_ix.tolist()) == (("ann", "bob"), [1], [0])
