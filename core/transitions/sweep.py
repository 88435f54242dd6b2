"""Choose the rows that a commit writes: each row that changed is written within two rounds.

A round lasts until the journal has grown by ``ROUND_BYTES``. Meanwhile the rows that had changed
before the round are written, a few with each commit. Then a replay no longer needs what happened
before the round, and the next round begins. So the journal holds two rounds, and commits write a
bounded number of rows whatever the number of items.
"""

from dataclasses import dataclass

import numpy as np

from core.types import I32, I64

ROUND_BYTES = 4 << 20
"""Bytes by which the journal grows in one round."""


@dataclass(frozen=True)
class Turn:
    """The part of one commit."""

    rows: I64
    """Items whose rows it writes."""
    obsolete: int | None
    """Last sequence that no replay needs any longer; None if nothing becomes obsolete."""


class Sweep:
    """The rows that are to be written, and the position in the round."""

    def __init__(
        self, changed: I64, *, sequence: int, journal_bytes: int = 0, round_bytes: int = ROUND_BYTES
    ) -> None:
        """Begin a round after the event ``sequence``, when some rows lag behind the journal."""
        self._round_bytes = round_bytes
        self._changed = np.zeros(0, np.bool_)
        """Rows that changed since they were written last, by item."""
        self._due, self._at = changed, 0
        """Items to write in this round, and how many of them are written."""
        self._began = sequence
        # a long journal, as after frequent restarts, makes the round short
        self._length = min(round_bytes, max(0, 2 * round_bytes - journal_bytes))
        self._grown = 0

    def mark(self, rows: I32 | I64, n_bytes: int) -> None:
        """Note that rows changed and the journal grew; ``rows`` may repeat."""
        size = int(rows.max(initial=-1)) + 1
        if size > self._changed.size:
            more = np.zeros(max(size, 2 * self._changed.size) - self._changed.size, np.bool_)
            self._changed = np.concatenate([self._changed, more])
        self._changed[rows] = True
        self._grown += n_bytes

    @property
    def owed_rows(self) -> int:
        """Return the number of rows to write if the journal did not grow any more."""
        if self._grown >= self._length:
            return self._due.size - self._at
        return -(-self._due.size * self._grown // self._length) - self._at

    @property
    def rows_a_byte(self) -> float:
        """Return how many rows more to write for each byte by which the journal grows, at most."""
        return 0.0 if self._grown >= self._length else self._due.size / self._length

    def turn(self, sequence: int, most: int) -> Turn:
        """Return the part of the commit that ends with ``sequence``: at most ``most`` rows."""
        rows = self._due[self._at : self._at + min(most, self.owed_rows)]
        self._at += rows.size
        self._changed[rows[rows < self._changed.size]] = False
        if self._at < self._due.size or self._grown < self._length:
            return Turn(rows, None)
        obsolete, self._began = self._began, sequence
        self._due, self._at = np.flatnonzero(self._changed), 0
        self._grown, self._length = 0, self._round_bytes
        return Turn(rows, obsolete)
