"""Recommending by a restored model: only what folds users in is left of it."""

from typing import Any

from core.batch.ranker import Bools, Ranker
from core.batch.row_objective import RowObjective
from core.interactions import Interactions
from core.types import F32, I64


class RowRanker(Ranker):
    """The ranker of a row objective, such as a snapshot's.

    A user without pairs gets the items that most users have; an empty list without ``popular``
    (items, 1), which counts them.
    """

    def __init__(self, row: RowObjective, popular: F32 | None = None) -> None:
        self.row = row
        self._item_factors, self._popular = row.item_factors, popular

    def user_vectors(self, user_items: Any) -> F32:
        """Return the exact minimiser of each user's row, (users, g)."""
        return self.row.vectors(self._known(user_items))

    def unknown(self, users: I64, rows: Interactions) -> Bools:
        """Tell who has no pairs, unless their vectors are shrunk to the mean user."""
        return super().unknown(users, rows) & (self.row.shrinkage == 0.0)
