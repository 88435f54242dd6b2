"""Counted transitions equal those of a naive count, in memory and after a round trip as bytes."""

import struct

import numpy as np
import pytest

from core.errors import DataError
from core.transitions.successors import DECAY, FROM, TO, Successors
from core.transitions.table import REACH, Taken, Transitions, no_latest
from tests.core import reference_transitions as naive

HALF_LIFE = 1_000.0
NOW_MS = 1e9
"""After every step."""


def steps(rng, n, *, users=4, items=12):
    """Return random steps as rows (user, item, weight, time), times mostly rising."""
    time = np.sort(rng.integers(0, 5_000, n)) + rng.integers(-300, 300, n)
    rows = zip(
        rng.integers(0, users, n).tolist(),
        rng.integers(0, items, n).tolist(),
        rng.choice([0.5, 1.0, 3.0], n).tolist(),
        time.tolist(),
        strict=True,
    )
    return list(rows)


def taken(rows):
    slot, item, weight, time = (np.array(column) for column in zip(*rows, strict=True))
    return Taken(slot, item.astype(np.int32), weight.astype(np.float32), time)


def counted(rows, *, width=164, users=4):
    table, latest = Transitions(HALF_LIFE, width), no_latest(users)
    table.learn(taken(rows), latest)
    return table, latest


def pairs(table):
    """Return {(a, b): weight} of a table."""
    found = table.entries(np.arange(table.n_items))
    after = np.repeat(np.arange(table.n_items), found.n).tolist()
    rows = zip(found.before.tolist(), after, found.weight.tolist(), strict=True)
    return {(a, b): weight for a, b, weight in rows}


def openings(table):
    """Return {(b, n): weight} of the items that open histories."""
    found = table.entries(np.arange(table.n_items)).opening
    return {at: found[at] for at in zip(*(rows.tolist() for rows in found.nonzero()), strict=True)}


@pytest.mark.parametrize("seed", range(5))
def test_steps_are_counted_as_by_hand(seed):
    rows = steps(np.random.default_rng(seed), 200)
    table, latest = counted(rows)
    expected, rings = naive.follow(rows, HALF_LIFE, reach=REACH)
    assert pairs(table) == pytest.approx(expected, rel=1e-4)
    for user, ring in rings.items():
        assert latest[user][latest[user] >= 0].tolist() == ring


@pytest.mark.parametrize("seed", range(5))
def test_the_first_items_of_users_open_histories(seed):
    rows = steps(np.random.default_rng(seed), 200, users=15)
    table, _ = counted(rows, users=15)
    expected = naive.openings(rows, HALF_LIFE, reach=REACH)
    assert openings(table) == pytest.approx(expected, rel=1e-4)


def test_an_item_after_many_others_opens_nothing():
    items = [*range(REACH), REACH, REACH]
    table, _ = counted([(0, item, 1.0, 1) for item in items])
    assert openings(table) == {(item, item): 1.0 for item in range(REACH)}


def test_batches_do_not_matter():
    rows = steps(np.random.default_rng(0), 300, items=60)
    whole, _ = counted(rows, width=16)
    table, latest = Transitions(HALF_LIFE, 16), no_latest(4)
    for first in range(0, 300, 7):
        table.learn(taken(rows[first : first + 7]), latest)
    items = np.arange(whole.n_items)
    assert list(table.packed(items)) == list(whole.packed(items))


def test_a_full_group_gives_up_its_lightest_entry():
    table, latest = Transitions(HALF_LIFE, 16), no_latest(20)
    weights = [2.0, 1.0, *[3.0] * 14, 1.5]
    rows = [
        row
        for user, weight in enumerate(weights)
        for row in ((user, user, 1.0, 1), (user, 99, weight, 1))
    ]
    table.learn(taken(rows), latest)
    assert pairs(table) == {(a, 99): weight for a, weight in enumerate(weights) if a != 1}


