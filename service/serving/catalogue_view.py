"""The items as this process sees them: who may be shown, filters, categories.

The view follows the changes of the catalogue: a change is visible within milliseconds, at most
``PAUSE_S`` later when many come. The visible items are one frozen ``Catalogued``, swapped by one
assignment; it shares unchanged blocks with the one before. Columns are kept for the features that
filters have named. The first filter that names another feature reads all documents again, while
changes are still followed.
"""

import asyncio
from collections.abc import Iterable

from core.filter import CATEGORY
from service.errors import NotReady, StoreUnavailable
from service.serving.catalogue_columns import BLOCK, EMPTY, Block, Catalogued, read
from service.store.catalogue.feed import SLICE, CatalogueFeed, StoredItem
from service.telemetry import logger

PAUSE_S = 0.05
"""Between two changes of what is visible: bounds what following costs."""
BLOCK_MS = 2_000
"""How long one read waits for a change."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 1.0
PATIENCE_S = 5.0
"""How long a filter waits for the columns of features that it is the first to name."""


class CatalogueView:
    """Follows the items while it is open; ``current`` is all of them at one moment."""

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
        """Whether the items have been read; before, nothing is known to be hidden."""
        self._said: set[str] = set()
        """Every feature that any document has had; a filter may still name one that is gone."""
        self._wanted: set[str] = {CATEGORY}
        self._lost = True
        """Whether all documents must be read anew."""
        self._following: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to follow."""
        self._following = asyncio.create_task(self._follow())

    async def close(self) -> None:
        """Stop following."""
        pending = {task for task in (self._following, self._reading) if task is not None}
        while pending:
            for task in pending:
                task.cancel()
            # again and again: redis-py loses a cancellation that comes while it takes a connection
            _, pending = await asyncio.wait(pending, timeout=0.1)

    async def covering(self, text: str) -> Catalogued:
        """Return the items with columns for a filter; InvalidFilter if it cannot be parsed.

        NotReady when reading them takes long: it goes on, a later try finds them.
        """
        # a feature that no document has needs no column
        needed = read(text).names & self._said
        if needed <= self.current.names:
            return self.current
        self._wanted |= needed
        try:
            async with asyncio.timeout(self._patience_s):
                while not needed <= self.current.names:
                    await self._read_anew()
        except TimeoutError:
            raise NotReady("the features that the filter names are being read: try again") from None
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
            except Exception:  # noqa: BLE001 - never end in silence: hidden items would be shown for ever
                logger().error("catalogue_view_failed", exc_info=True)
                await asyncio.sleep(LONGEST_PAUSE_S)

    async def _step(self) -> None:
        if self._lost:
            await self._read_anew()
        before = self.current
        after = await self._advanced(before, block_ms=self._block_ms)
        if after is None:
            self._lost = True
        elif after is not before and self.current is before:
            self.current = after
            await asyncio.sleep(self._pause_s)

    async def _advanced(self, before: Catalogued, *, block_ms: int | None) -> Catalogued | None:
        """Return ``before`` with later changes, itself if there are none; None if they are lost."""
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
        """Read all documents, or wait for who does so already."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._replace())
        # who waits may leave; the reading goes on for the others
        await asyncio.shield(self._reading)

    async def _replace(self) -> None:
        copy: Catalogued | None = None
        while copy is None:
            copy = await self._all(frozenset(self._wanted))
            # the one that is replaced was followed meanwhile: never go back behind it
            while copy is not None and not self._lost and copy.version < self.current.version:
                copy = await self._advanced(copy, block_ms=None)
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
            self._said.update(document.features)
        return documents
