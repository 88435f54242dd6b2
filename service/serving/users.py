"""The users that an api process caches: preferences, vectors, tops of rankers' orders; bounded, never a slate.

It hears of every change before ``min_sequence`` is said to be reached, so an answer never trails what was waited
for. Histories that are not cached are read together: one round trip at a time for each partition.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.batch.preferences import Preferences, preferences
from core.meaning import Reading
from core.online.layout import RowLayout
from core.types import F32
from service.errors import ServiceError
from service.ranking.asker import Made
from service.ranking.pool import Head
from service.ranking.strategies import Strategy
from service.store.connection import AsyncClient
from service.store.log.codec import sequences
from service.store.namespace import Namespace
from service.store.partitions import partition_of
from service.store.profiles.user_histories import USERS_READ, HistoryAnswer, UserHistories

OVERHEAD, OF_EACH = 1_500, 250
"""About how many bytes an entry takes besides its arrays, and each vector and head in it."""
SAMPLED_AT_ONCE = 16
"""Users of a sample that are decoded in one turn of the loop: other requests go on in between."""
VECTORS = 4
"""Vectors kept of one user: one for each model that serves."""

_UNFORESEEN = ServiceError("reading the history failed unforeseen: see the service's log")


@dataclass(eq=False)
class UserState:
    """A cached user: the history as rankers read it; a user without one has empty preferences."""

    preferences: Preferences
    """``seen`` holds the trimmed items, too."""
    watermark: int
    """It holds everything up to here."""
    newest: int
    """Sequence of its newest record; 0: there is none."""
    vectors: dict[str, F32] = field(default_factory=dict)
    """By version of the model."""
    row: F32 | None = None
    """Of the online model."""
    heads: dict[Strategy, Head] = field(default_factory=dict)
    """The tops of rankers' orders."""
    warmed: dict[Strategy, Head] = field(default_factory=dict)
    """The same for models that are about to serve."""

    @property
    def nbytes(self) -> int:
        """Return about how much memory it takes."""
        one = self.preferences
        arrays = (one.item_ix, one.weight, one.target, one.seen, *self.vectors.values())
        row = 0 if self.row is None else self.row.nbytes
        kept = (*self.heads.values(), *self.warmed.values())
        heads = sum(head.nbytes for head in kept)
        made = OF_EACH * (len(self.vectors) + len(kept))
        return OVERHEAD + made + row + heads + sum(array.nbytes for array in arrays)


def state_of(answer: HistoryAnswer, reading: Reading, through: int | None = None) -> UserState:
    """Return what a history says, without the records after ``through`` where that is given."""
    records, order = answer.records, sequences(answer.records)
    newest = int(order[-1]) if order.size else 0
    if through is not None and newest > through:
        kept = order <= through
        records, order = records[kept], order[kept]
    read = preferences(
        records["item"],
        records["kind"],
        records["value"],
        order,
        reading,
    )
    if answer.trimmed.size:
        seen = np.union1d(read.seen, answer.trimmed.astype(np.int32))
        read = Preferences(read.item_ix, read.weight, read.target, seen)
    return UserState(read, answer.watermark, newest, row=answer.row)


