"""A model that is about to serve finds ready where its orders begin for those who asked lately.

Otherwise everybody's first request after a promotion would make that at once, and all would wait.
"""

import asyncio
from concurrent.futures import Future

from service.ranking.rankers import Asker, FoldIn, head_of
from service.served_models import ActiveModel
from service.serving.lineup import ranker_of
from service.serving.recommender import INLINE
from service.serving.users import Users
from service.telemetry import logger

MOST_S = 10.0
"""The promotion of a model waits no longer than that; who asked longest ago goes without."""
AT_ONCE, PAUSE_S = 2, 0.001
"""Users between two pauses in which requests go on."""


class HeadStart:
    """Makes that beside the requests, while the model before still answers."""

    def __init__(self, users: Users, loop: asyncio.AbstractEventLoop) -> None:
        self._users, self._loop = users, loop

    def give(self, model: ActiveModel) -> Future[None] | None:
        """Begin, from another thread, and return what is done when the model should serve; None: at once."""
        ranker = ranker_of(model)
        if not isinstance(ranker, FoldIn):
            return None
        return asyncio.run_coroutine_threadsafe(self._given(ranker), self._loop)

    async def _given(self, ranker: FoldIn) -> None:
        try:
            await self._make(ranker)
        except Exception:  # noqa: BLE001 - whatever it is, the model must serve
            logger().error("head_start_failed", exc_info=True)

    async def _make(self, ranker: FoldIn) -> None:
        until = self._loop.time() + MOST_S
        strategy, version = ranker.strategy, ranker.version
        # as for requests: a thread that does small work holds up the loop at each turn, large work the loop itself
        beside = ranker.effort > INLINE
        had = [(user, known) for user, known in self._users.lately() if strategy in known.heads]
        for place, (user, known) in enumerate(had):
            if place % AT_ONCE == 0:
                await asyncio.sleep(PAUSE_S)
            if self._loop.time() > until:
                return
            if self._users.holds(user, known):
                asker = Asker(known.preferences)
                if beside:
                    head = await asyncio.to_thread(head_of, ranker, version, asker)
                else:
                    head = head_of(ranker, version, asker)
                self._users.foresee(user, known, strategy, head)
