"""Reads the items' documents in bulk, and follows their changes. Nothing here writes.

The changes are numbered without gaps. A follower that finds a gap has missed trimmed changes and
reads all documents again.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from typing import Any

import msgspec
import redis.asyncio

from service.store.connection import store_errors
from service.store.keys import NamespaceKeys

SLICE = 512
"""Documents per read: bounds how long other clients of Redis and requests of this process wait."""
CHANGES_READ = 4_096

_READ = resources.files(__package__).joinpath("read_documents.lua").read_text()


class StoredItem(msgspec.Struct, gc=False):
    """The fields of an item's document that slates use; the defaults hold without a document."""

    deleted: bool = False
    hidden: bool = False
    available_from: datetime | None = None
    available_until: datetime | None = None
    categories: list[str] = []
    features: dict[str, Any] = {}
    created_ms: int | None = None


_decode = msgspec.json.Decoder(StoredItem).decode
_NOTHING_SAID, _NOT_TO_BE_SHOWN = StoredItem(), StoredItem(hidden=True)


def stored_item(packed: bytes | None) -> StoredItem:
    """Return a stored document; the defaults if it is missing.

    An item whose document cannot be read is not shown: it may have been hidden.
    """
    try:
        return _decode(packed) if packed else _NOTHING_SAID
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _NOT_TO_BE_SHOWN


@dataclass(frozen=True)
class Changed:
    """The items that changed up to ``version``; ``numbers`` is None if some changes are lost."""

    version: int
    numbers: Sequence[int] | None


class CatalogueFeed:
    """The items of a namespace."""

    def __init__(self, client: redis.asyncio.Redis, namespace: str) -> None:
        self._client = client
        self._keys = NamespaceKeys(namespace)

    async def version(self) -> int:
        """Return the number of the newest change, 0 before the first."""
        with store_errors():
            newest: Any = await self._client.xrevrange(self._keys.catalogue_changes, count=1)
        return version_of(newest)

    async def count(self) -> int:
        """Return how many item numbers have been given."""
        with store_errors():
            return await self._client.llen(self._keys.item_ids)

    async def documents(self, numbers: Iterable[int]) -> list[StoredItem]:
        """Return the documents of at most ``SLICE`` items."""
        keys = [self._keys.item_document(number) for number in numbers]
        if not keys:
            return []
        send: Callable[..., Awaitable[bytes]] = self._client.execute_command
        with store_errors():
            answer = await send("EVAL", _READ, len(keys), *keys)
        return [stored_item(line) for line in answer.split(b"\n")]

    async def changed(self, after: int, *, block_ms: int | None) -> Changed:
        """Return the changes after version ``after``, or the first of very many.

        If there are none, wait up to ``block_ms`` for one.
        """
        since: dict[Any, Any] = {self._keys.catalogue_changes: f"{after}-0"}
        with store_errors():
            answer: Any = await self._client.xread(since, count=CHANGES_READ, block=block_ms)
        if not answer:
            # no entries: nothing changed, or the stream was lost
            newest = await self.version()
            return Changed(after, () if newest >= after else None)
        return changed_by(answer[0][1], after)


def changed_by(entries: Sequence[Any], after: int) -> Changed:
    """Return the changes that some entries of the stream tell of, read after version ``after``."""
    if _number(entries[0][0]) != after + 1:
        return Changed(after, None)
    numbers = dict.fromkeys(int(fields[b"i"]) for _, fields in entries)
    return Changed(_number(entries[-1][0]), list(numbers))


def version_of(newest: Sequence[Any]) -> int:
    """Return the number of the newest change, from the last entry of the stream or none."""
    return _number(newest[0][0]) if newest else 0


def _number(entry_id: bytes) -> int:
    return int(entry_id.partition(b"-")[0])
