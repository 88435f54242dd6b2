"""Makes a process the only writer of a partition: a new epoch shuts out earlier writers."""

from typing import Any, cast

import redis
from redis import exceptions as redis_errors

from service.errors import StoreRolledBack, Superseded
from service.store.connection import store_errors
from service.store.keys import PartitionKeys
from service.store.log.state import PartitionState, check_rows, read_state


def take_over(
    client: redis.Redis,
    keys: PartitionKeys,
    *,
    fingerprint: bytes,
    machine: str,
    identity: str = "",
) -> PartitionState:
    """Raise the epoch and return the state; Misconfigured if the rows have other experts.

    StoreRolledBack if an ``identity`` is given, and the partition has another.
    """
    pipe: Any
    with store_errors(), client.pipeline() as pipe:
        while True:
            try:
                pipe.watch(keys.state)
                # the users first: whoever takes over meanwhile has an epoch before there are users
                has_users = bool(pipe.exists(keys.users))
                state = PartitionState.of(cast("dict[bytes, bytes]", pipe.hgetall(keys.state)))
                check_rows(state, fingerprint, has_users=has_users)
                if identity and state.identity != identity:
                    raise StoreRolledBack("the store is another one, or went back")
                pipe.multi()
                pipe.hset(keys.state, mapping=_next_fields(state, fingerprint, machine))
                pipe.hgetall(keys.state)
                return PartitionState.of(pipe.execute()[-1])
            except redis_errors.WatchError:
                continue


def check_epoch(client: redis.Redis, keys: PartitionKeys, epoch: int) -> None:
    """Raise Superseded if another writer has taken over since ``epoch``."""
    _check_epoch(read_state(client, keys), epoch)


def check_standing(
    client: redis.Redis, keys: PartitionKeys, taken: PartitionState, watermark: int
) -> None:
    """Raise StoreRolledBack if the store has lost the watermark, Superseded as ``check_epoch``.

    ``taken`` is the answer of ``take_over``.
    """
    now = read_state(client, keys)
    if now.identity != taken.identity or now.watermark < watermark:
        raise StoreRolledBack(
            f"the store is another one, or went back from event {watermark} to {now.watermark}"
        )
    _check_epoch(now, taken.epoch)


def _check_epoch(now: PartitionState, epoch: int) -> None:
    if now.epoch != epoch:
        raise Superseded(f"epoch {epoch} is over, {now.epoch} has begun")


def _next_fields(state: PartitionState, fingerprint: bytes, machine: str) -> dict[Any, Any]:
    fields: dict[Any, Any] = {"epoch": state.epoch + 1, "machine": machine}
    if not state.epoch:
        fields |= {"watermark": 0, "generation": 0, "fingerprint": fingerprint.hex()}
    return fields
