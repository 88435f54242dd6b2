"""The cache of users in an api process: preferences, vectors, heads of orders, finished answers.

The cache learns of a change before requests that wait for it with ``min_sequence`` go on, so an
answer always takes into account the events that its request waited for.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Sequence

from core.meaning import EventMeanings
from core.online.layout import RowLayout
from service.ranking.asker import Computed
from service.ranking.pool import Head
from service.ranking.strategies import Strategy
from service.serving.standing import KeptAnswer
from service.serving.user_reads import HistoryLane
from service.serving.user_state import UserState
from service.store.connection import AsyncClient
from service.store.namespace import Namespace
from service.store.partitions import partition_of
from service.store.profiles.user_histories import UserHistories

VECTORS = 4
"""Largest number of cached vectors of a user: one for each active model."""
ANSWERS = 4
"""Largest number of finished answers of a user: of queries that differ."""
VECTOR_BYTES = 4_096
"""Largest cached vector. The vector of some rankers is the score of every item: a few of these for
each user would leave no room for the users, and the heads of the orders are cached anyway."""


class Users:
    """The users of all partitions; a ``changes.Listener``."""

    def __init__(
        self,
        client: AsyncClient,
        namespace: Namespace,
        meanings: EventMeanings,
        layout: RowLayout,
        most_bytes: int,
    ) -> None:
        self._partitions = namespace.partitions
        self._most_bytes = most_bytes
        self._bytes = 0
        self._entries: OrderedDict[str, UserState] = OrderedDict()
        self._lanes = [
            HistoryLane(
                UserHistories(client, namespace.name, partition, layout), meanings, self._keep
            )
            for partition in range(namespace.partitions)
        ]

    async def get(self, user: str) -> UserState:
        """Return a user as of the last change that this process has heard of, or newer."""
        state = self.held(user)
        return state or await self._lanes[partition_of(user, self._partitions)].read(user)

    def held(self, user: str) -> UserState | None:
        """Return a cached user, None if there is none."""
        state = self._entries.get(user)
        if state is not None:
            self._entries.move_to_end(user)
        return state

    def partition(self, user: str) -> int:
        """Return the partition of a user."""
        return partition_of(user, self._partitions)

    async def as_of(self, user: str, sequence: int) -> UserState:
        """Return a user without the events after ``sequence``; later deletions still hold."""
        state = await self.get(user)
        if state.newest <= sequence:
            return state
        lane = self._lanes[partition_of(user, self._partitions)]
        return await lane.read_through(user, sequence)

    async def sample(self, n: int) -> AsyncIterator[tuple[str, UserState]]:
        """Yield up to n users drawn at random from all partitions; this caches none of them."""
        for lane in self._lanes:
            async for user, state in lane.sample(n // self._partitions):
                yield user, state

    @property
    def keeps(self) -> bool:
        """Whether the cache is on."""
        return self._most_bytes > 0

    def holds(self, user: str, state: UserState) -> bool:
        """Whether ``state`` is still the cached state of the user: no change was heard of since."""
        return self._entries.get(user) is state

    def remember(self, user: str, state: UserState, made: Sequence[Computed]) -> None:
        """Keep the results of rankers for a user until the history changes."""
        before = state.nbytes
        vectors = {
            result.vector_of: result.vector
            for result in made
            if result.vector is not None and result.vector.nbytes <= VECTOR_BYTES
        }
        if len(state.vectors) + len(vectors) > VECTORS:
            state.vectors.clear()
        state.vectors.update(vectors)
        for result in made:
            if result.head is not None:
                state.keep_head(result.strategy, result.head)
        self._weigh(user, state, before)

    def keep_answer(self, user: str, state: UserState, query: bytes, answer: KeptAnswer) -> None:
        """Keep a finished answer that was made from this state of the user."""
        before = state.nbytes
        if len(state.answers) >= ANSWERS and query not in state.answers:
            state.answers.clear()
        state.answers[query] = answer
        self._weigh(user, state, before)

    def keep_warmed(self, user: str, state: UserState, strategy: Strategy, head: Head) -> None:
        """Keep the head of the order of a model that is about to go live."""
        before = state.nbytes
        state.warmed[strategy] = head
        self._weigh(user, state, before)

    def lately(self) -> list[tuple[str, UserState]]:
        """Return the cached users, the most recently active first."""
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
