"""The learner's state in one process: what a learner of one partition holds, without a store."""

import numpy as np

from core.meaning import RATING, EventMeanings
from core.online.config import OnlineConfig
from core.online.model import OnlineModel
from core.online.tables import RatingRows, Side
from core.popularity import WIDTH
from core.rng import id_hashes
from core.transitions.table import no_latest
from core.types import F32, I64
from service.evaluation.stream.events import Events
from service.learning.following.views import View
from service.learning.state.counters import ItemCounters
from service.learning.state.transitions import ItemTransitions
from service.settings import Settings

TOGETHER = 4_096
"""Most events of one batch; the size of batches changes no state."""


class StreamLearner:
    """Learns the events of a stream in order, with the classes of the learner that serves."""

    def __init__(
        self,
        events: Events,
        settings: Settings,
        meanings: EventMeanings,
        config: OnlineConfig,
        *,
        view_every: int,
    ) -> None:
        self._view_every = view_every
        self._events, self._model = events, OnlineModel(config)
        n_users, n_items = len(events.user_ids), len(events.item_ids)
        self._users, self._items = self._model.user_table(n_users), self._model.item_table(n_items)
        self._users.rows[:] = self._model.start(Side.USER, id_hashes(events.user_ids))
        self._here = np.zeros(n_items, np.bool_)
        self._counters = ItemCounters(settings, meanings, np.zeros((0, WIDTH)))
        self._transitions = ItemTransitions(settings, meanings)
        self._latest = no_latest(n_users)
        self._view: View | None = None
        self.watermark = 0
        """Sequence of the last learned event."""

    def learn(self, through: int) -> None:
        """Learn all events up to a sequence."""
        while self.watermark < through:
            end = min(through, self.watermark + TOGETHER)
            self._learn(slice(self.watermark, end))
            self.watermark = end

    def row(self, user: int) -> F32:
        """Return a copy of a user's row."""
        row: F32 = self._users.rows[user].copy()
        return row

    def view(self) -> View:
        """Return the newest view; a new one if ``view_every`` events were learned since."""
        view = self._view
        if view is None or self.watermark - view.watermark >= self._view_every:
            n = int(self._here.nonzero()[0].max(initial=-1)) + 1
            self._view = view = View(
                self.watermark,
                self._model.parameters(self._items.rows[:n]),
                {name: array.copy() for name, array in self._model.arrays().items()},
                self._counters.rows.copy(),
                self._transitions.counted(),
            )
        return view

    def _learn(self, part: slice) -> None:
        events = self._events
        user, item, kind = events.user[part], events.item[part], events.kind[part]
        value, time_ms = events.value[part], events.time_ms[part]
        rated = np.flatnonzero(kind == RATING)
        self._begin(np.unique(item[rated]))
        ratings = RatingRows(user[rated], item[rated], value[rated], rated + part.start + 1)
        self._model.learn(self._users, self._items, ratings)
        self._counters.learn(item, kind, value, time_ms)
        slots, of_user = np.unique(user, return_inverse=True)
        self._transitions.learn(
            self._latest, slots, user=of_user, item=item, kind=kind, value=value, time_ms=time_ms
        )

    def _begin(self, items: I64) -> None:
        """Give items that are rated for the first time their start rows."""
        new = items[~self._here[items]]
        names = [self._events.item_ids[item] for item in new.tolist()]
        self._items.rows[new] = self._model.start(Side.ITEM, id_hashes(names))
        self._here[new] = True
