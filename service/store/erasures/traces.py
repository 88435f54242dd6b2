"""Traces of deleted users: what names them though it is not about them. Synchronous.

The learner removes a user's own data in the commit of the deletion. What is removed here is looked
for, because nothing says where it is: that takes a pass over the documents of all users, which
many deletions share.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple, cast

import msgspec
import redis

from service.store.connection import store_errors
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.dead_letters import DeadLetters
from service.store.log.stream_bytes import drop_removed
from service.store.namespace import Namespace

NAMES_READ, DOCUMENTS_READ = 1_000, 100
"""Names and documents per read: bounds how long other clients of Redis wait."""


NOBODY = b""
"""No user's id: says that users whose links are written are noted."""


class Linking(NamedTuple):
    """What a look at documents has found."""

    users: list[str]
    """Whose documents link to the users that are looked for."""
    unreadable: list[str]
    """Whose documents cannot be read, and have the id of such a user in them."""


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

    def begin(self) -> None:
        """Let the users be noted whose documents with links are written from now on.

        A pass over all documents has been beyond such a document. ``Erasures.note_erased`` ends it.
        """
        with store_errors():
            self._client.hset(self._keys.links_made, NOBODY, "")

    def linking(self, users: AbstractSet[str]) -> Linking:
        """Return the users whose documents link to any of these."""
        return self._linking(self._pages(), users)

    def linking_since(self, users: AbstractSet[str]) -> Linking:
        """Return those among whom were noted since ``begin``, or since this was last asked."""
        with store_errors():
            noted = cast("list[bytes]", self._client.hkeys(self._keys.links_made))
            names = [name.decode() for name in noted if name != NOBODY]
            # before they are read: whoever writes again is noted again
            for some in _batches(names):
                self._client.hdel(self._keys.links_made, *some)
        return self._linking(_batches(names), users)

    def _linking(self, pages: Iterable[list[str]], users: AbstractSet[str]) -> Linking:
        found = Linking([], [])
        ids = [msgspec.json.encode(user) for user in users]
        for names in pages:
            keys = [self._keys.user_document(name) for name in names]
            with store_errors():
                documents = cast("list[bytes | None]", self._client.mget(keys))
            for name, packed in zip(names, documents, strict=True):
                # most documents have none, and looking is faster than parsing
                if packed is None or b'"links"' not in packed:
                    continue
                try:
                    if links_to(packed, users):
                        found.users.append(name)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    if any(one in packed for one in ids):
                        found.unreadable.append(name)
        return found

    def leave_streams(self, partition: int, through: int) -> None:
        """Remove from the change feed what came up to a deletion, and all bytes of removed entries.

        Whoever has not read the feed so far finds a gap, and forgets everybody.
        """
        keys = self._partitions[partition]
        drop_removed(self._client, keys.changes, before=through + 1)
        drop_removed(self._client, keys.impressions)

    def learned(self) -> list[int]:
        """Return how far each partition has learned."""
        with store_errors():
            return [int(self._client.hget(one.state, "watermark") or 0) for one in self._partitions]

    def is_set_aside(self, partition: int, sequence: int) -> bool:
        """Return whether an event could not be learned, and is in a dead letter."""
        return DeadLetters(self._client, self._partitions[partition]).covers(sequence)

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
            yield from _batches(names)
            if len(names) < NAMES_READ:
                return
            first = f"({names[-1]}"


def _batches(names: list[str]) -> Iterator[list[str]]:
    return (names[at : at + DOCUMENTS_READ] for at in range(0, len(names), DOCUMENTS_READ))


def links_to(packed: bytes, users: Collection[str]) -> bool:
    """Return whether a user's document links to any of these.

    >>> links_to(b'{"version":1,"links":[{"user":"ada"}]}', {"ada"})
    True
    """
    return any(link.user in users for link in _decode(packed).links)
