"""Reads the catalogue for threads: how far it is, and the documents. Nothing here writes.

The api process reads documents without threads, see ``documents`` and ``feed``.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

from service.store.catalogue.documents import Body, unpacked
from service.store.catalogue.feed import (
    CHANGES_READ,
    Changed,
    StoredItem,
    changed_by,
    stored_item,
    version_of,
)
from service.store.connection import Client, store_errors
from service.store.keys import NamespaceKeys

SLICE = 500
"""Number of documents in one read: bounds how long other clients of Redis wait."""


class CatalogueState(NamedTuple):
    """A moment of the catalogue; as long as it stays the same, so do all documents of items."""

    n_items: int
    """Number of items with a number."""
    version: int
    """Number of the newest change of a document, 0 before the first."""
    identity: str = ""
    """Which store and era: after a rollback the same numbers mean others."""


class CatalogueReader:
    """The documents of a namespace."""

    def __init__(self, client: Client, namespace: str, *, at_once: int = SLICE) -> None:
        self._client, self._keys, self._at_once = client, NamespaceKeys(namespace), at_once

    def state(self) -> CatalogueState:
        """Return how far the catalogue is; documents that are read later are as new or newer."""
        with store_errors():
            pipe = self._client.pipeline(transaction=False)
            pipe.llen(self._keys.item_ids)
            pipe.xrevrange(self._keys.catalogue_changes, count=1)
            pipe.hget(self._keys.settings, "identity")
            n_items, newest, identity = pipe.execute()
        return CatalogueState(n_items, version_of(newest), (identity or b"").decode())

    def items(self, numbers: Iterable[int]) -> list[Body]:
        """Return the body of each item's document; empty if there is none or it was deleted."""
        return self._bodies([self._keys.item_document(number) for number in numbers])

    def stored(self, numbers: Iterable[int]) -> list[StoredItem]:
        """Return what slates use of each item's document."""
        packed = self._packed([self._keys.item_document(number) for number in numbers])
        return [stored_item(one) for one in packed]

    def changed(self, after: int) -> Changed:
        """Return the changes after version ``after``, or the first of very many."""
        since: dict[Any, Any] = {self._keys.catalogue_changes: f"{after}-0"}
        with store_errors():
            answer: Any = self._client.xread(since, count=CHANGES_READ)
        if answer:
            return changed_by(answer[0][1], after)
        # no entries: nothing changed, or the stream was lost
        return Changed(after, () if self.state().version >= after else None)

    def users(self, users: Iterable[str]) -> list[Body]:
        """Return the body of each user's document; empty if there is none."""
        return self._bodies([self._keys.user_document(user) for user in users])

    def _bodies(self, keys: list[str]) -> list[Body]:
        return [unpacked(one).body or {} for one in self._packed(keys)]

    def _packed(self, keys: list[str]) -> list[bytes | None]:
        packed: list[bytes | None] = []
        for first in range(0, len(keys), self._at_once):
            with store_errors():
                some = self._client.mget(keys[first : first + self._at_once])
            packed += cast("list[bytes | None]", some)
        return packed
