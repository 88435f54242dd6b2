"""Keeps the list of new items: made again when the catalogue, the counters or showings change."""

import asyncio
import operator
from dataclasses import dataclass, field

import numpy as np

from core.online.tables import COUNT
from core.types import F64, I64
from service.ranking.ranker import NO_LIKES, Ranker
from service.ranking.slates.exploration import HOUR_MS, Exploration, NewItems
from service.ranking.slates.new_items import LookAlikes, Said, new_items
from service.ranking.untrained.everybody import Orders
from service.ranking.untrained.learned import LearnedState
from service.served_models import ActiveModels
from service.serving.copies.catalogue_view import CatalogueView
from service.serving.copies.later_items import LaterItemsFollower
from service.serving.copies.online_items import OnlineSnapshotFollower
from service.serving.copies.polling import Polled
from service.serving.copies.popularity import Popularity
from service.store.catalogue.blocks import BLOCK
from service.store.clock import now_ms
from service.store.profiles.showings import CLICKED, SHOWN, ShowingsReader

PERIOD_MS = 60_000
"""Longest time between two lists: an item may become available without a change."""


@dataclass(frozen=True, eq=False)
class Fresh:
    """The items that are new, and the outcome of showing them."""

    new: NewItems = field(default_factory=NewItems)
    shown: int = 0
    clicked: int = 0


class NewItemsFollower(Polled):
    """Follows what is new while it is open; ``current`` is replaced as a whole."""

    def __init__(
        self,
        *,
        seed: int,
        share: float,
        view: CatalogueView,
        popularity: Popularity,
        learned: OnlineSnapshotFollower,
        showings: ShowingsReader,
        models: ActiveModels,
        later: LaterItemsFollower,
    ) -> None:
        super().__init__()
        self._seed, self._share, self._showings = seed, share, showings
        self._models, self._later, self._alike = models, later, LookAlikes()
        self._view, self._popularity, self._learned = view, popularity, learned
        self._made_of: list[object] = [None] * 5
        self._made_ms = 0
        self.current = Fresh()

    def exploration(self, user: str | None, time_ms: int) -> Exploration | None:
        """Return the draw for an asker; None: there is nothing new to show."""
        new = self.current.new
        if not new.items.size:
            return None
        return Exploration(new, self._share, self._seed, user or "", time_ms // HOUR_MS)

    async def refresh(self) -> None:
        """Make the list now, if anything changed."""
        if not self._view.ready:
            return
        counts, time_ms = await self._showings.refreshed(), now_ms()
        items, orders, learned = self._view.current, self._popularity.current, self._learned.current
        placing = self._placing()
        made_of = [items, orders, learned, counts, placing]
        late = time_ms - self._made_ms >= PERIOD_MS
        if not late and all(map(operator.is_, made_of, self._made_of)):
            return
        # on this thread: the masks may not be shared
        n = len(items.blocks) * BLOCK
        allowed, opens = items.mask(time_ms, n), items.opens(n)
        events = known_events(orders, learned, placing)

        def made() -> Fresh:
            said = Said(*items.category_pairs[:3], opens)
            shown = counts[:, SHOWN].astype(np.float64)
            new = new_items(said, allowed, events, shown, placing)
            return _fresh(self._alike.joined(new, events), counts)

        self.current = await asyncio.to_thread(made)
        self._made_of, self._made_ms = made_of, time_ms

    def _placing(self) -> Ranker | None:
        """Return the active ranker that places items by their documents."""
        active = (model.ranker for model in self._models.current.models.values())
        ranker = next((one for one in active if one.family.places_items), None)
        return None if ranker is None else self._later.current.with_later(ranker)


def _fresh(new: NewItems, counts: I64) -> Fresh:
    shown = counts[new.items[new.items < len(counts)]].sum(axis=0)
    return Fresh(new, int(shown[SHOWN]), int(shown[CLICKED]))


def known_events(orders: Orders, learned: LearnedState, placing: Ranker | None) -> F64:
    """Return the largest of the evidence of each item, its ratings, and the people who liked it.

    Views weigh little, but an item that many people looked at is known.
    """
    items, evidence = orders.popular
    parts = [part.online.rows[:, COUNT] for part in learned.parts.values()]
    likes = NO_LIKES if placing is None else placing.likes
    n = max([int(items.max(initial=-1)) + 1, likes.size, *map(len, parts)])
    rated, liked = np.zeros(n), np.zeros(n)
    liked[items] = evidence
    liked[: likes.size] = np.maximum(liked[: likes.size], likes)
    for part in parts:
        rated[: len(part)] += part
    return np.maximum(liked, rated)
