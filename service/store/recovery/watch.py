"""Watches over the store of an api process: is it the one that is known, and as far as it was?

A poll finds out within a second; a write that a script refuses asks at once. After a restart that
lost nothing the process drops what it keeps and goes on. After a rollback that leaves a state that
fits together it begins a new era. Otherwise every write is refused until the store is repaired.
"""

import asyncio
from typing import Protocol

from service.errors import StoreRolledBack, StoreUnavailable
from service.store.connection import AsyncClient, Client
from service.store.identity.identity import Identity
from service.store.identity.known import Known, Positions
from service.store.identity.memory import Memory
from service.store.identity.survey import Survey, survey_async
from service.store.namespace import Namespace
from service.store.recovery.healing import Rollback, read_rollbacks
from service.store.recovery.settling import Condition, condition_of, settle
from service.telemetry import logger

PERIOD_S = 1.0
"""Seconds between two looks at the store."""
REMEMBER_S = 5.0
"""Seconds between two notes in the data directory."""

REPAIR = (
    "stop what writes to it, put the right store or its backup in place, or accept what is there "
    "with `hedgerow doctor --repair`"
)


class Keeper(Protocol):
    """Keeps a copy of something in the store."""

    def forget(self, now: Survey, *, went_back: bool) -> None:
        """Drop the copy; ``went_back``: the store has lost something, else it only restarted."""

    def hold(self, now: Survey) -> None:
        """Stop following until ``forget``: the store cannot be trusted."""


class StoreWatch:
    """Looks at the store while it is open."""

    def __init__(
        self,
        client: AsyncClient,
        blocking: Client,
        namespace: Namespace,
        known: Known,
        memory: Memory,
    ) -> None:
        """``client`` surveys, ``blocking`` heals from a thread; ``memory`` outlives the process."""
        self._client, self._blocking, self._known = client, blocking, known
        self._name, self._partitions = namespace.name, namespace.partitions
        self._memory, self._remember_at = memory, 0.0
        before = memory.of(self._name)
        self._first = Identity.parse(before.identity or namespace.identity)
        self._before = before.positions if before.identity else known.positions
        known.had_keys = before.had_keys
        self._has_noted_keys = before.had_keys
        self._keepers: tuple[Keeper, ...] = ()
        self._looking: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self.lost: StoreRolledBack | None = None
        """Why nothing may be written now; None while the store is the one that is known."""

    async def start(self, *keepers: Keeper) -> None:
        """Take the first look and begin to watch."""
        self._keepers = keepers
        await self.examine()
        self._task = asyncio.create_task(self._watch())

    def tell(self, keeper: Keeper) -> None:
        """Tell one more keeper from now on."""
        self._keepers += (keeper,)

    async def close(self) -> None:
        """Stop watching."""
        pending = {task for task in (self._task, self._looking) if task is not None}
        while pending:
            for task in pending:
                task.cancel()
            # repeatedly: redis-py loses a cancellation that arrives while it takes a connection
            _, pending = await asyncio.wait(pending, timeout=0.1)
        if self.lost is None:
            await asyncio.to_thread(self._remember)

    def rollbacks(self) -> list[Rollback]:
        """Return what the store was found to have lost, the newest first; for threads."""
        return read_rollbacks(self._blocking, self._name)

    async def examine(self) -> None:
        """Look now; StoreRolledBack if nothing may be written."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        # a caller may be cancelled; the look goes on for the others
        await asyncio.shield(self._looking)
        if self.lost is not None:
            raise StoreRolledBack(self.lost.detail)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(PERIOD_S)
            try:
                await self.examine()
            except (StoreRolledBack, StoreUnavailable):
                pass
            except Exception:  # noqa: BLE001 - without it, a rollback would stay unnoticed
                logger().error("store_watch_failed", exc_info=True)

    async def _look(self) -> None:
        # what is known now must be in the survey; what is learned later need not be
        known = self._known.identity or self._first
        before = self._known.positions if self._known.identity else self._before
        found = await survey_async(self._client, self._name, self._partitions)
        try:
            if condition_of(found, known, before) is not Condition.SOUND:
                found = await asyncio.to_thread(settle, self._blocking, self._name, known, before)
        except StoreRolledBack as error:
            self._refuse(error, found)
        else:
            self._accept(found, went_back=found.identity != known)
            await self._remember_now_and_then()

    async def _remember_now_and_then(self) -> None:
        """Note in the data directory how far the store is, and at once that there are keys."""
        loop, has_news = asyncio.get_running_loop(), self._known.had_keys > self._has_noted_keys
        if has_news or loop.time() >= self._remember_at:
            self._remember_at = loop.time() + REMEMBER_S
            await asyncio.to_thread(self._remember)

    def _remember(self) -> None:
        if self._known.identity is None:
            return
        try:
            self._memory.remember(self._name, self._known.identity, self._known.positions)
            if self._known.had_keys:
                self._memory.remember_keys(self._name)
                self._has_noted_keys = True
        except OSError as error:
            # only a loss of the store while nothing runs would stay unnoticed
            logger().warning("store_not_remembered", reason=str(error))

    def _accept(self, found: Survey, *, went_back: bool) -> None:
        """Trust the store as it was found."""
        if found.identity is None:
            return
        held, self.lost = self.lost is not None, None
        if found.identity == self._known.identity and found.run == self._known.run and not held:
            self._note(found.positions)
            return
        is_first = self._known.identity is None
        self._known.adopt(found.identity, found.run, found.positions)
        self._remember_at = 0.0
        if is_first:
            return
        logger().warning("store_changed", went_back=went_back, now=str(found.positions))
        for keeper in self._keepers:
            keeper.forget(found, went_back=went_back)

    def _note(self, positions: Positions) -> None:
        self._known.note_items(positions.items)
        for partition, sequence in enumerate(positions.sequences):
            self._known.note_sequence(partition, sequence)

    def _refuse(self, error: StoreRolledBack, found: Survey) -> None:
        """Refuse writes; keep the catalogue and the models, which nothing else can replace now."""
        says = f"{error.detail}. Known were {self._known.positions}; {REPAIR}"
        if self.lost is None:
            logger().error("store_refused", detail=says)
            self._known.distrust()
            for keeper in self._keepers:
                keeper.hold(found)
        self.lost = StoreRolledBack(says)
