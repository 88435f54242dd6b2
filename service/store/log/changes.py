"""Follows the change feeds: watermarks, changed users and items, and answers that requests await.

There is one blocking read per partition and api process. Reading the feed changes nothing.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Iterable
from typing import Any, Protocol, cast

import numpy as np
import redis.asyncio

from service.errors import StoreRolledBack, StoreUnavailable
from service.store.connection import store_errors
from service.store.identity.known import Known
from service.store.identity.survey import Survey
from service.store.keys import PartitionKeys
from service.store.log.change import Change
from service.store.log.codec import DUPLICATE, NOT_A_RATING
from service.telemetry import logger

BLOCK_MS = 2_000
COMMITS_READ = 64
"""Commits per read; each may name a thousand users."""
WAITED = "the store went back while this waited: send it again"
KEPT_ANSWERS = 20_000
"""Most predictions that a process keeps for waiting requests."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 1.0

Prediction = tuple[float, float, float]
"""(rating, low, high)."""
NOT_KNOWN: Prediction = (0.0, 0.0, 0.0)


class Listener(Protocol):
    """Is told of each change before ``ChangeFollower.watermark`` includes it."""

    def changed(self, partition: int, users: Iterable[str]) -> None:
        """The histories or rows of these users have changed."""

    def lost(self, partition: int) -> None:
        """Anything may have changed: a very large commit, a gap in the feed, or a new epoch."""


class ChangeFollower:
    """Follows the feeds of all partitions while it is open."""

    def __init__(
        self,
        client: redis.asyncio.Redis,
        namespace: str,
        partitions: int,
        *,
        known: Known | None = None,
    ) -> None:
        """``known`` is told how far the partitions are."""
        known = known or Known(partitions)
        self._feeds = [_Feed(client, namespace, p, known) for p in range(partitions)]
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    def start(self, *listeners: Listener) -> None:
        """Begin to follow the feeds and to notify ``listeners``."""
        for feed in self._feeds:
            feed.listeners = listeners
            self._follow(feed)

    def _follow(self, feed: "_Feed") -> None:
        if not self._closing:
            task = asyncio.create_task(feed.follow())
            self._tasks.add(task)
            task.add_done_callback(lambda ended: self._ended(feed, ended))

    def _ended(self, feed: "_Feed", task: asyncio.Task[None]) -> None:
        """Log the error and follow again: without its feed, requests would wait in vain."""
        self._tasks.discard(task)
        if not task.cancelled():
            logger().error("change_feed_failed", exc_info=task.exception())
            asyncio.get_running_loop().call_later(LONGEST_PAUSE_S, self._follow, feed)

    async def close(self) -> None:
        """Stop following."""
        self._closing = True
        pending = set(self._tasks)
        while pending:
            for task in pending:
                task.cancel()
            # repeated, because redis-py loses a cancellation that comes while it takes a connection
            _, pending = await asyncio.wait(pending, timeout=0.1)

    def forget(self, now: Survey, *, went_back: bool) -> None:
        """Begin anew at what is learned now; requests that wait for lost events are refused."""
        for feed, learned in zip(self._feeds, now.learned, strict=True):
            feed.begin_anew(learned, went_back=went_back)

    def hold(self, now: Survey) -> None:
        """Begin anew, too: what users did in the store that is gone must not be told as learned."""
        self.forget(now, went_back=True)

    def watermark(self, partition: int) -> int:
        """Return the sequence up to which the partition is known to have learned."""
        return self._feeds[partition].watermark

    async def reached(self, partition: int, sequence: int) -> None:
        """Wait until the partition has learned up to ``sequence``."""
        await self._feeds[partition].reached(sequence)

    def answers(self, partition: int, sequences: Iterable[int]) -> list[Prediction | None]:
        """Return the predictions made for awaited events before they were learned."""
        found = self._feeds[partition].answers
        return [found.get(sequence) for sequence in sequences]

    def repeats(self, partition: int, sequences: Iterable[int]) -> list[bool]:
        """Return which of the awaited events had been learned before, by their ids."""
        found = self._feeds[partition].answers
        return [found.get(sequence, NOT_KNOWN) is None for sequence in sequences]


