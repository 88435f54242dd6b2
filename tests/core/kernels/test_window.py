import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.window import (
    COUNT,
    FREE,
    HELD,
    OLDEST,
    TAG,
    IdSet,
    forget_older,
    restore,
    window,
)
from tests.core import reference_window

IDS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 4)), max_size=6)
STEP = st.tuples(IDS, st.integers(0, 5), st.integers(-5, 40))


def empty(size: int, n_lists: int) -> IdSet:
    return IdSet(
        low=np.zeros(size, np.uint64),
        high=np.zeros(size, np.uint32),
        age=np.zeros(size, np.int64),
        after=np.arange(1, size + 1, dtype=np.int32),
        table=np.full(1 << (2 * size - 1).bit_length(), -1, np.int32),
        lists=np.zeros((n_lists, 4), np.int64),
        ends=np.zeros(2, np.int64),
    )


def packed(numbers, tags, *, same_home: bool):
    # with one home for all every search is a walk and every removal moves its successors
    rows = [
        (0 if same_home else number, number | tag << 32)
        for number, tag in zip(numbers, tags, strict=True)
    ]
    return np.array(rows, dtype=np.uint64).reshape(-1, 2)


def assert_same(ids: IdSet, twin: reference_window.Held) -> None:
    for number, one in enumerate(twin.lists):
        place, found = ids.lists[number, OLDEST], []
        for _ in range(ids.lists[number, HELD]):
            found.append((int(ids.high[place]), int(ids.age[place])))
            place = ids.after[place]
        assert found == one
        assert not one or number == 0 or ids.lists[number, TAG] == twin.tags[number]
    held = sum(map(len, twin.lists))
    assert ids.ends[COUNT] == held == (ids.table >= 0).sum()
    free, place = 0, ids.ends[FREE]
    while place < len(ids.low):
        free, place = free + 1, ids.after[place]
    assert free == len(ids.low) - held


@settings(max_examples=300)
@given(
    size=st.integers(1, 6),
    n_lists=st.integers(1, 4),
    same_home=st.booleans(),
    steps=st.lists(STEP, max_size=12),
)
def test_the_set_forgets_the_oldest_id_of_the_longest_list(size, n_lists, same_home, steps):
    ids, twin = empty(size, n_lists), reference_window.Held(size, n_lists)
    age = 0
    for rows, passed, oldest in steps:
        age += passed
        numbers, tags = [row[0] for row in rows], [row[1] for row in rows]
        forgotten = np.zeros(n_lists, np.int64)
        forget_older(oldest, ids, forgotten)
        assert forgotten.tolist() == reference_window.forget_older(oldest, twin)
        told = np.zeros((len(rows), 3), np.uint8)
        window(packed(numbers, tags, same_home=same_home), age, ids, told)
        assert told.tolist() == reference_window.window(rows, age, twin)
        assert_same(ids, twin)


@given(size=st.integers(1, 6), lists=st.lists(st.integers(0, 2), max_size=12))
def test_restored_lists_are_cut_as_if_they_had_grown_together(size, lists):
    ids, twin = empty(size, 3), reference_window.Held(size, 3)
    for number, into in enumerate(lists):
        restore(packed([number], [0], same_home=False), number, into, ids)
        reference_window.restore([number], number, into, twin)
        assert_same(ids, twin)
