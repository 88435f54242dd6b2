"""A model that is about to serve finds ready where its orders begin for those who asked lately.

Otherwise everybody's first request after a promotion would make that at once, and all would wait.
"""

import asyncio
import threading

from service.active import ActiveModel
from service.serving.lineup import ranker_of
from service.serving.rankers import Asker, FoldIn, head_of
from service.serving.recommender import INLINE
from service.serving.users import Users
from service.telemetry import logger

MOST_S = 10.0
"""The promotion of a model waits no longer than that; who asked longest ago goes without."""
AT_ONCE, PAUSE_S = 2, 0.001
"""Users between two pauses in which requests go on."""


class HeadStart:
    """Gives models that, beside the requests, while the model before still answers."""

    def __init__(self, users: Users, loop: asyncio.AbstractEventLoop) -> None:
        self._users, self._loop = users, loop
        self._closing = threading.Event()

    def give(self, model: ActiveModel) -> None:
        """Wait, in another thread, until the heads of a model are made; it serves without them where that fails."""
        ranker = ranker_of(model)
        if not isinstance(ranker, FoldIn) or self._closing.is_set():
            return
        made = asyncio.run_coroutine_threadsafe(self._make(ranker), self._loop)
        try:
            made.result(2 * MOST_S)
        except TimeoutError:
            made.cancel()
        except Exception:  # noqa: BLE001 - whatever it is, the model must serve
            logger().error("head_start_failed", exc_info=True)

    def close(self) -> None:
        """Make no more: whoever waits goes on at once."""
        self._closing.set()

    async def _make(self, ranker: FoldIn) -> None:
        until = self._loop.time() + MOST_S
        strategy, version = ranker.strategy, ranker.version
        # as for requests: a thread that does small work holds up the loop at each turn, large work the loop itself
        beside = ranker.effort > INLINE
        had = [(user, known) for user, known in self._users.lately() if strategy in known.heads]
        # a model that is rolled back to may find its own
        new = [one for one in had if one[1].heads[strategy].edition != version]
        for place, (user, known) in enumerate(new):
            if place % AT_ONCE == 0:
                await asyncio.sleep(PAUSE_S)
            if self._closing.is_set() or self._loop.time() > until:
                return
            if self._users.holds(user, known):
                asker = Asker(known.preferences)
                if beside:
                    head = await asyncio.to_thread(head_of, ranker, version, asker)
                else:
                    head = head_of(ranker, version, asker)
                self._users.foresee(user, known, strategy, head)