class _Feed:
    def __init__(
        self, client: redis.asyncio.Redis, namespace: str, partition: int, known: Known
    ) -> None:
        self._client, self._known = client, known
        self._partition = partition
        self._keys = PartitionKeys(namespace, partition)
        self.listeners: tuple[Listener, ...] = ()
        self._epoch = -1
        self.watermark = 0
        self._read_through: str | None = None
        """Id of the last entry that was read; None before the start.

        The watermark is not enough: a rebuild adds an entry for one that the feed has already.
        """
        self.answers: OrderedDict[int, Prediction | None] = OrderedDict()
        """By sequence; None for a repeat."""
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._begun = 0
        """How often the feed was begun anew."""

    async def reached(self, sequence: int) -> None:
        if self.watermark >= sequence:
            return
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((sequence, done))
        await done

    async def follow(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            try:
                begun = self._begun
                # read the state, too: a lost or trimmed feed must not hide the progress
                learned = await self._learned()
                if begun != self._begun:
                    continue
                if learned < self.watermark:
                    self.begin_anew(learned, went_back=True)
                    begun = self._begun
                if self._read_through is None:
                    # what was kept since the feed began anew may miss events up to here
                    self._lost()
                    self._read_through = f"{learned}-0"
                # first read the entries up to it: waiting requests need their predictions
                while await self._read(block_ms=None):
                    pass
                if begun != self._begun:
                    continue
                if learned > _sequence(self._read_through):
                    self._lost()
                    self._read_through = f"{learned}-0"
                self._advance(learned)
                while await self._read(block_ms=BLOCK_MS):
                    pause = FIRST_PAUSE_S
            except StoreUnavailable:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)

    def begin_anew(self, learned: int, *, went_back: bool) -> None:
        """Follow from ``learned`` on; whatever was cached may have changed."""
        self.watermark, self._read_through, self._epoch = learned, None, -1
        self._begun += 1
        self.answers.clear()
        self._lost()
        waiting, self._waiting = self._waiting, []
        for sequence, done in waiting:
            if not went_back:
                self._waiting.append((sequence, done))
            elif not done.done():
                done.set_exception(StoreRolledBack(WAITED))
                # also mark it as retrieved: the waiting request may be gone
                done.exception()

    async def _learned(self) -> int:
        with store_errors():
            answer = await cast(
                "Awaitable[bytes | None]", self._client.hget(self._keys.state, "watermark")
            )
        return int(answer or 0)

    async def _read(self, *, block_ms: int | None) -> bool:
        after: dict[Any, Any] = {self._keys.changes: self._read_through}
        begun = self._begun
        with store_errors():
            answer: Any = await self._client.xread(after, count=COMMITS_READ, block=block_ms)
        if begun != self._begun:
            # read after a position in a store that is no more
            return False
        for name, fields in answer[0][1] if answer else ():
            change = Change.unpack(fields)
            self._keep(change.answers)
            self._tell(change)
            self._read_through = name.decode()
            self._advance(_sequence(self._read_through))
        return bool(answer)

    def _tell(self, change: Change) -> None:
        gap = change.follows != _sequence(self._read_through)
        # items without users: an item was deleted, and the users who have it are not named
        unnamed = change.is_all or (not change.users and change.items.size > 0)
        if gap or unnamed or change.epoch != self._epoch:
            self._epoch = change.epoch
            self._lost()
        elif change.users:
            for listener in self.listeners:
                listener.changed(self._partition, change.users)

    def _lost(self) -> None:
        for listener in self.listeners:
            listener.lost(self._partition)

    def _keep(self, records: np.ndarray[Any, Any]) -> None:
        for sequence, rating, low, high, status in records.tolist():
            if status != NOT_A_RATING:
                self.answers[sequence] = None if status == DUPLICATE else (rating, low, high)
        while len(self.answers) > KEPT_ANSWERS:
            self.answers.popitem(last=False)

    def _advance(self, watermark: int) -> None:
        self.watermark = max(self.watermark, watermark)
        self._known.note_sequence(self._partition, self.watermark)
        still = []
        for sequence, done in self._waiting:
            if sequence > self.watermark:
                still.append((sequence, done))
            elif not done.done():
                done.set_result(None)
        self._waiting = [entry for entry in still if not entry[1].done()]


def _sequence(entry: str | None) -> int:
    """Return the sequence in the id of an entry."""
    return int((entry or "0").partition("-")[0])
