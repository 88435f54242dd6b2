"""Each row that changed is written within two rounds, and so the journal holds two rounds."""

import numpy as np
import pytest

from core.transitions.sweep import Sweep

NOTHING = np.empty(0, np.int64)


class Run:
    """Commits of a learner, with what is stored after each."""

    def __init__(self, round_bytes):
        self.round_bytes, self.sequence = round_bytes, 0
        self.journal, self.changed_at, self.written = {}, {}, []
        self.restart()

    def restart(self):
        """Begin with what a replay finds: the rows that changed since they were written."""
        self.sweep = Sweep(
            np.array(sorted(self.changed_at), np.int64),
            sequence=self.sequence,
            journal_bytes=self.journal_bytes,
            round_bytes=self.round_bytes,
        )

    @property
    def journal_bytes(self):
        return sum(self.journal.values())

    def commit(self, rows, n_bytes, most=10**9):
        self.sequence += 1
        self.journal[self.sequence] = n_bytes
        for row in rows:
            self.changed_at.setdefault(row, self.sequence)
        self.sweep.mark(np.array(rows, np.int64), n_bytes)
        turn = self.sweep.turn(self.sequence, most)
        self.written.append(turn.rows.size)
        for row in turn.rows.tolist():
            self.changed_at.pop(row, None)
        if turn.obsolete is not None:
            self.journal = {s: n for s, n in self.journal.items() if s > turn.obsolete}
        # what the rows lack is in the journal
        needed = min(self.changed_at.values(), default=self.sequence + 1)
        assert all(s in self.journal for s in range(needed, self.sequence + 1))


@pytest.mark.parametrize("items", [3, 100, 5_000])
@pytest.mark.parametrize("restarts", [0, 7, 40])
def test_the_journal_is_bounded_and_has_what_the_rows_lack(items, restarts):
    rng = np.random.default_rng(items + restarts)
    run = Run(round_bytes=1_000)
    for number in range(3_000):
        rows = rng.integers(0, items, rng.integers(1, 6)).tolist()
        run.commit(rows, 10 * len(rows))
        assert run.journal_bytes <= 2 * 1_000 + 2 * 50
        if restarts and number % restarts == 0:
            run.restart()
    assert len(run.changed_at) <= min(items, 250)


def test_rows_are_written_evenly():
    run = Run(round_bytes=1_000)
    run.commit(list(range(100)), 1_000)
    run.written.clear()
    for _ in range(50):
        run.commit([7], 20)
    assert run.written == [2] * 50
    assert set(run.changed_at) == {7}


def test_a_commit_writes_no_more_rows_than_it_may_and_later_ones_make_up_for_it():
    run = Run(round_bytes=100)
    run.commit(list(range(30)), 100)
    run.written.clear()
    run.commit([30], 100, most=10)
    run.commit([], 0, most=10)
    run.commit([], 0, most=10)
    assert run.written == [10, 10, 10]
    assert run.changed_at == {30: 2}


def test_commits_without_steps_write_nothing():
    run = Run(round_bytes=1_000)
    run.commit([1, 2], 40)
    for _ in range(5):
        run.commit([], 0)
    assert run.written == [0] * 6


def test_what_is_owed_is_known_before_a_commit():
    sweep = Sweep(np.arange(100), sequence=0, round_bytes=1_000)
    assert (sweep.owed_rows, sweep.rows_a_byte) == (0, pytest.approx(0.1))
    sweep.mark(NOTHING, 250)
    assert sweep.owed_rows == 25
    assert sweep.turn(1, 20).rows.tolist() == list(range(20))
    assert sweep.owed_rows == 5
    sweep.mark(NOTHING, 2_000)
    assert (sweep.owed_rows, sweep.rows_a_byte) == (80, 0.0)
