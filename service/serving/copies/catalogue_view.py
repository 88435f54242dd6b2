"""The catalogue as this process sees it: which items may be shown, filters, categories.

The view follows the changes of the catalogue: a change is visible within milliseconds, or after
``PAUSE_S`` when there are many. The visible items are one frozen ``Catalogued``, replaced by one
assignment; it shares unchanged blocks with the previous one. There are columns for the features
that filters have named. The first filter that names another feature reads all documents again;
meanwhile the view continues to follow changes.
"""

import asyncio
from collections.abc import Iterable

from core.filter import CATEGORY
from service.errors import NotReady, StoreUnavailable
from service.store.catalogue.blocks import BLOCK, EMPTY, TIMES, Block
from service.store.catalogue.columns import Catalogued, read
from service.store.catalogue.feed import SLICE, CatalogueFeed, StoredItem
from service.store.identity.survey import Survey
from service.telemetry import logger

PAUSE_S = 0.05
"""Seconds between two updates of the view: limits the cost of following."""
BLOCK_MS = 2_000
"""Longest time that one read waits for a change, in milliseconds."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 1.0
"""Shortest and longest pause between two tries while the store does not answer, in seconds."""
PATIENCE_S = 5.0
"""Longest time that a filter waits for columns of features that it is the first to name."""


class CatalogueView:
    """Follows the catalogue while it is open; ``current`` holds all items at one moment."""

    def __init__(
        self,
        feed: CatalogueFeed,
        *,
        pause_s: float = PAUSE_S,
        block_ms: int = BLOCK_MS,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._feed = feed
        self._pause_s, self._block_ms, self._patience_s = pause_s, block_ms, patience_s
        self.current = Catalogued()
        self.ready = False
        """Whether the items have been read; until then hidden items are not known as hidden."""
        self._seen_features: set[str] = set(TIMES)
        """All features that any document has had; a filter may name one that is gone by now."""
        self._wanted: set[str] = {CATEGORY}
        """The features that get columns when all documents are read again."""
        self._lost = True
        """Whether all documents must be read again, because changes were missed."""
        self._held = False
        self._forgotten = 0
        """How often the items were forgotten: what was read before is worth nothing."""
        self._following: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def features(self) -> set[str]:
        """The names of all features that any document has had since the process started."""
        return self._seen_features

    def start(self) -> None:
        """Begin to follow."""
        self._following = asyncio.create_task(self._follow())

    def forget(self, now: Survey, *, went_back: bool) -> None:
        """Read all items again, at once: the store is another, or has lost changes."""
        self._lost, self._held = True, False
        self._forgotten += 1
        # ``_follow`` may be waiting for the next change, and lists name items that are lost
        self._begin_reading().add_done_callback(_heard)

    def hold(self, now: Survey) -> None:
        """Keep the items as they are while the store cannot be trusted."""
        self._held = True
        self._forgotten += 1

    async def close(self) -> None:
        """Stop following."""
        pending = {task for task in (self._following, self._reading) if task is not None}
        while pending:
            for task in pending:
                task.cancel()
            # repeatedly: redis-py loses a cancellation that arrives while it takes a connection
            _, pending = await asyncio.wait(pending, timeout=0.1)

    async def covering(self, text: str) -> Catalogued:
        """Return the items with columns for a filter; raise InvalidFilter if it cannot be parsed.

        Raises NotReady as ``with_columns`` does.
        """
        return await self.with_columns(read(text).names)

    async def with_columns(self, names: Iterable[str]) -> Catalogued:
        """Return the items with columns for some features.

        Raises NotReady if reading the columns takes too long; the reading continues, so that a
        later request finds them.
        """
        # a feature that no document has needs no column
        needed = self._seen_features.intersection(names)
        if needed <= self.current.names:
            return self.current
        self._wanted |= needed
        try:
            async with asyncio.timeout(self._patience_s):
                while not needed <= self.current.names:
                    await self._read_anew()
        except TimeoutError:
            raise NotReady(
                "the features that are asked for are being read for the first time: try again"
            ) from None
        return self.current

    # --- following --------------------------------------------------------------------------------

    async def _follow(self) -> None:
        pause = FIRST_PAUSE_S
        while True:
            try:
                while True:
                    await self._step()
                    pause = FIRST_PAUSE_S
            except StoreUnavailable:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
            except Exception:  # noqa: BLE001 - if the task ended, hidden items would stay visible
                logger().error("catalogue_view_failed", exc_info=True)
                await asyncio.sleep(LONGEST_PAUSE_S)

    async def _step(self) -> None:
        if self._held:
            await asyncio.sleep(LONGEST_PAUSE_S)
            return
        forgotten = self._forgotten
        if self._lost:
            await self._read_anew()
        before = self.current
        after = await self._advanced(before, block_ms=self._block_ms)
        if forgotten != self._forgotten:
            # the store has changed while this was read
            return
        if after is None:
            self._lost = True
        elif after is not before and self.current is before:
            self.current = after
            await asyncio.sleep(self._pause_s)

    async def _advanced(self, before: Catalogued, *, block_ms: int | None) -> Catalogued | None:
        """Return the items after all later changes: ``before`` itself if there are none.

        None if the feed no longer has some of these changes.
        """
        changed = await self._feed.changed(before.version, block_ms=block_ms)
        if changed.numbers is None:
            return None
        items: dict[int, StoredItem] = {}
        for first in range(0, len(changed.numbers), SLICE):
            some = changed.numbers[first : first + SLICE]
            items.update(zip(some, await self._documents(some), strict=True))
        return before.replaced(changed.version, items) if items else before

    # --- reading all of them ----------------------------------------------------------------------

    async def _read_anew(self) -> None:
        """Read all documents, or wait for the task that is already reading them."""
        # a caller may be cancelled; the reading continues for the others
        await asyncio.shield(self._begin_reading())

    def _begin_reading(self) -> asyncio.Task[None]:
        """Return the task that reads all documents, which may have begun earlier."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._replace())
        return self._reading

    async def _replace(self) -> None:
        copy: Catalogued | None = None
        while copy is None:
            forgotten = self._forgotten
            copy = await self._all(frozenset(self._wanted))
            # the current items were updated meanwhile: the copy must catch up, never go back
            while copy is not None and not self._lost and copy.version < self.current.version:
                copy = await self._advanced(copy, block_ms=None)
            if forgotten != self._forgotten:
                copy = None
        self.current, self._lost, self.ready = copy, False, True

    async def _all(self, names: frozenset[str]) -> Catalogued:
        version = await self._feed.version()
        count = await self._feed.count()
        blocks = [
            await self._block(range(at, min(at + BLOCK, count)), names)
            for at in range(0, count, BLOCK)
        ]
        return Catalogued(version, tuple(blocks), names)

    async def _block(self, numbers: range, names: frozenset[str]) -> Block:
        items: dict[int, StoredItem] = {}
        for first in range(0, len(numbers), SLICE):
            documents = await self._documents(numbers[first : first + SLICE])
            items.update(enumerate(documents, first))
        return EMPTY.replaced(items, names)

    async def _documents(self, numbers: Iterable[int]) -> list[StoredItem]:
        documents = await self._feed.documents(numbers)
        for document in documents:
            self._seen_features.update(document.features)
        return documents


def _heard(task: asyncio.Task[None]) -> None:
    """Take note of how a task ended that nobody awaits: ``_follow`` will try again."""
    if not task.cancelled():
        task.exception()
