"""Begins a new era of a store that has lost something, if what is left fits together.

The lost tail of an append-only file, an older copy of it, a replica that lagged: each leaves a
state that the store once had. Nothing is wrong with it but the memory of those who saw more. In the
new era they are refused, drop what they keep and read again.
"""

from dataclasses import asdict, dataclass
from importlib import resources
from typing import Any, cast

import msgspec
import redis

from service.errors import StoreRolledBack
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.identity.identity import Identity
from service.store.identity.known import Positions
from service.store.identity.survey import Survey
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.recovery.wholeness import faults
from service.telemetry import logger

ROLLBACKS_KEPT = 20
"""Number of records of rollbacks that are kept."""

_RAISE_ERA, _ALIGN = (
    resources.files(__package__).joinpath(name).read_text()
    for name in ("raise_era.lua", "align.lua")
)


@dataclass(frozen=True)
class Rollback:
    """A rollback that was found: how far the store was known to be, and how far it was then."""

    at_ms: int
    era: int
    """The era that began with it."""
    known: Positions
    found: Positions

    def __str__(self) -> str:
        return f"the store went back: known were {self.known}; found were {self.found}"


def heal(
    client: redis.Redis, namespace: str, found: Survey, identity: Identity, known: Positions
) -> None:
    """Begin a new era; StoreRolledBack if what is left does not fit together.

    ``identity`` and ``known`` are what the caller knew. Another process may have begun a new era
    meanwhile: then there is nothing left to do.
    """
    if found.identity is None:
        raise StoreRolledBack("the namespace is gone")
    wrong = faults(client, namespace, len(found.positions.sequences))
    if wrong:
        raise StoreRolledBack(f"what is left does not fit together: {'; '.join(wrong)}")
    new = found.identity.after(identity)
    rollback = Rollback(now_ms(), new.era, known, found.positions)
    if _begin(client, namespace, str(found.identity), new, rollback):
        logger().error(
            "store_rolled_back", era=new.era, known=str(known), found=str(found.positions)
        )


def begin_era(client: redis.Redis, namespace: str, found: Survey, known: Positions) -> Identity:
    """Begin a new era of whatever is there, as an operator wants it, and return its identity."""
    old = found.identity or Identity.new()
    new = old.after(old)
    rollback = Rollback(now_ms(), new.era, known, found.positions)
    _begin(client, namespace, str(old), new, rollback)
    return new


def _begin(
    client: redis.Redis, namespace: str, old: str, new: Identity, rollback: Rollback
) -> bool:
    keys, record = NamespaceKeys(namespace), msgspec.json.encode(asdict(rollback))
    arguments: tuple[Any, ...] = (old, str(new), record, ROLLBACKS_KEPT)
    with store_errors():
        begun = client.eval(_RAISE_ERA, 2, keys.settings, keys.rollbacks, *arguments)
    align(client, namespace, len(rollback.found.sequences))
    return bool(begun)


def align(client: redis.Redis, namespace: str, partitions: int) -> None:
    """Give all partitions the identity that the namespace has now."""
    with store_errors():
        stored = cast("bytes", client.hget(NamespaceKeys(namespace).settings, "identity"))
        identity = Identity.parse(stored.decode())
        for partition in range(partitions):
            state = PartitionKeys(namespace, partition).state
            client.eval(_ALIGN, 1, state, str(identity), identity.incarnation, str(identity.era))


def read_rollbacks(client: redis.Redis, namespace: str) -> list[Rollback]:
    """Return the rollbacks that were found, the newest first."""
    with store_errors():
        stored = client.lrange(NamespaceKeys(namespace).rollbacks, 0, -1)
    return [msgspec.json.decode(one, type=Rollback) for one in cast("list[bytes]", stored)]
