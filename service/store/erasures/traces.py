"""Traces of deleted users: what names them though it is not about them. Synchronous.

The learner removes a user's own data in the commit of the deletion. What is removed here is looked
for, because nothing says where it is: that takes a pass over the documents of all users, which
many deletions share.
"""

from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import cast

import msgspec
import redis

from service.store.connection import store_errors
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.dead_letters import DeadLetters
from service.store.log.stream_bytes import drop_removed
from service.store.namespace import Namespace

NAMES_READ, DOCUMENTS_READ = 1_000, 100
"""Names and documents per read: bounds how long other clients of Redis wait."""


class _Link(msgspec.Struct):
    user: str


class _Linking(msgspec.Struct):
    links: list[_Link] = []


_decode = msgspec.json.Decoder(_Linking).decode


class Traces:
    """The traces of deleted users in a namespace."""

    def __init__(self, client: redis.Redis, namespace: Namespace) -> None:
        self._client = client
        self._keys = NamespaceKeys(namespace.name)
        self._partitions = [PartitionKeys(namespace.name, p) for p in range(namespace.partitions)]

    def linking(self, users: AbstractSet[str]) -> Iterator[str]:
        """Yield the users whose documents link to any of these."""
        for names in self._pages():
            keys = [self._keys.user_document(name) for name in names]
            with store_errors():
                documents = cast("list[bytes | None]", self._client.mget(keys))
            for name, packed in zip(names, documents, strict=True):
                # most documents have none, and looking is faster than parsing
                if packed and b'"links"' in packed and links_to(packed, users):
                    yield name

    def leave_streams(self, partition: int, through: int) -> None:
        """Remove from the change feed what came up to a deletion, and all bytes of removed entries.

        Whoever has not read the feed so far finds a gap, and forgets everybody.
        """
        keys = self._partitions[partition]
        drop_removed(self._client, keys.changes, before=through + 1)
        drop_removed(self._client, keys.impressions)

    def leave_dead_letters(self, partition: int, until: Mapping[str, int]) -> tuple[int, int]:
        """Remove their events from the dead letters.

        Return how many there were, and how many letters that cannot be read may name one of them.
        """
        return DeadLetters(self._client, self._partitions[partition]).leave_out(until)

    def _pages(self) -> Iterator[list[str]]:
        first = "-"
        while True:
            with store_errors():
                answer = self._client.zrangebylex(
                    self._keys.user_documents, first, "+", start=0, num=NAMES_READ
                )
            names = [name.decode() for name in cast("list[bytes]", answer)]
            for at in range(0, len(names), DOCUMENTS_READ):
                yield names[at : at + DOCUMENTS_READ]
            if len(names) < NAMES_READ:
                return
            first = f"({names[-1]}"


def links_to(packed: bytes, users: Collection[str]) -> bool:
    """Return whether a user's document links to any of these.

    >>> links_to(b'{"version":1,"links":[{"user":"ada"}]}', {"ada"})
    True
    """
    return any(link.user in users for link in _decode(packed).links)
