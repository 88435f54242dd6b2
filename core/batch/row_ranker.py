"""Recommend by a restored model, of which only the fold-in objective is left."""

from typing import Any

from core.batch.ranker import Bools, Ranker
from core.batch.row_objective import RowObjective
from core.interactions import Interactions
from core.types import F32, I64


class RowRanker(Ranker):
    """The ranker of a row objective, such as a snapshot's.

    A user without pairs gets the most popular items. ``popular`` (items, 1) counts the users who
    like each item; without it the list of such a user is empty.
    """

    def __init__(self, row: RowObjective, popular: F32 | None = None) -> None:
        self.row = row
        self._item_factors, self._popular = row.item_factors, popular

    def user_vectors(self, user_items: Any) -> F32:
        """Return the exact minimiser of each user's row, (users, g)."""
        return self.row.vectors(self._known(user_items))

    def unknown(self, users: I64, rows: Interactions) -> Bools:
        """Return which users have no pairs; with shrinkage none is unknown."""
        return super().unknown(users, rows) & (self.row.shrinkage == 0.0)
