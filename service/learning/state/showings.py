"""Counts how often each item was shown and clicked on; other events cost nothing."""

import numpy as np

from core.types import I64, U8, U32
from service.settings import Settings
from service.store.profiles.counters import Pieces, pieces
from service.store.profiles.showings import CLICKED, SHOWN, WIDTH

NO_KIND = -1


class ItemShowings:
    """The counts in memory; each change returns the bytes that the commit writes."""

    def __init__(self, settings: Settings, rows: U32) -> None:
        self._rows = rows.copy()
        names = {SHOWN: "impression", CLICKED: "click"}
        kinds = {column: settings.kinds.get(name) for column, name in names.items()}
        self._codes = {column: kind.code if kind else NO_KIND for column, kind in kinds.items()}

    @property
    def rows(self) -> U32:
        """The rows of all items, not to be written."""
        return self._rows

    def learn(self, item: I64, kind: U8) -> Pieces:
        """Count n events, arrays (n,)."""
        touched = []
        for column, code in self._codes.items():
            of_kind = item[kind == code].astype(np.int64)
            if of_kind.size:
                self._grow(int(of_kind.max()) + 1)
                np.add.at(self._rows[:, column], of_kind, 1)
                touched.append(of_kind)
        return pieces(self._rows, np.unique(np.concatenate(touched))) if touched else ()

    def start_over(self, item: int) -> Pieces:
        """Reset the counts of a deleted item."""
        if item >= len(self._rows):
            return ()
        self._rows[item] = 0
        return pieces(self._rows, np.array([item]))

    def _grow(self, size: int) -> None:
        if size > len(self._rows):
            more = np.zeros((max(1024, size, 2 * len(self._rows)), WIDTH), np.uint32)
            more[: len(self._rows)] = self._rows
            self._rows = more
