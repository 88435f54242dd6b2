"""The ids of all items of a catalogue that is not too large, so that lists need no store."""

from service.serving.copies.polling import Polled
from service.store.catalogue.numbers import ItemNumbers
from service.store.identity.survey import Survey

MOST = 100_000
"""Items whose ids are read in advance, about 30 MB; those of others when a list names them."""
READ = 1_000


class ItemIds(Polled):
    """Keeps the cache of item numbers complete while it is open."""

    def __init__(self, numbers: ItemNumbers) -> None:
        super().__init__()
        self._numbers, self._read = numbers, 0

    async def refresh(self) -> None:
        """Read the ids of new items."""
        while self._read < MOST:
            ids = await self._numbers.page(self._read, READ)
            self._read += len(ids)
            if len(ids) < READ:
                return

    def forget(self, now: Survey, *, went_back: bool) -> None:
        super().forget(now, went_back=went_back)
        self._read = 0
