"""Checks of a server: version, eviction and durability; and reports on its partitions.

Every role checks its server once, at the start.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import redis
import redis.exceptions as redis_errors
from redis.asyncio.client import Pipeline as AsyncPipeline
from redis.client import Pipeline

from service.errors import Misconfigured
from service.store.connection import store_errors
from service.store.keys import PartitionKeys
from service.store.log.state import check_rows, read_state
from service.store.server.program import OLDEST


@dataclass(frozen=True)
class ServerReport:
    """The product, version and durability of a server; no ``warning`` means durable."""

    product: str
    version: str
    warning: str | None

    @property
    def durable(self) -> bool:
        """Whether an acknowledged event survives a power cut."""
        return self.warning is None


@dataclass(frozen=True)
class PartitionReport:
    """The progress of a partition's learner; ``leader`` is None if there is no learner."""

    partition: int
    appended: int
    learned: int
    waiting_bytes: int
    leader: str | None
    dead_letters: int
    """Number of log entries that were set aside."""

    @property
    def behind(self) -> int:
        """Number of events that are stored but not learned."""
        return self.appended - self.learned

    @classmethod
    def of(cls, partition: int, replies: Sequence[Any]) -> "PartitionReport":
        """Read the replies to the commands of ``ask_partition``."""
        (sequence, waiting, leader), watermark, dead_letters = replies
        return cls(
            partition,
            appended=int(sequence or 0),
            learned=int(watermark or 0),
            waiting_bytes=int(waiting or 0),
            leader=None if leader is None else leader.decode(),
            dead_letters=int(dead_letters),
        )


def ask_partition(pipe: Pipeline | AsyncPipeline, namespace: str, partition: int) -> None:
    """Add the commands to a pipeline whose replies ``PartitionReport.of`` reads."""
    keys = PartitionKeys(namespace, partition)
    pipe.mget(keys.sequence, keys.log_bytes, keys.lease)
    pipe.hget(keys.state, "watermark")
    pipe.xlen(keys.dead)


def inspect_partition(client: redis.Redis, namespace: str, partition: int) -> PartitionReport:
    """Return the progress of one partition."""
    with store_errors(), client.pipeline(transaction=False) as pipe:
        ask_partition(pipe, namespace, partition)
        return PartitionReport.of(partition, pipe.execute())


def inspect_rows(
    client: redis.Redis, namespace: str, partition: int, fingerprint: bytes
) -> str | None:
    """Return why a learner with this set of experts would refuse the rows, None if it would not."""
    keys = PartitionKeys(namespace, partition)
    state = read_state(client, keys)
    with store_errors():
        has_users = bool(client.exists(keys.users))
    try:
        check_rows(state, fingerprint, has_users=has_users)
    except Misconfigured as error:
        return error.detail
    return None


def inspect_server(client: redis.Redis) -> ServerReport:
    """Return the report on a server; Misconfigured if it is too old or may evict keys."""
    with store_errors():
        info: Mapping[str, Any] = client.info()
        appendfsync = _setting(client, "appendfsync")
        policy = _setting(client, "maxmemory-policy")
    return check_server(info, appendfsync=appendfsync, policy=policy)


def check_server(
    info: Mapping[str, Any], *, appendfsync: str | None, policy: str | None
) -> ServerReport:
    """Return the report on a server from its INFO and two settings, None if CONFIG is forbidden."""
    product = str(info.get("server_name", "redis"))
    version = str(info.get("valkey_version") or info.get("redis_version", "0"))
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < OLDEST:
        raise Misconfigured(f"the server is {product} {version}; Hedgerow needs 6.2 or newer")
    policy = policy or str(info.get("maxmemory_policy", "unknown"))
    if policy != "noeviction":
        raise Misconfigured(
            f"the server may evict keys (maxmemory-policy is {policy}) and would lose ratings; "
            "run CONFIG SET maxmemory-policy noeviction and put it into the server's configuration"
        )
    aof = bool(int(info.get("aof_enabled", 0)))
    return ServerReport(product, version, _durability_warning(appendfsync, aof=aof))


def _durability_warning(appendfsync: str | None, *, aof: bool) -> str | None:
    if not aof:
        return (
            "the server keeps no append-only file: a crash loses events (appendonly yes keeps them)"
        )
    if appendfsync is None:
        return "the server does not tell its appendfsync: a power cut may lose the last events"
    if appendfsync != "always":
        return (
            f"appendfsync is {appendfsync}: a power cut may lose the last events "
            "(appendfsync always keeps them)"
        )
    return None


def _setting(client: redis.Redis, name: str) -> str | None:
    """Return a setting, None if the provider forbids CONFIG."""
    try:
        answer: Mapping[Any, Any] = client.config_get(name)
    except redis_errors.ResponseError:
        return None
    for value in answer.values():
        return value.decode() if isinstance(value, bytes) else str(value)
    return None
