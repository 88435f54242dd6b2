"""Reads which store this is and how far it is, in one transaction."""

import re
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import redis
import redis.asyncio
from redis.asyncio.client import Pipeline as AsyncPipeline
from redis.client import Pipeline

from service.store.connection import store_errors
from service.store.identity.identity import Identity
from service.store.identity.known import Positions
from service.store.keys import NamespaceKeys, PartitionKeys

ANY = "*"
"""In ``replaces``: the namespace was created anew, whatever there was before."""


@dataclass(frozen=True)
class Survey:
    """A store at one moment."""

    identity: Identity | None
    """None: the namespace does not exist."""
    replaces: frozenset[str]
    """Incarnations that an operator has given up for this one."""
    run: str
    """Replication id of the server."""
    positions: Positions
    learned: tuple[int, ...]
    """Watermark of each partition."""
    is_aligned: bool
    """Whether every partition has the identity of the namespace."""

    def succeeds(self, incarnation: str) -> bool:
        """Whether this is the namespace that had this incarnation, or what replaces it."""
        return succeeds(str(self.identity or ""), " ".join(self.replaces), incarnation)


def succeeds(identity: str, replaces: str, incarnation: str) -> bool:
    """Whether a stored namespace is the one that had this incarnation, or what replaces it."""
    if not identity:
        return False
    ours = {Identity.parse(identity).incarnation, *replaces.split()}
    return incarnation in ours or ANY in ours


def survey(client: redis.Redis, namespace: str, partitions: int) -> Survey:
    """Return which store this is and how far it is."""
    with store_errors(), client.pipeline(transaction=True) as pipe:
        _ask(pipe, namespace, partitions)
        return _survey(pipe.execute())


async def survey_async(client: redis.asyncio.Redis, namespace: str, partitions: int) -> Survey:
    """*Same as* ``survey``, for the api."""
    with store_errors():
        pipe = client.pipeline(transaction=True)
        _ask(pipe, namespace, partitions)
        return _survey(await cast("Awaitable[list[Any]]", pipe.execute()))


def run_of(client: redis.Redis) -> str:
    """Return the run of the server: a new one with every start and every failover."""
    with store_errors():
        return str(client.info(section="replication").get("master_replid", ""))


def run_in(replication: bytes) -> str:
    r"""Return the run in an answer to INFO replication.

    >>> run_in(b"role:master\r\nmaster_replid:5c1d9a\r\n")
    '5c1d9a'
    """
    found = re.search(rb"master_replid:([0-9a-f]+)", replication)
    return found[1].decode() if found else ""


def _ask(pipe: Pipeline | AsyncPipeline, namespace: str, partitions: int) -> None:
    keys = NamespaceKeys(namespace)
    pipe.hmget(keys.settings, ["identity", "replaces"])
    pipe.info(section="replication")
    pipe.llen(keys.item_ids)
    for partition in range(partitions):
        ours = PartitionKeys(namespace, partition)
        pipe.get(ours.sequence)
        pipe.hmget(ours.state, ["identity", "watermark"])


def _survey(replies: Sequence[Any]) -> Survey:
    (stored, replaces), replication, items, *partitions = replies
    sequences, states = partitions[::2], partitions[1::2]
    return Survey(
        identity=Identity.parse(stored.decode()) if stored else None,
        replaces=frozenset((replaces or b"").decode().split()),
        run=str(replication.get("master_replid", "")),
        positions=Positions(tuple(int(one or 0) for one in sequences), int(items)),
        learned=tuple(int(watermark or 0) for _, watermark in states),
        is_aligned=all(identity == stored for identity, _ in states),
    )
