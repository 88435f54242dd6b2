"""The layout of what is stored: a version for each family of keys, and the migrations between them.

A process refuses a namespace with a family that it does not know, or knows only in an earlier
layout, before it reads anything else. What an earlier version stored is brought up to date when the
namespace is opened.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, cast

import redis

from service.errors import Misconfigured
from service.store.connection import store_errors
from service.store.identity.identity import Identity
from service.store.keys import NamespaceKeys, PartitionKeys

LAYOUT: Mapping[str, int] = {
    "namespace": 1,
    "log": 1,
    "event_ids": 1,
    "histories": 1,
    "rows": 1,
    "transitions": 1,
    "impressions": 1,
    "catalogue": 1,
    "models": 1,
    "jobs": 1,
    "keys": 1,
}
"""The layout that this version writes, by family. Raise a number when an earlier version could no
longer read what is written, and add a migration. 0 is what was stored before there were numbers."""

WRITER = "by"
"""Field beside the families: the version of Hedgerow that wrote the layout."""


@dataclass(frozen=True)
class Migration:
    """Brings a family from the layout before ``to`` to ``to``; running it twice is harmless."""

    family: str
    to: int
    run: Callable[[redis.Redis, str, int], None]
    """Called with the namespace and its number of partitions."""


def _identify(client: redis.Redis, namespace: str, partitions: int) -> None:
    """Give a namespace from before there were identities one, and its partitions the same."""
    settings = NamespaceKeys(namespace).settings
    with store_errors():
        client.hsetnx(settings, "identity", str(Identity.new()))
        identity = cast("bytes", client.hget(settings, "identity"))
        for partition in range(partitions):
            client.hsetnx(PartitionKeys(namespace, partition).state, "identity", identity)


MIGRATIONS: tuple[Migration, ...] = (Migration("namespace", 1, _identify),)
"""All migrations, in the order in which they run."""


def upgrade(client: redis.Redis, namespace: str, partitions: int) -> None:
    """Bring a namespace to the layout of this version; Misconfigured if a newer one wrote it."""
    found, written_by = stored_layout(client, namespace)
    check(namespace, found, written_by)
    for migration in MIGRATIONS:
        if found.get(migration.family, 0) < migration.to:
            migration.run(client, namespace, partitions)
    if any(found.get(family, 0) < one for family, one in LAYOUT.items()):
        with store_errors():
            client.hset(NamespaceKeys(namespace).layout, mapping=_written())


def stored_layout(client: redis.Redis, namespace: str) -> tuple[dict[str, int], str]:
    """Return the stored layout, and the version that wrote it ("" if none is named)."""
    with store_errors():
        answer = cast("dict[bytes, bytes]", client.hgetall(NamespaceKeys(namespace).layout))
    stored = {name.decode(): value.decode() for name, value in answer.items()}
    written_by = stored.pop(WRITER, "")
    return {family: int(one) for family, one in stored.items()}, written_by


def _written() -> dict[Any, Any]:
    return {**LAYOUT, WRITER: version("hedgerow")}


def check(
    namespace: str,
    found: Mapping[str, int],
    written_by: str,
    ours: Mapping[str, int] = LAYOUT,
) -> None:
    """Raise Misconfigured, which names the version that can, for a layout that is not known."""
    newer = [family for family, one in found.items() if one > ours.get(family, 0)]
    if newer:
        known = ", ".join(f"{name} {found[name]} (here {ours.get(name, 0)})" for name in newer)
        raise Misconfigured(
            f"the namespace {namespace} was written by Hedgerow {written_by or 'of a later time'}, "
            f"in a layout that {version('hedgerow')} does not know: {known}. Install Hedgerow "
            f"{written_by or 'of that time'} or newer, or restore a backup that this version made"
        )
