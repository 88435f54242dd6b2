"""A replay of the journal completes rows, stored at any time, to the same bits."""

import numpy as np
import pytest

from core.errors import DataError
from core.transitions.journal import (
    FORGET,
    LEARN,
    STEP_BYTES,
    TAKE_BACK,
    USER_BYTES,
    Replay,
    forget_record,
    steps_record,
)
from core.transitions.table import REACH, Taken, Transitions, no_latest

HALF_LIFE = 1_000.0
ITEMS = 40


def taken(*steps):
    slot, item, weight, time = zip(*steps, strict=True)
    return Taken(
        np.array(slot, np.int64),
        np.array(item, np.int32),
        np.array(weight, np.float32),
        np.array(time, np.int64),
    )


def random_steps(rng, n, users):
    return Taken(
        rng.integers(0, users, n),
        rng.integers(0, ITEMS, n).astype(np.int32),
        rng.choice([0.5, 1.0, 3.0], n).astype(np.float32),
        # some rows move to a new time, others have steps dated before it
        rng.integers(0, 40_000, n),
    )


def changed(table, latest, rng):
    """Change the rows in some way; return the record."""
    kind = rng.choice([LEARN, LEARN, LEARN, TAKE_BACK, FORGET])
    if kind == FORGET:
        item = int(rng.integers(0, ITEMS))
        table.forget(item, np.arange(table.n_items))
        return forget_record(item)
    steps = random_steps(rng, int(rng.integers(1, 30)), len(latest))
    given = latest if kind == LEARN else no_latest(len(latest))
    record = steps_record(kind, given, steps)
    (table.learn if kind == LEARN else table.take_back)(steps, given)
    return record


def rows_of(table):
    return table.packed(np.arange(table.n_items))


@pytest.mark.parametrize("seed", range(8))
def test_rows_stored_at_any_time_become_the_same_bits(seed):
    rng = np.random.default_rng(seed)
    table, latest = Transitions(HALF_LIFE, 16), no_latest(5)
    stored, journal = {}, []
    for sequence in range(1, 60):
        entry = b"".join(changed(table, latest, rng) for _ in range(rng.integers(1, 3)))
        journal.append((sequence, entry))
        for item in rng.integers(0, table.n_items + 1, rng.integers(0, 4)).tolist():
            if item < table.n_items:
                [stored[item]] = table.packed(np.array([item]), sequence)
    again = Transitions(HALF_LIFE, 16)
    replay = Replay(again)
    replay.load(list(stored), list(stored.values()))
    for sequence, entry in journal:
        replay.apply(sequence, entry)
    again.grow(table.n_items)
    assert rows_of(again) == rows_of(table)
    # what is said to have changed is all that the stored rows lack
    lacking = {
        item
        for item, row in enumerate(rows_of(table))
        if item not in stored or stored[item][:-6] != row[:-6]
    }
    empty = set(range(table.n_items)) - set(np.flatnonzero(table.row_ms).tolist()) - stored.keys()
    assert lacking - empty <= set(replay.changed.tolist())


def test_only_rows_that_lack_an_entry_change():
    table, latest = Transitions(HALF_LIFE), no_latest(1)
    steps = taken((0, 3, 1.0, 1), (0, 5, 1.0, 2), (0, 7, 1.0, 3))
    record = steps_record(LEARN, latest, steps)
    table.learn(steps, latest)
    again = Transitions(HALF_LIFE)
    replay = Replay(again)
    replay.load([5], table.packed(np.array([5]), 9))
    replay.apply(9, record)
    assert replay.changed.tolist() == [3, 7]
    assert rows_of(again) == rows_of(table)


def test_rows_of_an_earlier_version_hold_nothing_of_the_journal():
    table, latest = Transitions(HALF_LIFE), no_latest(1)
    table.learn(taken((0, 3, 1.0, 1), (0, 5, 1.0, 2)), latest)
    old = [row[:-6] for row in table.packed(np.array([3, 5]))]
    steps = taken((0, 3, 1.0, 3), (0, 5, 1.0, 4))
    record = steps_record(LEARN, latest, steps)
    table.learn(steps, latest)
    again = Transitions(HALF_LIFE)
    replay = Replay(again)
    replay.load([3, 5], old)
    replay.apply(1, record)
    assert rows_of(again) == rows_of(table)


def test_a_record_has_the_stated_bytes_and_nothing_is_no_record():
    steps = taken((0, 3, 1.0, 1), (1, 5, 1.0, 2), (0, 3, 1.0, 2))
    assert len(steps_record(LEARN, no_latest(2), steps)) == 16 + 2 * USER_BYTES + 3 * STEP_BYTES
    none = Taken(*(column[:0] for column in vars(steps).values()))
    assert steps_record(LEARN, no_latest(2), none) == b""


def an_entry(**changes):
    columns = {"slot": 0, "item": 3, "weight": 1.0, "time_ms": 1} | changes
    columns = {name: np.array([value]) for name, value in columns.items()}
    return steps_record(changes.get("kind", LEARN), no_latest(1), Taken(**columns))


@pytest.mark.parametrize(
    "entry",
    [
        b"short",
        an_entry()[:-1],
        an_entry() + b"1",
        an_entry(slot=1),
        an_entry(item=-1),
        an_entry(weight=-1.0),
        an_entry(weight=np.nan),
        an_entry(weight=np.inf),
        steps_record(9, no_latest(1), taken((0, 3, 1.0, 1))),
        steps_record(LEARN, np.full((1, REACH), -2, np.int32), taken((0, 3, 1.0, 1))),
        bytes(16),
    ],
)
def test_damaged_entries_are_refused(entry):
    with pytest.raises(DataError, match="entry 7 of the transitions is damaged"):
        Replay(Transitions(HALF_LIFE)).apply(7, entry)


class Watched(Transitions):
    """The kernel would read beyond the rows without a word; this fails."""

    def forget(self, item, rows):
        assert (rows < self.n_items).all()
        return super().forget(item, rows)


def test_an_item_is_removed_from_the_rows_of_the_table_alone():
    replay = Replay(Watched(HALF_LIFE, 16))
    # the second item comes when there is no room for it
    for sequence, item in enumerate((599, 600), 1):
        entry = steps_record(LEARN, no_latest(1), taken((0, item, 1.0, 0)))
        replay.apply(sequence, entry)
    replay.apply(3, forget_record(599))
    assert replay.changed.tolist() == [599, 600]