@pytest.mark.parametrize("seed", range(5))
def test_steps_taken_back_are_gone(seed):
    rng = np.random.default_rng(seed)
    rows = steps(rng, 200)
    table, _ = counted(rows)
    own = [row for row in rows if row[0] == 2]
    table.take_back(taken([(0, *row[1:]) for row in own]), no_latest(1))
    others = [row for row in rows if row[0] != 2]
    expected, _ = naive.follow(others, HALF_LIFE, reach=REACH)
    found = pairs(table)
    assert found.keys() == expected.keys()
    # a row keeps the time of its first step
    first = {b: next(t for _, item, _, t in rows if item == b) for _, b in found}
    after = {b: next(t for _, item, _, t in others if item == b) for _, b in found}
    moved = {
        (a, b): w * 2.0 ** ((after[b] - first[b]) / HALF_LIFE) for (a, b), w in expected.items()
    }
    assert found == pytest.approx(moved, rel=1e-3, abs=1e-5)
    expected = naive.openings(others, HALF_LIFE, reach=REACH)
    moved = {
        (b, n): w * 2.0 ** ((after[b] - first[b]) / HALF_LIFE) for (b, n), w in expected.items()
    }
    assert openings(table) == pytest.approx(moved, rel=1e-3, abs=1e-5)


def test_nothing_is_left_of_a_single_user():
    rows = [(0, *row[1:]) for row in steps(np.random.default_rng(3), 80)]
    table, _ = counted(rows)
    table.take_back(taken(rows), no_latest(1))
    assert pairs(table) == openings(table) == {}


def test_a_forgotten_item_neither_follows_nor_is_followed():
    rows = steps(np.random.default_rng(1), 200)
    table, _ = counted(rows)
    before, opened = pairs(table), openings(table)
    changed = table.forget(4, np.arange(table.n_items))
    after = pairs(table)
    kept = {pair: w for pair, w in naive.forget(before, 4).items() if pair[1] != 4}
    assert after == kept
    assert openings(table) == {at: weight for at, weight in opened.items() if at[0] != 4}
    assert changed.tolist() == sorted({b for a, b in before if 4 in {a, b}})
    assert table.forget(10_000, np.arange(table.n_items)).size == 0


def test_rows_survive_a_round_trip():
    table, _ = counted(steps(np.random.default_rng(2), 900, items=70), width=32)
    items = np.arange(table.n_items)
    again = Transitions(HALF_LIFE, 32)
    again.unpack(items.tolist(), list(table.packed(items)))
    assert list(again.packed(items)) == list(table.packed(items))
    assert pairs(again) == pairs(table)
    assert openings(again) == openings(table) != {}


def test_a_row_of_an_earlier_version_opens_nothing():
    table = Transitions(HALF_LIFE, 32)
    table.unpack([1], [struct.pack("<dif", 1.0, 0, 2.0)])
    assert pairs(table) == {(0, 1): 2.0}
    assert openings(table) == {}


@pytest.mark.parametrize(
    "row",
    [
        b"",
        b"1234567",
        bytes(15),
        bytes(8 + 8 * 33),
        bytes(8) + b"\xff" * 8,
        struct.pack("<dif", np.nan, 3, 1.0),
        struct.pack("<dif", 1.0, 3, np.nan),
        struct.pack("<dif", 1.0, 3, np.inf),
        struct.pack("<dif", 1.0, 3, -1.0),
        struct.pack("<dif", 1.0, -1, np.inf),
        struct.pack("<dif", 1.0, -1 - REACH, 1.0),
        struct.pack("<diiff", 1.0, 3, -1, 1.0, 1.0),
        struct.pack("<diiff", 1.0, 3, 3, 1.0, 1.0),
    ],
)
def test_damaged_rows_are_refused(row):
    with pytest.raises(DataError, match="damaged"):
        Transitions(HALF_LIFE, 32).unpack([0], [row])


def test_a_half_life_of_nothing_is_refused():
    with pytest.raises(DataError):
        Transitions(0.0)


