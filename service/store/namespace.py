"""The properties fixed when a namespace is created: partitions, scale and seed."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import redis

from core.scale import Scale
from service.errors import Misconfigured, StoreRolledBack
from service.settings import Settings
from service.store.connection import store_errors
from service.store.identity.identity import Identity
from service.store.keys import NamespaceKeys, PartitionKeys


@dataclass(frozen=True)
class Namespace:
    """A namespace as it is stored."""

    name: str
    partitions: int
    scale: Scale
    seed: int
    created: str
    identity: str = ""
    """The identity (``store/identity``) when the namespace was opened."""


def open_namespace(client: redis.Redis, settings: Settings) -> Namespace:
    """Create the namespace, or raise Misconfigured if it exists with other fixed properties."""
    wanted = _wanted(settings)
    key = NamespaceKeys(settings.namespace).settings
    now = datetime.now(UTC).isoformat(timespec="seconds")
    first = wanted | {"created": now, "identity": str(Identity.new())}
    with store_errors(), client.pipeline(transaction=True) as pipe:
        for name, value in first.items():
            pipe.hsetnx(key, name, value)
        pipe.hgetall(key)
        answer = cast("dict[bytes, bytes]", pipe.execute()[-1])
    stored = {name.decode(): value.decode() for name, value in answer.items()}
    _check(settings.namespace, stored, wanted)
    opened = namespace_of(settings.namespace, stored)
    _identify(client, opened)
    return opened


def existing_namespace(client: redis.Redis, settings: Settings) -> Namespace:
    """*Same as* ``open_namespace``, but StoreRolledBack if it does not exist any longer."""
    if read_namespace(client, settings.namespace) is None:
        raise StoreRolledBack(
            f"the namespace {settings.namespace} is gone: the store was emptied or replaced"
        )
    return open_namespace(client, settings)


def _identify(client: redis.Redis, namespace: Namespace) -> None:
    """Give partitions the identity that have none yet."""
    with store_errors(), client.pipeline(transaction=True) as pipe:
        for partition in range(namespace.partitions):
            state = PartitionKeys(namespace.name, partition).state
            pipe.hsetnx(state, "identity", namespace.identity)
        pipe.execute()


def read_namespace(client: redis.Redis, name: str) -> Namespace | None:
    """Return the namespace as it is stored, or None if there is none."""
    with store_errors():
        answer = cast("dict[bytes, bytes]", client.hgetall(NamespaceKeys(name).settings))
    stored = {field.decode(): value.decode() for field, value in answer.items()}
    return namespace_of(name, stored) if stored else None


def scale_of(text: str) -> Scale:
    """Read LOW:HIGH.

    >>> scale_of("-10:10")
    Scale(low=-10.0, high=10.0)
    """
    low, _, high = text.partition(":")
    return Scale(float(low), float(high))


def scale_text(scale: Scale) -> str:
    """Return LOW:HIGH, from which ``scale_of`` reads the same scale."""
    return ":".join(repr(end).removesuffix(".0") for end in (scale.low, scale.high))


def namespace_of(name: str, stored: dict[str, str]) -> Namespace:
    """Read the stored hash."""
    return Namespace(
        name=name,
        partitions=int(stored["partitions"]),
        scale=scale_of(stored["scale"]),
        seed=int(stored["seed"]),
        created=stored["created"],
        identity=stored.get("identity", ""),
    )


def _wanted(settings: Settings) -> dict[str, str]:
    return {
        "partitions": str(settings.partitions),
        "scale": settings.scale,
        "seed": str(settings.seed),
    }


def _check(name: str, stored: dict[str, str], wanted: dict[str, str]) -> None:
    for setting, value in wanted.items():
        same = (
            scale_of(stored[setting]) == scale_of(value)
            if setting == "scale"
            else stored[setting] == value
        )
        if not same:
            raise Misconfigured(
                f"namespace {name} was created with {setting} = {stored[setting]}, "
                f"the settings say {value}. Set HEDGEROW_{setting.upper()}={stored[setting]}, "
                "or choose another HEDGEROW_NAMESPACE and import the ratings there."
            )
