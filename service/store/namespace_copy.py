"""Copies fixed properties and item numbers of a namespace, for a rebuild into a new one."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import redis

from service.errors import Misconfigured
from service.store.connection import store_errors
from service.store.identity.identity import Identity
from service.store.keys import NamespaceKeys
from service.store.namespace import Namespace, scale_text


def copy_namespace(client: redis.Redis, source: Namespace, name: str) -> Namespace:
    """Create ``name`` with the fixed properties of ``source``; Misconfigured if it exists."""
    fixed: dict[Any, Any] = {
        "partitions": str(source.partitions),
        "scale": scale_text(source.scale),
        "seed": str(source.seed),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "identity": str(Identity.new()),
    }
    with store_errors():
        if not client.hsetnx(NamespaceKeys(name).settings, "created", fixed["created"]):
            raise Misconfigured(
                f"the namespace {name} exists already: choose a new name, "
                f"or delete it with `hedgerow namespaces delete {name}`"
            )
        client.hset(NamespaceKeys(name).settings, mapping=fixed)
    return replace(source, name=name, created=fixed["created"], identity=fixed["identity"])


def copy_item_numbers(client: redis.Redis, source: str, target: str) -> None:
    """Give every item the number in ``target`` that it has in ``source``."""
    old, new = NamespaceKeys(source), NamespaceKeys(target)
    first = 0
    with store_errors():
        while ids := cast("list[bytes]", client.lrange(old.item_ids, first, first + 999)):
            numbers: dict[Any, Any] = {item: number for number, item in enumerate(ids, first)}
            pipe = client.pipeline(transaction=True)
            pipe.rpush(new.item_ids, *ids)
            pipe.hset(new.item_numbers, mapping=numbers)
            pipe.execute()
            first += len(ids)