@pytest.mark.parametrize("parts", [1, 3])
def test_successors_are_the_normalised_sum_of_all_tables(parts):
    rng = np.random.default_rng(parts)
    tables, dense, histories = [], np.zeros((14, 14)), []
    for _ in range(parts):
        rows = steps(rng, 150, items=int(rng.integers(8, 15)))
        histories.append(rows)
        tables.append(counted(rows)[0])
    newest = max(float(table.row_ms.max()) for table in tables)
    for table in tables:
        n = table.n_items
        aged = np.exp2((table.row_ms - newest) / HALF_LIFE)
        dense += naive.by_predecessor(pairs(table), aged, 14)
    leaving, arriving = dense.sum(1, keepdims=True), dense.sum(0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.nan_to_num(dense / leaving**FROM / arriving**TO)
    found = Successors.of([table.counted() for table in tables], now_ms=NOW_MS)
    opened = np.zeros((found.n_items, REACH))
    for table in tables:
        for (b, n), weight in openings(table).items():
            opened[b, n] += weight * 2.0 ** ((table.row_ms[b] - newest) / HALF_LIFE)
    assert found.opening == pytest.approx(opened, rel=1e-4)
    latest = np.array([3, 7, 13, 1, 99], np.int32)
    expected = naive.expect(latest.tolist(), shares, DECAY)
    assert found.scores(latest, 14) == pytest.approx(expected, rel=1e-4)
    assert found.scores(latest, 5) == pytest.approx(expected[:5], rel=1e-4)
    n = found.n_items
    every = np.arange(n, dtype=np.int32)
    assert found.shares(every, every) == pytest.approx(shares[:n, :n], rel=1e-4)
    for item in range(n):
        around = shares[item] + shares[:, item]
        assert found.around(item, 14) == pytest.approx(around, rel=1e-4)
    assert [found.has(item) for item in range(20)] == [
        item < n and bool(shares[item].any()) for item in range(20)
    ]


def test_an_opening_counts_for_places_near_its_own():
    rows = [(user, item, 1.0, 1) for user in range(3) for item in (5, 7, 8)]
    table, _ = counted([*rows, (3, 8, 1.0, 1), (3, 2, 1.0, 1)])
    found = Successors.of([table.counted()], now_ms=NOW_MS)
    items = np.array([8, 5, 40], np.int32)
    assert found.openings(2, items) == pytest.approx([3 + (1 / 3) ** 4, 3 * (1 / 3) ** 4, 0.0])
    assert found.openings(0, items) == pytest.approx([3 * (1 / 3) ** 4 + 1, 3.0, 0.0])
    assert not found.openings(2 * REACH, items).any()


def test_no_table_has_no_successors():
    found = Successors.of([Transitions(HALF_LIFE).counted()], now_ms=NOW_MS)
    assert found.n_items == 0
    assert not found.has(0)
    assert not found.openings(0, np.array([0], np.int32)).any()
    assert not found.scores(np.array([1], np.int32), 4).any()


def test_items_that_repeat_at_once_are_one_step():
    rows = [(0, 1, 1.0, 1), (0, 2, 1.0, 1), (0, 2, 4.0, 1), (0, 3, 1.0, 1)]
    table, _ = counted(rows)
    assert pairs(table) == {(1, 2): 5.0, (2, 3): 1.0, (1, 3): 0.5}


def test_a_row_moves_on_before_its_weights_grow_too_large():
    far = int(100 * HALF_LIFE)
    rows = [(0, 1, 1.0, 1), (0, 2, 1.0, 2), (1, 3, 1.0, far), (1, 2, 1.0, far), (2, 2, 1.0, 5)]
    table, _ = counted(rows)
    assert table.row_ms[2] == far
    assert pairs(table) == pytest.approx({(1, 2): 0.0, (3, 2): 1.0}, abs=1e-20)


def test_a_step_too_old_to_weigh_anything_pushes_nothing_out():
    table, latest = Transitions(HALF_LIFE, 16), no_latest(17)
    now = int(1_000 * HALF_LIFE)
    rows = [row for user in range(16) for row in ((user, user, 1.0, now), (user, 99, 1.0, now))]
    table.learn(taken(rows), latest)
    table.learn(taken([(16, 50, 1.0, 1), (16, 99, 1.0, 1)]), latest)
    assert pairs(table) == {(user, 99): 1.0 for user in range(16)}


def test_steps_dated_1970_are_not_those_of_a_new_row():
    rows = [(0, 1, 1.0, 0), (0, 2, 1.0, 0)]
    table, _ = counted(rows)
    assert table.row_ms[1:].all()
    later = int(10 * HALF_LIFE)
    table.learn(taken([(1, 3, 1.0, later), (1, 2, 1.0, later)]), no_latest(4))
    found = pairs(table)
    assert found[3, 2] / found[1, 2] == pytest.approx(2.0**10, rel=1e-2)


def test_a_step_dated_in_the_far_future_counts_as_one_of_now():
    rows = [(user, item, 1.0, 1_000) for user in range(3) for item in (1, 2, 4)]
    table, _ = counted([*rows, (3, 6, 1.0, 1_000), (3, 5, 1.0, 253_402_300_799_000)])
    without, _ = counted(rows)
    latest = np.array([1], np.int32)
    found, expected = (Successors.of([t.counted()], now_ms=1_000) for t in (table, without))
    assert found.scores(latest, 5) == pytest.approx(expected.scores(latest, 5))
    assert found.scores(latest, 5)[2] > 0.0
    assert found.shares(np.array([6], np.int32), np.array([5], np.int32)) == pytest.approx(1.0)
