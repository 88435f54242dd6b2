"""Where a dataset is read from."""

from collections.abc import Iterator
from typing import Protocol

from service.store.catalogue.documents import Body
from service.store.profiles.history_reader import Histories


class HistorySource(Protocol):
    """All histories up to one moment: those in the store, or those of a file."""

    @property
    def watermarks(self) -> list[int]:
        """Return the sequence of the last event, by partition."""

    @property
    def n_items(self) -> int:
        """Return the number of items with a number."""

    def pages(self) -> Iterator[Histories]:
        """Yield all users in pages; each call yields the same."""

    def documents(self, users: list[str]) -> list[Body]:
        """Return the body of each user's document, empty if there is none."""

    def contexts(self, users: list[str]) -> list[bytes]:
        """Return where the events of each user happened, packed as in ``store.profiles``."""

    def item_documents(self) -> Iterator[list[Body]]:
        """Yield the bodies of the items' documents by item number, empty if there is none."""
