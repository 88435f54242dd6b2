"""One cached user: the history as rankers read it, and what rankers have computed from it."""

from dataclasses import dataclass, field

import numpy as np

from core.batch.preferences import Preferences, preferences
from core.meaning import Reading
from core.types import F32
from service.ranking.pool import Head
from service.ranking.strategies import Strategy
from service.store.profiles.history_record import sequences
from service.store.profiles.user_histories import HistoryAnswer

OVERHEAD, OF_EACH = 1_500, 250
"""Bytes that an entry takes besides its arrays, and each vector and head in it, about."""


@dataclass(eq=False)
class UserState:
    """A cached user: the history as rankers read it; a user without one has empty preferences."""

    preferences: Preferences
    """``seen`` holds the trimmed items, too."""
    watermark: int
    """It holds everything up to here."""
    newest: int
    """Sequence of its newest record; 0: there is none."""
    vectors: dict[str, F32] = field(default_factory=dict)
    """By version of the model."""
    row: F32 | None = None
    """Of the online model."""
    heads: dict[Strategy, Head] = field(default_factory=dict)
    """The tops of rankers' orders."""
    warmed: dict[Strategy, Head] = field(default_factory=dict)
    """The same for models that are about to serve."""

    @property
    def nbytes(self) -> int:
        """Return about how much memory it takes."""
        one = self.preferences
        arrays = (one.item_ix, one.weight, one.target, one.seen, *self.vectors.values())
        row = 0 if self.row is None else self.row.nbytes
        kept = (*self.heads.values(), *self.warmed.values())
        heads = sum(head.nbytes for head in kept)
        made = OF_EACH * (len(self.vectors) + len(kept))
        return OVERHEAD + made + row + heads + sum(array.nbytes for array in arrays)


def state_of(answer: HistoryAnswer, reading: Reading, through: int | None = None) -> UserState:
    """Return what a history says, without the records after ``through`` where that is given."""
    records, order = answer.records, sequences(answer.records)
    newest = int(order[-1]) if order.size else 0
    if through is not None and newest > through:
        kept = order <= through
        records, order = records[kept], order[kept]
    read = preferences(
        records["item"],
        records["kind"],
        records["value"],
        order,
        reading,
    )
    if answer.trimmed.size:
        seen = np.union1d(read.seen, answer.trimmed.astype(np.int32))
        read = Preferences(read.item_ix, read.weight, read.target, seen)
    return UserState(read, answer.watermark, newest, row=answer.row)
