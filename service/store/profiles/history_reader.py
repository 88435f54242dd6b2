"""Reads all histories of a namespace for the trainer, some users at a time.

The reader fixes the watermarks when it is made: later events are left out, and so are records of
deleted items.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import redis
from numpy.typing import NDArray

from core.types import I64
from service.store.catalogue.documents import Body
from service.store.catalogue.reader import CatalogueReader
from service.store.keys import PartitionKeys
from service.store.log.state import read_deleted_items, read_state
from service.store.namespace import Namespace
from service.store.partitions import partition_of
from service.store.profiles.generation import users_of
from service.store.profiles.histories import is_live
from service.store.profiles.history_record import sequences
from service.store.profiles.history_store import HistoryStore

USERS_AT_ONCE, ITEMS_AT_ONCE = 100, 500
"""Users and items per read: bounds how long other clients of Redis wait."""


@dataclass(frozen=True)
class Histories:
    """Some users with n records and m trimmed items."""

    users: list[str]
    user_ix: I64
    """(n,): index in ``users`` of the record's user."""
    records: NDArray[Any]
    """(n,) of history_record.HISTORY; the records of a user are in order."""
    trimmed_user_ix: I64
    """(m,): index in ``users`` of the trimmed item's user."""
    trimmed: I64
    """(m,): items that count as seen, though no record names them any longer."""


class HistoryReader:
    """Reads the histories up to the watermarks at the time when it was made."""

    def __init__(
        self,
        client: redis.Redis,
        namespace: Namespace,
        *,
        users_at_once: int = USERS_AT_ONCE,
        items_at_once: int = ITEMS_AT_ONCE,
    ) -> None:
        self._client = client
        self._users_at_once, self._items_at_once = users_at_once, items_at_once
        self._catalogue = CatalogueReader(client, namespace.name)
        self._partitions = [PartitionKeys(namespace.name, p) for p in range(namespace.partitions)]
        self.watermarks = [read_state(client, keys).watermark for keys in self._partitions]
        """Watermark of each partition."""
        self.n_items = self._catalogue.state().n_items
        """Number of items with a number."""

    def pages(self) -> Iterator[Histories]:
        """Yield all users in pages; each call reads again, up to the same watermarks."""
        for keys, watermark in zip(self._partitions, self.watermarks, strict=True):
            deleted = read_deleted_items(self._client, keys)
            for users in users_of(self._client, keys):
                for first in range(0, len(users), self._users_at_once):
                    some = users[first : first + self._users_at_once]
                    yield self._page(keys, watermark, deleted, some)

    def documents(self, users: list[str]) -> list[Body]:
        """Return the body of each user's document, empty if there is none."""
        return self._catalogue.users(users)

    def contexts(self, users: list[str]) -> list[bytes]:
        """Return where the events of each user happened, packed as in ``contexts``."""
        found = dict.fromkeys(users, b"")
        for partition, keys in enumerate(self._partitions):
            own = [user for user in users if partition_of(user, len(self._partitions)) == partition]
            found |= zip(own, HistoryStore(self._client, keys).contexts(own), strict=True)
        return [*found.values()]

    def item_documents(self) -> Iterator[list[Body]]:
        """Yield the bodies of the items' documents by item number; an absent document is empty."""
        for first in range(0, self.n_items, self._items_at_once):
            last = min(first + self._items_at_once, self.n_items)
            yield self._catalogue.items(range(first, last))

    def _page(
        self, keys: PartitionKeys, watermark: int, deleted: dict[int, int], users: list[str]
    ) -> Histories:
        histories, trimmed = HistoryStore(self._client, keys).of_users(users)
        user_ix = np.repeat(np.arange(len(users)), [len(history) for history in histories])
        records = np.concatenate(histories)
        counts = is_live(records, deleted) & (sequences(records) <= watermark)
        return Histories(
            users=users,
            user_ix=user_ix[counts],
            records=records[counts],
            trimmed_user_ix=np.repeat(np.arange(len(users)), [len(items) for items in trimmed]),
            trimmed=np.concatenate(trimmed).astype(np.int64),
        )
