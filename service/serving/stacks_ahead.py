"""Heads of stacks for models that are in preparation, made before anybody asks."""

import asyncio

from msgspec.structs import replace

from service.ranking.asker import Asker
from service.ranking.pool import Head, Pool
from service.ranking.slates.choice import choose
from service.ranking.slates.wanted import Wanted
from service.ranking.strategies import MIXTURE
from service.serving.sources import Sources
from service.serving.turns import INLINE
from service.serving.user_state import UserState
from service.store.clock import now_ms


class StacksAhead:
    """Makes the heads that the first requests after a promotion would make."""

    def __init__(self, sources: Sources) -> None:
        self._lineups, self._users = sources.lineups, sources.users
        self._view, self._new_items = sources.view, sources.new_items

    async def head(self, user: str, state: UserState) -> Head | None:
        """Return the head of a user's stack as of the promotion; None: it would not be cached."""
        lineup = self._lineups.ahead(self._users.partition(user))
        if lineup.feature_readers:
            return None
        asker = Asker(state.preferences, heads={}, row=state.row)
        stack = choose(lineup, asker, Wanted(1)).stack
        if stack is None:
            return None
        time_ms, n_items = now_ms(), lineup.n_items
        new = self._new_items.exploration(user, time_ms)
        if new is not None:
            stack, n_items = replace(stack, newcomers=new.new.coming), max(n_items, new.n_items)
        # on this thread: the masks may not be shared
        allowed, _, reopened = self._view.current.shown(time_ms, n_items)
        pool = Pool(allowed, state.preferences.seen, None, reopened, time_ms)
        if lineup.effort > INLINE:
            listed = await asyncio.to_thread(stack.listed, asker, pool, 1)
        else:
            listed = stack.listed(asker, pool, 1)
        return next((one.head for one in listed.made if one.strategy == MIXTURE), None)