class Users:
    """The users of all partitions; a ``changes.Listener``."""

    def __init__(
        self,
        client: AsyncClient,
        namespace: Namespace,
        reading: Reading,
        layout: RowLayout,
        most_bytes: int,
    ) -> None:
        self._partitions = namespace.partitions
        self._most_bytes = most_bytes
        self._bytes = 0
        self._entries: OrderedDict[str, UserState] = OrderedDict()
        self._lanes = [
            _Lane(UserHistories(client, namespace.name, partition, layout), reading, self._keep)
            for partition in range(namespace.partitions)
        ]

    async def get(self, user: str) -> UserState:
        """Return a user as of now, or as of a change that is not heard of yet."""
        state = self._entries.get(user)
        if state is not None:
            self._entries.move_to_end(user)
            return state
        return await self._lanes[partition_of(user, self._partitions)].read(user)

    async def as_of(self, user: str, sequence: int) -> UserState:
        """Return a user without the events after ``sequence``; what was deleted since stays deleted."""
        state = await self.get(user)
        if state.newest <= sequence:
            return state
        lane = self._lanes[partition_of(user, self._partitions)]
        return await lane.read_through(user, sequence)

    async def sample(self, n: int) -> AsyncIterator[tuple[str, UserState]]:
        """Yield up to n users drawn at random from all partitions; none of them is kept for that."""
        for lane in self._lanes:
            async for found in lane.sample(n // self._partitions):
                yield found

    @property
    def keeps(self) -> bool:
        """Whether anything of users is kept."""
        return self._most_bytes > 0

    def holds(self, user: str, state: UserState) -> bool:
        """Whether nothing was heard since that changes what is state of a user."""
        return self._entries.get(user) is state

    def remember(self, user: str, state: UserState, made: Sequence[Made]) -> None:
        """Keep what rankers computed for a user for as long as the history stays what it is."""
        before = state.nbytes
        vectors = {one.version: one.vector for one in made if one.vector is not None}
        if len(state.vectors) + len(vectors) > VECTORS:
            state.vectors.clear()
        state.vectors.update(vectors)
        for one in made:
            if one.head is not None:
                state.heads[one.strategy] = one.head
                state.warmed.pop(one.strategy, None)
        self._weigh(user, state, before)

    def keep_warmed(self, user: str, state: UserState, strategy: Strategy, head: Head) -> None:
        """Keep the top of the order of a model that is about to serve."""
        before = state.nbytes
        state.warmed[strategy] = head
        self._weigh(user, state, before)

    def lately(self) -> list[tuple[str, UserState]]:
        """Return who is kept, the latest asker first."""
        return list(self._entries.items())[::-1]

    def changed(self, partition: int, users: Iterable[str]) -> None:
        lane = self._lanes[partition]
        for user in users:
            state = self._entries.pop(user, None)
            if state is not None:
                self._bytes -= state.nbytes
            lane.changed(user)

    def lost(self, partition: int) -> None:
        self._entries.clear()
        self._bytes = 0
        self._lanes[partition].lost()

    def _keep(self, user: str, state: UserState) -> None:
        if self._most_bytes:
            before = self._entries.pop(user, None)
            self._bytes += state.nbytes - (before.nbytes if before is not None else 0)
            self._entries[user] = state
            self._shrink()

    def _weigh(self, user: str, state: UserState, before: int) -> None:
        if self.holds(user, state):
            self._bytes += state.nbytes - before
            self._shrink()

    def _shrink(self) -> None:
        while self._bytes > self._most_bytes:
            _, gone = self._entries.popitem(last=False)
            self._bytes -= gone.nbytes


@dataclass(eq=False)
class _Read:
    """One user that is being read; ``changed``: meanwhile somebody changed the history."""

    waiting: list[asyncio.Future[UserState]] = field(default_factory=list)
    """One for each who waits: whoever goes away does not take the answer from the others."""
    changed: bool = False


class _Lane:
    """Reads of one partition: who asks during a round trip shares the next one, never the one under way."""

    def __init__(
        self,
        reader: UserHistories,
        reading: Reading,
        keep: Callable[[str, UserState], None],
    ) -> None:
        self._reader, self._reading, self._keep = reader, reading, keep
        self._waiting: dict[str, _Read] = {}
        self._reads: dict[str, _Read] = {}
        self._task: asyncio.Task[None] | None = None

    async def read(self, user: str) -> UserState:
        loop = asyncio.get_running_loop()
        read = self._waiting.get(user)
        if read is None:
            read = self._waiting[user] = _Read()
            if self._task is None:
                # it starts when this turn of the loop is over: who else asks in it shares the round trip
                self._task = loop.create_task(self._drain())
        done: asyncio.Future[UserState] = loop.create_future()
        read.waiting.append(done)
        return await done

    async def read_through(self, user: str, sequence: int) -> UserState:
        [answer] = await self._reader.read([user])
        return state_of(answer, self._reading, sequence)

    async def sample(self, n: int) -> AsyncIterator[tuple[str, UserState]]:
        users = await self._reader.sample(n)
        for first in range(0, len(users), SAMPLED_AT_ONCE):
            part = users[first : first + SAMPLED_AT_ONCE]
            for user, answer in zip(part, await self._reader.read(part), strict=True):
                yield user, state_of(answer, self._reading)

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
            # empty unless something unforeseen ended the loop: nobody must wait for ever
            _fail([*self._reads.values(), *self._waiting.values()], _UNFORESEEN)
            self._reads, self._waiting = {}, {}

    async def _read_all(self, users: list[str]) -> None:
        try:
            answers = await self._reader.read(users)
        except ServiceError as error:
            _fail(self._reads.values(), error)
            return
        for (user, read), answer in zip(self._reads.items(), answers, strict=True):
            state = state_of(answer, self._reading)
            # in this very turn of the loop: a change that is heard of later finds it
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
            # read here, too: nobody may be left to hear of it
            done.exception()
