"""The properties fixed when a namespace is created: partitions, scale and seed."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import redis

from core.scale import Scale
from service.errors import Misconfigured, StoreRolledBack
from service.settings import Settings
from service.store.connection import store_errors
from service.store.identity.memory import Memory
from service.store.identity.survey import succeeds
from service.store.keys import NamespaceKeys
from service.store.layout import upgrade


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
    """Create the namespace, or bring it to the layout of this version.

    Misconfigured if it exists with other fixed properties, or in a newer layout. StoreRolledBack if
    the data directory remembers another namespace of this name.
    """
    name, wanted = settings.namespace, _wanted(settings)
    refuse_half_restored(client, name)
    stored = _stored(client, name)
    _recognise(settings, stored)
    if stored:
        _check(name, stored, wanted)
    else:
        stored = _create(client, name, wanted)
        _check(name, stored, wanted)
    upgrade(client, name, int(stored["partitions"]))
    found = read_namespace(client, name)
    if found is None:
        raise StoreRolledBack(f"the namespace {name} was deleted while it was opened")
    return found


def refuse_half_restored(client: redis.Redis, name: str) -> None:
    """Raise StoreRolledBack if a backup is being restored into the namespace, or half of one is."""
    with store_errors():
        restore = cast("bytes | None", client.get(NamespaceKeys(name).restoring))
    if restore is not None:
        backup = restore.split()[0]
        raise StoreRolledBack(
            f"the namespace {name} is being restored from the backup {backup.decode()}: wait until "
            "that is done; if it was interrupted, run `hedgerow restore --replace` again"
        )


def _create(client: redis.Redis, name: str, wanted: dict[str, str]) -> dict[str, str]:
    key, now = NamespaceKeys(name).settings, datetime.now(UTC).isoformat(timespec="seconds")
    with store_errors(), client.pipeline(transaction=True) as pipe:
        # another process may be creating it, too
        for field, value in (wanted | {"created": now}).items():
            pipe.hsetnx(key, field, value)
        pipe.execute()
    return _stored(client, name)


def _recognise(settings: Settings, stored: dict[str, str]) -> None:
    """Raise StoreRolledBack if the data directory remembers another namespace."""
    remembered = Memory(settings.data_dir).of(settings.namespace)
    identity = stored.get("identity", "")
    if not remembered.incarnation or succeeds(
        identity, stored.get("replaces", ""), remembered.incarnation
    ):
        return
    raise StoreRolledBack(
        f"the data directory {settings.data_dir} knows a namespace {settings.namespace} "
        f"({remembered.incarnation}, {remembered.positions}), and the store has "
        f"{f'another one ({identity})' if identity else 'none'}: the store was emptied, replaced, "
        "or is not the right one. Put the right one or its backup in place, or accept what is "
        "there with `hedgerow doctor --repair`"
    )


def existing_namespace(client: redis.Redis, settings: Settings) -> Namespace:
    """*Same as* ``open_namespace``, but StoreRolledBack if it does not exist any longer."""
    if read_namespace(client, settings.namespace) is None:
        raise StoreRolledBack(
            f"the namespace {settings.namespace} is gone: the store was emptied or replaced"
        )
    return open_namespace(client, settings)


def read_namespace(client: redis.Redis, name: str) -> Namespace | None:
    """Return the namespace as it is stored, or None if there is none."""
    stored = _stored(client, name)
    return namespace_of(name, stored) if stored else None


def _stored(client: redis.Redis, name: str) -> dict[str, str]:
    with store_errors():
        answer = cast("dict[bytes, bytes]", client.hgetall(NamespaceKeys(name).settings))
    return {field.decode(): value.decode() for field, value in answer.items()}


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
