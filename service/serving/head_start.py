"""A model that is about to serve finds ready where its orders begin for those who asked lately.

Otherwise everybody's first request after a promotion would make that at once, and all would wait.
"""

import asyncio
import contextlib

from service.active import ActiveModel
from service.serving.lineup import ranker_of
from service.serving.rankers import Asker, FoldIn, head_of
from service.serving.users import Users

MOST_S = 10.0
"""A promotion waits no longer than that; who asked longest ago goes without."""
AT_ONCE, PAUSE_S = 2, 0.001
"""Users between two pauses in which requests go on. Not a thread: one that works holds up the loop at each turn."""


class HeadStart:
    """Gives models that, in the event loop, while the model before still answers."""

    def __init__(self, users: Users, loop: asyncio.AbstractEventLoop) -> None:
        self._users, self._loop = users, loop

    def give(self, model: ActiveModel) -> None:
        """Wait, in another thread, until the heads of a model are made."""
        ranker = ranker_of(model)
        if isinstance(ranker, FoldIn):
            made = asyncio.run_coroutine_threadsafe(self._make(ranker), self._loop)
            with contextlib.suppress(TimeoutError):
                made.result(2 * MOST_S)

    async def _make(self, ranker: FoldIn) -> None:
        until = self._loop.time() + MOST_S
        strategy = ranker.strategy
        had = [(user, known) for user, known in self._users.lately() if strategy in known.heads]
        for first in range(0, len(had), AT_ONCE):
            if self._loop.time() > until:
                return
            for user, known in had[first : first + AT_ONCE]:
                if self._users.holds(user, known):
                    head = head_of(ranker, ranker.version, Asker(known.preferences))
                    self._users.foresee(user, known, strategy, head)
            await asyncio.sleep(PAUSE_S)
