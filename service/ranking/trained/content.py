"""Content: ranks items by what is said of them, for people who are known by what they took.

It ranks every described item, whether or not anybody took it: also one whose document was written
after the training.
"""

from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np

from core.batch.content.model import Content
from core.batch.content.snapshot import content_of
from core.batch.ocmf.users import StructuredUsers
from core.kernels.scan import Mask
from core.stack.signals import SIGNALS
from core.types import F32, I32
from service.ranking.asker import Asker
from service.ranking.family import ADDS, Family, Published
from service.ranking.pool import Pool, Ranked, chosen
from service.ranking.ranker import NO_LIKES
from service.ranking.trained.fold_in import FoldIn

_NUMBERS = count(1)


class ByContent(FoldIn):
    """Ranks by the products of the user's vector with the places of items."""

    signals = (*SIGNALS, "log affinity", "log likes")

    def __init__(
        self,
        family: Family,
        version: str,
        model: Content,
        trained_through: Mapping[int, int],
        made_of: str = "",
    ) -> None:
        super().__init__(family, version, StructuredUsers(model.row), trained_through)
        self.model, self.item_vectors = model, model.places
        self._made_of = made_of or version

    @property
    def made_of(self) -> str:
        """Return another version once later items are known: a head without them is stale."""
        return self._made_of

    def nearest(self, vector: F32, pool: Pool, n: int) -> Ranked:
        return chosen(self.model.scores(vector), pool, n)

    def scores(self, asker: Asker) -> F32:
        return self.model.scores(self.fold_in(asker))

    def scores_of(self, asker: Asker, items: I32) -> F32:
        found = np.full(items.size, -np.inf, np.float32)
        known = items < self.n_items
        known[known] = self.model.placed[items[known]]
        found[known] = self.model.places[items[known]] @ self.fold_in(asker)
        return found

    def signals_of(self, asker: Asker, items: I32) -> F32:
        own = super().signals_of(asker, items)
        past = asker.preferences
        affinity = self.model.affinity(past.item_ix[past.target > 0.0], items)
        return np.column_stack([own, affinity, self.model.log_likes_of(items)])

    @property
    def likes(self) -> F32:
        return NO_LIKES if self.model.likes is None else self.model.likes

    def has(self, item: int) -> bool:
        return item < self.n_items and bool(self.model.placed[item])

    def similar(self, item: int, pool: Pool, n: int) -> Ranked:
        """Return the items that are described alike and liked by the same people."""
        return chosen(self.model.likeness(item), pool, n)

    def alike(self, items: I32, known: Mask, n: int) -> I32:
        reach = np.zeros(self.n_items, np.bool_)
        reach[: known.size] = known[: self.n_items]
        found = np.full((items.size, n), -1, np.int32)
        placed = np.array([self.has(item) for item in items.tolist()], np.bool_)
        found[placed] = self.model.alike(items[placed], reach, n)
        return found

    @property
    def unplaced(self) -> I32:
        return np.flatnonzero(~self.model.placed).astype(np.int32)

    def with_later(self, bodies: Mapping[int, Mapping[str, Any]]) -> "ByContent":
        model, through = self.model.with_items(bodies), self.trained_through
        made_of = f"{self.version}, {next(_NUMBERS)}"
        known = ByContent(self.family, self.version, model, through, made_of)
        known.only_places = self.only_places
        known._warm_lists()  # where this runs nobody waits for an answer
        return known

    def warm(self) -> None:
        super().warm()
        self._warm_lists()
        if self.model.placed.any():
            self.model.likeness(int(np.argmax(self.model.placed)))

    def _warm_lists(self) -> None:
        """Find what a first list needs, because it reads the whole model once."""
        self.model.scores(np.zeros(self.model.places.shape[1], np.float32))
        one = np.zeros(1, np.int32)
        self.model.affinity(one, one)
        self.model.log_likes_of(one)


def read_content(family: Family, model: Published) -> ByContent:
    """Return the ranker of a published model."""
    made = ByContent(family, model.version, content_of(model.snapshot), model.trained_through)
    made.only_places = family.only_places and not model.snapshot.metrics.get(ADDS)
    return made
