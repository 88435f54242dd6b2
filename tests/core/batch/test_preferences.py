"""The preferences in a history, beside a naive reading event by event."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.batch.preferences import Preferences, preference_rows, preferences
from core.kernels.evidence import evidence
from core.meaning import EventMeanings, HistoryColumns, KindTable
from tests.core import reference_evidence as reference

VIEW, LIKE, DISLIKE, PURCHASE, IMPRESSION = 1, 3, 4, 5, 6
ROWS = [
    (VIEW, 0.2, 1, False),
    (LIKE, 1.0, 1, True),
    (DISLIKE, 1.0, -1, True),
    (PURCHASE, 2.0, 1, True),
    (IMPRESSION, 0.0, 0, False),
]
READING = EventMeanings(KindTable.of(ROWS))
TABLE = READING.kinds

EVENTS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from([0, 0, 1, 3, 4, 5, 6]), st.integers(1, 5)),
    max_size=40,
)


def read(
    events: list[tuple[int, int, float]], order: list[int] | None = None, **more: Any
) -> Preferences:
    """Events are (item, kind, rating), oldest first."""
    order = list(range(len(events))) if order is None else order
    item, kind, value = (np.array([events[at][part] for at in order]) for part in range(3))
    return preferences(
        HistoryColumns(
            item.astype(np.uint32),
            kind.astype(np.uint8),
            value.astype(np.float32),
            np.array(order, np.int64),
        ),
        READING,
        **more,
    )


def naive(events: list[tuple[int, int, float]]) -> tuple[dict[int, float], set[int]]:
    """Evidence by item, and what is seen."""
    table = {code: (weight, sign, hides) for code, weight, sign, hides in ROWS}
    rating: dict[int, float] = {}
    strongest: dict[int, tuple[float, int]] = {}
    seen = set()
    for item, kind, value in events:
        if kind == 0:
            rating[item] = 1.0 if value >= 4 else -1.0 if value <= 2 else 0.0
            seen.add(item)
            continue
        weight, sign, hides = table[kind]
        if weight >= strongest.get(item, (0.0, 0))[0]:
            strongest[item] = weight, sign
        if hides:
            seen.add(item)
    evidence = {
        item: rating.get(item, 0.0) + np.prod(strongest.get(item, (0.0, 0)))
        for item in {item for item, _, _ in events}
    }
    return {item: float(size) for item, size in evidence.items() if size}, seen


def as_evidence(found: Preferences) -> dict[int, float]:
    signed = np.where(found.target > 0, found.weight, -found.weight).astype(np.float64)
    return dict(zip(found.item_ix.tolist(), signed.round(6).tolist(), strict=True))


@given(events=EVENTS)
def test_the_latest_rating_and_the_strongest_kind_add_up(events) -> None:
    found = read(events)
    evidence, seen = naive(events)
    assert as_evidence(found) == {item: round(size, 6) for item, size in evidence.items()}
    assert set(found.seen.tolist()) == seen
    assert (np.diff(found.item_ix) > 0).all()
    assert (np.diff(found.seen) > 0).all()


@given(events=EVENTS, through=st.integers(-1, 40))
def test_a_history_is_read_as_it_was_at_an_earlier_event(events, through) -> None:
    found, earlier = read(events, through=through), read(events[: through + 1])
    assert as_evidence(found) == as_evidence(earlier)
    assert found.seen.tolist() == earlier.seen.tolist()
    assert found.latest.tolist() == earlier.latest.tolist()


def test_trimmed_items_are_seen_and_nothing_else() -> None:
    events = [(4, VIEW, 0), (2, LIKE, 0)]
    found = read(events, trimmed=np.array([9, 2, 4], np.uint32))
    assert found.seen.tolist() == [2, 4, 9]
    assert found.seen.dtype == np.int32
    assert as_evidence(found) == as_evidence(read(events))


@given(events=EVENTS, data=st.data())
def test_the_sequence_alone_decides_the_order(events, data) -> None:
    order = data.draw(st.permutations(range(len(events))))
    assert as_evidence(read(events, order)) == as_evidence(read(events))


@given(histories=st.lists(EVENTS, min_size=1, max_size=4))
def test_many_users_at_once_equal_one_by_one(histories) -> None:
    events = [(u, *event) for u, history in enumerate(histories) for event in history]
    columns = np.array(events, np.int64).reshape(-1, 4)
    learned, seen = preference_rows(
        columns[:, 0],
        HistoryColumns(
            columns[:, 1],
            columns[:, 2].astype(np.uint8),
            columns[:, 3].astype(np.float32),
            np.arange(len(events)),
        ),
        READING,
        n_users=len(histories),
        n_items=4,
    )
    for u, history in enumerate(histories):
        alone = read(history).within(4)
        row = slice(learned.ptr[u], learned.ptr[u + 1])
        assert learned.item_ix[row].tolist() == alone.item_ix.tolist()
        weight = np.ones(len(learned)) if learned.weight is None else learned.weight
        target = np.ones(len(learned)) if learned.target is None else learned.target
        assert weight[row].tolist() == alone.weight.tolist()
        assert target[row].tolist() == alone.target.tolist()
        row = slice(seen.ptr[u], seen.ptr[u + 1])
        assert seen.item_ix[row].tolist() == [item for item in alone.seen.tolist() if item < 4]


def test_an_impression_says_nothing_and_hides_nothing() -> None:
    found = read([(2, IMPRESSION, 0)])
    assert (found.item_ix.size, found.seen.size) == (0, 0)


def test_a_middling_rating_only_marks_its_item_as_seen() -> None:
    found = read([(2, 0, 3)])
    assert (found.item_ix.tolist(), found.seen.tolist()) == ([], [2])


def test_a_purchase_outweighs_a_bad_rating() -> None:
    assert as_evidence(read([(1, PURCHASE, 0), (1, 0, 1)])) == {1: 1.0}


def test_without_events_there_are_no_preferences() -> None:
    found = read([])
    assert (found.item_ix.size, found.seen.size) == (0, 0)
    assert (found.item_ix.dtype, found.weight.dtype) == (np.int32, np.float32)


@given(events=EVENTS, seed=st.integers(0, 1000))
def test_the_kernel_agrees_with_its_twin(events, seed) -> None:
    pair, kind, value = (
        np.array([event[part] for event in events], dtype)
        for part, dtype in enumerate((np.int64, np.uint8, np.float32))
    )
    n = len(events)
    sequence = np.random.default_rng(seed).permutation(n)
    given = np.argsort(pair, kind="stable"), pair, kind, value, sequence
    table = TABLE.weight, TABLE.sign, TABLE.hides, 1.0, 5.0
    found, expected = (
        (np.zeros(n, np.int64), np.zeros(n), np.zeros(n, np.bool_)) for _ in range(2)
    )
    assert evidence(*given, *table, *found) == reference.evidence(*given, *table, *expected)
    for ours, naive_one in zip(found, expected, strict=True):
        assert np.array_equal(ours, naive_one)
