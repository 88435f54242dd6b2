"""Reads of histories: concurrent requests share a round trip to each partition."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field

from core.meaning import EventMeanings
from service.errors import ServiceError
from service.serving.user_state import UserState, state_of
from service.store.profiles.user_histories import USERS_READ, UserHistories

SAMPLED_AT_ONCE = 16
"""Number of sampled users decoded in one turn of the loop; other requests run in between."""

_UNEXPECTED = ServiceError("reading the history failed unexpectedly: see the service's log")


@dataclass(eq=False)
class _Read:
    """One user that is being read; ``changed``: the history changed meanwhile."""

    waiting: list[asyncio.Future[UserState]] = field(default_factory=list)
    """One future for each waiting request, so that cancelling one does not affect the others."""
    changed: bool = False


class HistoryLane:
    """Reads of one partition: requests during a round trip share the next one."""

    def __init__(
        self,
        reader: UserHistories,
        meanings: EventMeanings,
        keep: Callable[[str, UserState], None],
    ) -> None:
        self._reader, self._meanings, self._keep = reader, meanings, keep
        self._waiting: dict[str, _Read] = {}
        self._reads: dict[str, _Read] = {}
        self._task: asyncio.Task[None] | None = None

    async def read(self, user: str) -> UserState:
        loop = asyncio.get_running_loop()
        read = self._waiting.get(user)
        if read is None:
            read = self._waiting[user] = _Read()
            if self._task is None:
                # the task starts after this turn of the loop: requests of the same turn share it
                self._task = loop.create_task(self._drain())
        done: asyncio.Future[UserState] = loop.create_future()
        read.waiting.append(done)
        return await done

    async def read_through(self, user: str, sequence: int) -> UserState:
        [answer] = await self._reader.read([user])
        return state_of(answer, self._meanings, sequence)

    async def sample(self, n: int) -> AsyncIterator[tuple[str, UserState]]:
        users = await self._reader.sample(n)
        for first in range(0, len(users), SAMPLED_AT_ONCE):
            part = users[first : first + SAMPLED_AT_ONCE]
            for user, answer in zip(part, await self._reader.read(part), strict=True):
                yield user, state_of(answer, self._meanings)

    def changed(self, user: str) -> None:
        read = self._reads.get(user)
        if read is not None:
            read.changed = True

    def lost(self) -> None:
        self._reader.forget_deletions()
        for read in self._reads.values():
            read.changed = True

    async def _drain(self) -> None:
        try:
            while self._waiting:
                users = list(self._waiting)[:USERS_READ]
                self._reads = {user: self._waiting.pop(user) for user in users}
                await self._read_all(users)
        finally:
            self._task = None
            # not empty only after an unexpected error: no request may wait for ever
            _fail([*self._reads.values(), *self._waiting.values()], _UNEXPECTED)
            self._reads, self._waiting = {}, {}

    async def _read_all(self, users: list[str]) -> None:
        try:
            answers = await self._reader.read(users)
        except ServiceError as error:
            _fail(self._reads.values(), error)
            return
        for (user, read), answer in zip(self._reads.items(), answers, strict=True):
            state = state_of(answer, self._meanings)
            # in this same turn of the loop, so that a later change removes it from the cache
            if not read.changed:
                self._keep(user, state)
            for done in read.waiting:
                if not done.done():
                    done.set_result(state)
        self._reads = {}


def _fail(reads: Iterable[_Read], error: ServiceError) -> None:
    for done in [done for read in reads for done in read.waiting]:
        if not done.done():
            done.set_exception(error)
            # also mark it as retrieved: the waiting request may be gone
            done.exception()
