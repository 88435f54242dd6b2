import numpy as np

from core.online.tables import RECENT
from service.settings import KINDS
from service.store.profiles.histories import compact, live, recent_ratings, without_pair
from service.store.profiles.history_record import records

VIEW, LIKE = KINDS["view"].code, KINDS["like"].code


def history_of(*rows):
    """Rows of (item, kind); sequence and value count up from 1."""
    item, kind = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    sequence = np.arange(1, len(item) + 1, dtype=np.int64)
    return records(item, sequence, sequence, sequence, kind.astype(np.uint8))


def told(history):
    return [(int(r["item"]), int(r["kind"]), int(r["value"])) for r in history]


def test_records_before_the_deletion_of_their_item_do_not_count():
    history = history_of((1, 0), (2, 0), (1, 0))
    assert told(live(history, {1: 2})) == [(2, 0, 2), (1, 0, 3)]
    assert told(live(history, {})) == told(history)


def test_the_ring_holds_the_latest_ratings_oldest_first():
    rows = [(number, VIEW if number % 3 == 0 else 0) for number in range(1, 2 * RECENT)]
    recent = recent_ratings(history_of(*rows), {rows[-1][0]: 10**6})
    expected = [number for number, kind in rows[:-1] if kind == 0][-RECENT:]
    assert recent["item"].tolist() == expected


def test_removing_a_pair_keeps_the_rest_in_order():
    history = history_of((1, 0), (2, 0), (1, VIEW), (3, 0))
    assert told(without_pair(history, 1)) == [(2, 0, 2), (3, 0, 4)]


def test_compaction_drops_superseded_records_first():
    history = history_of(
        (1, 0), (1, 0), (2, LIKE), (2, VIEW), (2, LIKE), (3, VIEW), (1, VIEW), (4, 0)
    )
    kept, trimmed = compact(history, KINDS, limit=7)
    assert told(kept) == [(1, 0, 2), (2, LIKE, 5), (3, VIEW, 6), (1, VIEW, 7), (4, 0, 8)]
    assert trimmed.tolist() == []


def test_compaction_then_drops_the_oldest_of_the_weakest_kind():
    rows = [(number, VIEW) for number in range(4)] + [(number, 0) for number in range(4, 17)]
    kept, trimmed = compact(history_of(*rows), KINDS, limit=16)
    assert [item for item, _, _ in told(kept)] == [3, *range(4, 17)]
    assert trimmed.tolist() == [0, 1, 2]


def test_compaction_of_ratings_alone_drops_the_oldest():
    kept, trimmed = compact(history_of(*[(number, 0) for number in range(17)]), KINDS, limit=16)
    assert [item for item, _, _ in told(kept)] == list(range(3, 17))
    assert trimmed.tolist() == [0, 1, 2]
