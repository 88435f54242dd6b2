"""Warm the cache for models before they go live: compute heads for recently active users.

Without it, the first request of each user after a promotion would compute a head, all at once.
Heads of a stack are made by all models that are coming: at last, when the newest has its own.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future

from service.ranking.asker import Asker
from service.ranking.pool import Head
from service.ranking.ranker import Ranker
from service.ranking.strategies import MIXTURE
from service.served_models import ActiveModel
from service.serving.turns import INLINE
from service.serving.user_state import UserState
from service.serving.users import Users
from service.telemetry import logger

MOST_S = 10.0
"""Longest delay of a model's promotion, in seconds; the least recently active users are skipped."""
AT_ONCE, PAUSE_S = 2, 0.001
"""Number of users between two pauses for requests; length of a pause in seconds. After the head of
a stack, the pause is as long as making it took, if that is longer."""

Ahead = Callable[[str, UserState], Awaitable[Head | None]]
"""Makes the head of the stack that will rank for a user."""


def head_of(ranker: Ranker, asker: Asker) -> Head | None:
    """Return the head of a ranker's order for an asker."""
    return ranker.head(asker)


class CacheWarming:
    """Runs in the background while the previous model keeps serving."""

    def __init__(
        self,
        users: Users,
        loop: asyncio.AbstractEventLoop,
        *,
        make: Callable[[Ranker, Asker], Head | None] = head_of,
        inline: int = INLINE,
        most_s: float = MOST_S,
    ) -> None:
        self._users, self._loop, self._make_head = users, loop, make
        self._inline, self._most_s = inline, most_s
        self._newest: Ranker | None = None
        self.ahead: Ahead | None = None
        """None: there are no lists of stacks yet."""

    def begin(self, model: ActiveModel) -> Future[None] | None:
        """Begin, called from another thread.

        The model should go live when the returned future is done; None: it may go live at once.
        """
        ranker = model.ranker
        if not ranker.keeps_heads:
            return None
        return asyncio.run_coroutine_threadsafe(self._warm(ranker), self._loop)

    async def _warm(self, ranker: Ranker) -> None:
        self._newest, until = ranker, self._loop.time() + self._most_s
        try:
            await self._make(ranker, until)
            await self._make_stacked(ranker, until)
        except Exception:  # noqa: BLE001 - whatever it is, the model must serve
            logger().error("cache_warming_failed", exc_info=True)

    async def _make_stacked(self, ranker: Ranker, until: float) -> None:
        """Make heads of stacks; while a newer model is coming too, that is left to its turn."""
        had = [(user, state) for user, state in self._users.lately() if MIXTURE in state.heads]
        for user, state in had:
            began = self._loop.time()
            if self.ahead is None or began > until or self._newest is not ranker:
                return
            if self._users.holds(user, state):
                head = await self.ahead(user, state)
                if head is not None:
                    self._users.keep_warmed(user, state, MIXTURE, head)
            await asyncio.sleep(max(PAUSE_S, self._loop.time() - began))

    async def _make(self, ranker: Ranker, until: float) -> None:
        strategy = ranker.strategy
        had = [(user, state) for user, state in self._users.lately() if strategy in state.heads]
        for at, (user, state) in enumerate(had):
            if at % AT_ONCE == 0:
                await asyncio.sleep(PAUSE_S)
            if self._loop.time() > until:
                return
            if self._users.holds(user, state):
                head = await self._head(ranker, Asker(state.preferences))
                if head is not None:
                    self._users.keep_warmed(user, state, strategy, head)

    async def _head(self, ranker: Ranker, asker: Asker) -> Head | None:
        # small work would cost the loop more in a thread, large work would block the loop
        if ranker.effort > self._inline:
            return await asyncio.to_thread(self._make_head, ranker, asker)
        return self._make_head(ranker, asker)
