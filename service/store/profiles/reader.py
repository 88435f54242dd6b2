"""Reads the profiles for the api: rows, histories, users, reports. It writes nothing."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import redis.asyncio
from numpy.typing import NDArray

from core.online.layout import RowLayout
from core.types import F32, F64
from service.errors import NotReady
from service.store.connection import store_errors
from service.store.keys import PartitionKeys
from service.store.log.codec import LISTS
from service.store.log.state import PartitionState
from service.store.namespace import Namespace
from service.store.partitions import partition_of
from service.store.profiles.contexts import Contexts, read_contexts
from service.store.profiles.expert_history import StreamEntry, shown
from service.store.profiles.histories import live
from service.store.profiles.history_record import read_history

SAMPLE = 32
"""Sampled keys per family when memory is estimated."""
MEMORY_KEPT_S = 5.0
"""Seconds for which an estimate is given again: it costs the store some 160 commands."""
_ROWS_STATE = [b"epoch", b"watermark", b"generation", b"fingerprint", b"identity"]
"""Fields of the state that a read of rows needs."""
ATTEMPTS = 5
"""Most attempts to read rows while their generation keeps changing."""


@dataclass(frozen=True)
class RowsAnswer:
    """Rows and shared state after one commit."""

    user_row: F32 | None
    """(width,); None for a user without ratings, who has the start row."""
    item_rows: list[F32 | None]
    arrays: dict[str, F64]
    """Shared state of the model, see ``OnlineModel.load``."""
    watermark: int


@dataclass(frozen=True)
class _Arrays:
    generation: int
    watermark: int
    identity: str
    arrays: dict[str, F64]


class ProfileReader:
    """Reads the profiles of all partitions.

    ``start`` is the shared state of a new model. Only ``rows`` and ``shared`` need it: it gives the
    shapes of the arrays.
    """

    def __init__(
        self,
        client: redis.asyncio.Redis,
        namespace: Namespace,
        layout: RowLayout,
        *,
        start: Mapping[str, F64] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._client, self._namespace, self._layout = client, namespace, layout
        self._start = {name: array.copy() for name, array in (start or {}).items()}
        self._keys = [PartitionKeys(namespace.name, p) for p in range(namespace.partitions)]
        self._known = [_Arrays(0, -1, "", {})] * namespace.partitions
        self._memory: dict[int, tuple[float, dict[str, int]]] = {}
        """By partition, when its memory was estimated, and the estimate."""
        self._changed = [True] * namespace.partitions
        """By partition, whether the last read found another state than the read before."""

    async def state(self, partition: int) -> PartitionState:
        """Return the state of a partition: its progress and counters."""
        with store_errors():
            answer = await self._await(self._client.hgetall(self._keys[partition].state))
        return PartitionState.of(cast("dict[bytes, bytes]", answer))

    async def fits(self) -> bool:
        """Return whether the stored rows belong to this process's experts, in every partition."""
        states = [await self.state(partition) for partition in range(self._namespace.partitions)]
        return all(self._is_ours(state) for state in states)

    async def rows(self, user: str, items: Sequence[int | None]) -> RowsAnswer:
        """Return a user's row, the rows of items by number, and the shared state, at one moment.

        The arrays are shared between answers: never write to them.
        """
        return await self._rows(partition_of(user, self._namespace.partitions), user, items)

    async def shared(self, partition: int) -> RowsAnswer:
        """Return only the shared state of a partition."""
        return await self._rows(partition, "", ())

    async def _rows(self, partition: int, user: str, items: Sequence[int | None]) -> RowsAnswer:
        # while the state keeps changing, reading the arrays at once saves a second read
        with_arrays = self._changed[partition]
        for _ in range(ATTEMPTS):
            known = self._known[partition]
            before = known.watermark
            answer = await self._read_rows(partition, known.generation, user, items, with_arrays)
            state = PartitionState.of(dict(zip(_ROWS_STATE, answer[0], strict=True)))
            rows = answer[1]
            self._check(state)
            if with_arrays and state.generation == known.generation:
                arrays = self._unpacked(answer[2])
                known = _Arrays(state.generation, state.watermark, state.identity, arrays)
            elif (state.generation, state.identity) != (known.generation, known.identity):
                known = _Arrays(state.generation, -1, state.identity, {})
            self._known[partition] = known
            self._changed[partition] = known.watermark != before
            if known.watermark == state.watermark:
                user_row, *others = (self._row(row) for row in rows)
                at = iter(others)
                item_rows = [None if number is None else next(at) for number in items]
                return RowsAnswer(user_row, item_rows, known.arrays, state.watermark)
            with_arrays = True
        raise NotReady("the online rows are being rebuilt: try again")

    async def _read_rows(
        self,
        partition: int,
        generation: int,
        user: str,
        items: Sequence[int | None],
        with_arrays: bool,
    ) -> list[Any]:
        keys = self._keys[partition]
        names = [keys.item_row(generation, number) for number in items if number is not None]
        with store_errors():
            pipe = self._client.pipeline(transaction=True)
            pipe.hmget(keys.state, _ROWS_STATE)
            pipe.mget([keys.user_row(generation, user), *names])
            if with_arrays:
                pipe.hgetall(keys.online(generation))
            return await pipe.execute()

    def _is_ours(self, state: PartitionState) -> bool:
        return not state.epoch or state.fingerprint == self._layout.fingerprint.hex()

    def _check(self, state: PartitionState) -> None:
        if not self._is_ours(state):
            raise NotReady(
                "the stored rows belong to another set of experts: start this process with the "
                "settings of the learner, or run `hedgerow rebuild`"
            )

    def _row(self, packed: bytes | None) -> F32 | None:
        if packed is None:
            return None
        if len(packed) != 4 * self._layout.width:
            raise NotReady("a stored row has another width: run `hedgerow rebuild`")
        return np.frombuffer(packed, dtype=np.float32)

    def _unpacked(self, stored: Mapping[bytes, bytes]) -> dict[str, F64]:
        if not stored:
            return self._start
        return {
            name: np.frombuffer(stored[name.encode()], dtype=np.float64).reshape(like.shape)
            for name, like in self._start.items()
        }

    async def history(self, user: str) -> NDArray[Any]:
        """Return a user's history records, oldest first, without deleted items."""
        return (await self.placed_history(user))[0]

    async def placed_history(self, user: str) -> tuple[NDArray[Any], Contexts]:
        """Return the same records, and where the events of some of them happened."""
        keys = self._keys_of(user)
        with store_errors():
            pipe = self._client.pipeline(transaction=True)
            pipe.mget(keys.history(user), keys.contexts(user))
            pipe.hgetall(keys.deleted_items)
            [packed, contexts], stored = await pipe.execute()
        deleted = {int(number): int(sequence) for number, sequence in stored.items()}
        return live(read_history(packed), deleted), read_contexts(contexts)

    async def users(self, partition: int, after: str | None, limit: int) -> list[str]:
        """Return up to ``limit`` users of a partition, ordered by the bytes of their ids."""
        first = "-" if after is None else f"({after}"
        keys = self._keys[partition]
        with store_errors():
            answer = await self._await(
                self._client.zrangebylex(keys.users, first, "+", start=0, num=limit)
            )
        return [user.decode() for user in cast("list[bytes]", answer)]

    async def known(self, user: str) -> bool:
        """Return whether any event of the user is recorded."""
        with store_errors():
            answer = await self._await(self._client.zscore(self._keys_of(user).users, user))
        return answer is not None

    async def expert_history(self, partition: int, limit: int) -> list[dict[str, Any]]:
        """Return the newest points of the experts' history, oldest first."""
        keys = self._keys[partition]
        with store_errors():
            answer = await self._await(self._client.xrevrange(keys.expert_history, count=limit))
        return [shown(entry) for entry in reversed(cast("list[StreamEntry]", answer))]

    async def memory_by_family(self, partition: int) -> dict[str, int]:
        """Return the approximate memory of each family of keys, in bytes, a moment ago."""
        at, memory = self._memory.get(partition, (-MEMORY_KEPT_S, {}))
        if self._clock() - at >= MEMORY_KEPT_S:
            memory = await self._estimated_memory(partition)
            self._memory[partition] = self._clock(), memory
        return memory

    async def _estimated_memory(self, partition: int) -> dict[str, int]:
        keys, generation = self._keys[partition], (await self.state(partition)).generation
        with store_errors():
            users = cast("list[bytes]", await self._await(self._sample(keys)))
            n_users = cast("int", await self._await(self._client.zcard(keys.users)))
            bitmap = await self._await(self._client.get(keys.item_rows(generation)))
        bits = np.unpackbits(np.frombuffer(cast("bytes | None", bitmap) or b"", dtype=np.uint8))
        items = np.flatnonzero(bits)
        names = [user.decode() for user in users]
        shown = items[:SAMPLE].tolist()
        return {
            "user_rows": await self._estimate(
                [keys.user_row(generation, u) for u in names], n_users
            ),
            "item_rows": await self._estimate(
                [keys.item_row(generation, i) for i in shown], items.size
            ),
            "histories": await self._estimate([keys.history(u) for u in names], n_users),
            "trimmed": await self._estimate([keys.trimmed(u) for u in names], n_users),
            "contexts": await self._estimate([keys.contexts(u) for u in names], n_users),
            "dedupe": await self._estimate([keys.dedupe(n) for n in range(LISTS)], LISTS),
            **{
                name: await self._estimate([key], 1) for name, key in _single_keys(keys, generation)
            },
        }

    def _sample(self, keys: PartitionKeys) -> Any:
        # negative: sample with repetition, so that a small partition is no special case
        return self._client.zrandmember(keys.users, -SAMPLE)

    async def _estimate(self, sample: Sequence[str], n: int) -> int:
        """Return the memory of n keys like the sample, in bytes."""
        if not sample:
            return 0
        with store_errors():
            pipe = self._client.pipeline(transaction=False)
            for key in sample:
                pipe.memory_usage(key)
            sizes = [size or 0 for size in cast("list[int | None]", await pipe.execute())]
        return int(sum(sizes) * n / len(sizes))

    def _keys_of(self, user: str) -> PartitionKeys:
        return self._keys[partition_of(user, self._namespace.partitions)]

    async def _await(self, answer: object) -> object:
        """Await an answer that redis-py declares as "perhaps awaitable"."""
        return await cast("Awaitable[object]", answer)


def _single_keys(keys: PartitionKeys, generation: int) -> list[tuple[str, str]]:
    return [
        ("log", keys.log),
        ("users", keys.users),
        ("online", keys.online(generation)),
        ("counts", keys.counts(generation)),
        ("transitions", keys.transitions(generation)),
        ("transition_journal", keys.transition_journal(generation)),
        ("changes", keys.changes),
        ("impressions", keys.impressions),
        ("showings", keys.showings),
        ("dead_letters", keys.dead),
        ("responses", keys.responses),
        ("expert_history", keys.expert_history),
        ("deleted_items", keys.deleted_items),
    ]
