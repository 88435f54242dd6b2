"""Item numbers: one dense u32 per item id and namespace.

A number is given before the first event that names the item. It is never reused, so cached numbers
stay valid as long as the store loses nothing: ``known.token`` says of which store they are, and the
cache is dropped whenever it changes.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from importlib import resources
from typing import Any, TypeVar, cast

import redis
import redis.asyncio
from redis import exceptions as redis_errors

from service.errors import ServiceError, StoreRolledBack
from service.store.connection import store_errors
from service.store.identity.known import Known
from service.store.identity.scripts import checking
from service.store.identity.survey import Survey
from service.store.keys import NamespaceKeys

MAX_CACHED = 2_000_000
"""Most ids in the cache of a process; the cache is cleared when it is full."""
CHUNK = 500
"""Ids per call: bounds how long other clients of Redis wait."""

T = TypeVar("T")

_SCRIPT, _SCRIPT_SHA = checking(
    resources.files(__package__).joinpath("give_numbers.lua").read_text()
)


class TooManyItems(ServiceError):
    """Raised if every number that the settings allow has been given."""

    status, code = 422, "item_limit"


class ItemNumbers:
    """Maps ids to numbers and back, with a cache in the process."""

    def __init__(
        self,
        client: redis.asyncio.Redis,
        namespace: str,
        max_items: int,
        *,
        known: Known | None = None,
        max_cached: int = MAX_CACHED,
    ) -> None:
        self._client = client
        self._store = known or Known()
        self._max_cached = max_cached
        self._keys = NamespaceKeys(namespace)
        self._max_items = max_items
        self.known: dict[str, int] = {}
        """The cache of numbers by id: look here first, it needs no await."""
        self._ids: dict[int, str] = {}
        self._held = 0

    @property
    def held(self) -> int:
        """How many items, from number 0 on, have their ids in the cache without a gap."""
        while self._held in self._ids:
            self._held += 1
        return self._held

    def forget(self, now: Survey, *, went_back: bool) -> None:
        """Drop the cache: the store is another, or has lost something."""
        self._drop()

    def hold(self, now: Survey) -> None:
        """Keep the cache: the models in memory name these items, and nothing can be written."""

    async def numbers(self, ids: Sequence[str]) -> list[int]:
        """Return the number of each id, giving new ones; TooManyItems beyond ``max_items``."""
        given = await self.give(ids)
        if not all(item in given for item in ids):
            raise TooManyItems(self.exhausted)
        return [given[item] for item in ids]

    async def give(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the number of each distinct id, giving new ones.

        Ids beyond ``max_items`` are left out.
        """
        token = self._store.token
        found = {item: self.known.get(item, -1) for item in ids}
        for chunk in _chunks([item for item, number in found.items() if number < 0]):
            given = dict(zip(chunk, await self._give(chunk), strict=True))
            found.update(given)
            new = {item: number for item, number in given.items() if number >= 0}
            self._remember(new, token)
            if token == self._store.token:
                self._store.note_items(max(new.values(), default=-1) + 1)
        if -1 not in found.values():
            return found
        return {item: number for item, number in found.items() if number >= 0}

    @property
    def exhausted(self) -> str:
        """Return the message that no number is left."""
        return (
            f"the namespace has given out all its {self._max_items} item numbers: "
            "raise HEDGEROW_MAX_ITEMS"
        )

    async def lookup(self, ids: Sequence[str]) -> list[int | None]:
        """Return the number of each id, None for an id that never had an event or document."""
        token = self._store.token
        found = {item: self.known.get(item) for item in ids}
        for chunk in _chunks([item for item, number in found.items() if number is None]):
            with store_errors():
                answer = await cast(
                    "Awaitable[list[bytes | None]]",
                    self._client.hmget(self._keys.item_numbers, chunk),
                )
            given = {i: int(n) for i, n in zip(chunk, answer, strict=True) if n is not None}
            self._remember(given, token)
            found.update(given)
        return [found[item] for item in ids]

    async def ids(self, numbers: Sequence[int]) -> list[str]:
        """Return the id of each number; StoreRolledBack if one is not given, as all have been."""
        token = self._store.token
        here = list(map(self._ids.get, numbers))
        if None not in here:
            return cast("list[str]", here)
        found = dict(zip(numbers, here, strict=True))
        for chunk in _chunks([number for number, item in found.items() if item is None]):
            with store_errors():
                pipe = self._client.pipeline(transaction=False)
                for number in chunk:
                    pipe.lindex(self._keys.item_ids, number)
                answer = cast("list[bytes | None]", await pipe.execute())
            ids = [item.decode() for item in answer if item is not None]
            if len(ids) < len(chunk):
                raise StoreRolledBack("the store has lost items that this list names: ask again")
            found.update(zip(chunk, ids, strict=True))
            self._remember(dict(zip(ids, chunk, strict=True)), token)
        return [cast("str", found[number]) for number in numbers]

    async def page(self, first: int, limit: int) -> list[str]:
        """Return up to ``limit`` ids from number ``first`` on."""
        token = self._store.token
        with store_errors():
            answer = await cast(
                "Awaitable[list[bytes]]",
                self._client.lrange(self._keys.item_ids, first, first + limit - 1),
            )
        ids = [item.decode() for item in answer]
        self._remember({item: number for number, item in enumerate(ids, first)}, token)
        return ids

    async def count(self) -> int:
        """Return how many numbers have been given."""
        with store_errors():
            return await self._client.llen(self._keys.item_ids)

    async def _give(self, ids: Sequence[str]) -> list[int]:
        send: Callable[..., Awaitable[Any]] = self._client.execute_command
        keys = (self._keys.item_numbers, self._keys.item_ids, self._keys.settings)
        known = (self._store.token, self._store.positions.items)
        arguments = (len(keys), *keys, self._max_items, *known, *ids)
        with store_errors():
            try:
                answer = await send("EVALSHA", _SCRIPT_SHA, *arguments)
            except redis_errors.NoScriptError:
                answer = await send("EVAL", _SCRIPT, *arguments)
        return cast("list[int]", answer)

    def _remember(self, numbers: dict[str, int], token: str) -> None:
        """Cache numbers that were read while ``token`` was that of the store."""
        if token != self._store.token:
            return
        if len(self.known) + len(numbers) > self._max_cached:
            self._drop()
        self.known.update(numbers)
        self._ids.update((number, item) for item, number in numbers.items())

    def _drop(self) -> None:
        self.known.clear()
        self._ids.clear()
        self._held = 0


def item_count(client: redis.Redis, namespace: str) -> int:
    """Return how many item numbers were given out: 0 .. count - 1."""
    with store_errors():
        return int(client.llen(NamespaceKeys(namespace).item_ids))


def item_ids(client: redis.Redis, namespace: str, first: int, last: int) -> list[str]:
    """Return the ids of the numbers from ``first`` to ``last`` inclusive that have been given."""
    with store_errors():
        answer = cast("list[bytes]", client.lrange(NamespaceKeys(namespace).item_ids, first, last))
    return [item.decode() for item in answer]


def _chunks(values: list[T]) -> Iterator[list[T]]:
    return (values[i : i + CHUNK] for i in range(0, len(values), CHUNK))
