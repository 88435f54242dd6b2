"""The pulse of the store in an api process: the same small question, many times a second.

It asks whether the API keys have changed, because a new or revoked key must act everywhere at once.
And whoever asks all the time knows when there is no answer: then the ``Gate`` shuts, and requests
that need the store are refused at once instead of waiting for it one after the other.
"""

import asyncio
import time
from contextlib import suppress

from service.errors import StoreRolledBack, StoreUnavailable
from service.store.api_keys import ApiKeys, KeyRing
from service.store.connection import away, said
from service.store.gate import Gate
from service.telemetry import Outage, logger

PERIOD_S = 0.05
"""Seconds between two questions."""
ALLOWANCE_S = 0.02
"""Seconds to read an answer that is there already, in a process that was held up itself."""
AGAIN_S = 0.02
"""Seconds before a question is asked again whose connection was lost."""


class Pulse:
    """Asks for the API keys while it is open, and shuts the gate while there is no answer."""

    def __init__(self, keys: ApiKeys, gate: Gate, patience_s: float) -> None:
        """``patience_s``: seconds without an answer after which the gate shuts."""
        self._keys, self._gate, self._patience_s = keys, gate, patience_s
        self.ring: KeyRing | None = None
        """The keys as of the latest answer; None if they are not known."""
        self.asked_at = self.answered_at = float("-inf")
        """When the question of the latest answer was asked, by the monotonic clock; the first is
        forgotten with the keys."""
        self._refused: StoreRolledBack | None = None
        self._says = ""
        self._waiting: list[tuple[float, asyncio.Future[None]]] = []
        self._hurry, self._outage = asyncio.Event(), Outage()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Ask for the first time, and begin to ask."""
        await self._ask_once()
        self._tasks = [asyncio.create_task(self._beat())]

    async def close(self) -> None:
        """Stop asking."""
        pending = {task for task in self._tasks if not task.done()}
        while pending:
            for task in pending:
                task.cancel()
            # repeatedly: redis-py loses a cancellation that arrives while it takes a connection
            _, pending = await asyncio.wait(pending, timeout=0.1)
        self._fail("the service is stopping: send it again")

    @property
    def away_s(self) -> float | None:
        """Seconds since the store last answered; None while it answers."""
        return time.monotonic() - self.answered_at if self._gate.is_shut else None

    async def since(self, moment: float, *, hurry: bool = True) -> None:
        """Wait for the answer to a question that was asked at ``moment`` or later; all share it.

        Without ``hurry`` that is the next one by the clock, however many wait for it.
        StoreUnavailable while there is no answer, StoreRolledBack if the keys are not known because
        the store is another.
        """
        if self.asked_at < moment:
            if self._gate.says is not None:
                raise StoreUnavailable(away(self._gate.says))
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((moment, done))
            if hurry:
                self._hurry.set()
            await done
        if self.ring is None and self._refused is not None:
            raise StoreRolledBack(self._refused.detail)

    def forget(self) -> None:
        """Drop the keys: the store is another, or of an earlier time."""
        self.ring, self.asked_at = None, float("-inf")
        self._keys.forget()

    async def _beat(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(PERIOD_S):
                    await self._hurry.wait()
            self._hurry.clear()
            answer = asyncio.create_task(self._until_answered())
            self._tasks = [*self._tasks[:1], answer]
            await asyncio.wait([answer], timeout=self._patience_s)
            if not answer.done():
                await asyncio.wait([answer], timeout=ALLOWANCE_S)
            while not answer.done():
                self._missed()
                # again and again: a command may have found the gate open and not be sent yet
                await asyncio.wait([answer], timeout=PERIOD_S)

    async def _until_answered(self) -> None:
        while True:
            try:
                await self._ask_once()
            except StoreUnavailable as error:
                # the connection may be lost and the store be there: only time tells
                self._says = said(error.__cause__ or error)
            except Exception:  # noqa: BLE001 - without a pulse, the gate would stay as it is
                logger().error("store_watch_failed", exc_info=True)
            else:
                return
            await asyncio.sleep(AGAIN_S)

    async def _ask_once(self) -> None:
        asked = time.monotonic()
        try:
            self.ring, self._refused = await self._keys.latest(), None
        except StoreRolledBack as error:
            # what was known of the right store holds: its keys, or that there were none
            self._refused = error
        self.asked_at = self.answered_at = asked
        self._says = ""
        self._gate.open()
        self._outage.over()
        still = [(moment, done) for moment, done in self._waiting if moment > asked]
        for moment, done in self._waiting:
            if moment <= asked and not done.done():
                done.set_result(None)
        self._waiting = [entry for entry in still if not entry[1].done()]
        if self._waiting:
            self._hurry.set()

    def _missed(self) -> None:
        """Refuse whatever needs the store until it answers."""
        says = self._says or "it takes connections, but does not reply"
        self._outage.lasts(away(says))
        self._gate.shut(says)
        self._fail(away(says))

    def _fail(self, says: str) -> None:
        waiting, self._waiting = self._waiting, []
        for _, done in waiting:
            if not done.done():
                done.set_exception(StoreUnavailable(says))
                # also mark it as retrieved: the waiting request may be gone
                done.exception()
