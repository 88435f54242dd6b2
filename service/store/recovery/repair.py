"""What an operator may do about a store that is refused: steps that are told before they are done.

A repair loses nothing that is in the store. It gives up what is not there any longer: it accepts
another namespace, or an empty one, in the place of the known one, and makes ends meet.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import redis

from service.settings import Settings
from service.store.connection import store_errors
from service.store.identity.identity import Identity
from service.store.identity.memory import Memory, Remembered
from service.store.identity.survey import Survey, survey
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.namespace import Namespace, open_namespace, read_namespace
from service.store.recovery.healing import begin_era
from service.store.recovery.wholeness import NO_ROWS, ends, faults, highest_item

PLACEHOLDER = "lost-item-"
"""Beginning of the id of an item whose own id is lost; its number follows."""
IDS_READ = 1_000


@dataclass(frozen=True)
class Step:
    """A step of a repair."""

    says: str
    do: Callable[[], object]


def plan(client: redis.Redis, settings: Settings) -> list[Step]:
    """Return what makes the store usable, in order; nothing if it is."""
    remembered = Memory(settings.data_dir).of(settings.namespace)
    namespace = read_namespace(client, settings.namespace)
    if namespace is None:
        return [_anew(client, settings, remembered)] if remembered.incarnation else []
    found = survey(client, namespace.name, namespace.partitions)
    steps = list(_steps_for_faults(client, namespace))
    if remembered.incarnation and not found.succeeds(remembered.incarnation):
        steps.append(_accept(client, settings, found, remembered))
    return steps


def _anew(client: redis.Redis, settings: Settings, remembered: Remembered) -> Step:
    def do() -> None:
        memory = Memory(settings.data_dir)
        memory.forget_store(settings.namespace)
        namespace = open_namespace(client, settings)
        _replace(client, namespace.name, remembered.incarnation)
        found = survey(client, namespace.name, namespace.partitions)
        memory.remember(namespace.name, Identity.parse(namespace.identity), found.positions)

    return Step(
        f"create the namespace {settings.namespace} anew and empty. Known was "
        f"{remembered.incarnation} with {remembered.positions}: all of it is given up",
        do,
    )


def _accept(client: redis.Redis, settings: Settings, found: Survey, remembered: Remembered) -> Step:
    def do() -> None:
        _replace(client, settings.namespace, remembered.incarnation)
        if found.identity is not None:
            memory = Memory(settings.data_dir)
            memory.remember(settings.namespace, found.identity, found.positions)

    return Step(
        f"accept the namespace {found.identity} with {found.positions}. Known was "
        f"{remembered.incarnation} with {remembered.positions}: what it held is given up",
        do,
    )


def _replace(client: redis.Redis, namespace: str, incarnation: str) -> None:
    """Let running processes that know an incarnation accept the namespace in its place."""
    key = NamespaceKeys(namespace).settings
    with store_errors():
        before = cast("bytes | None", client.hget(key, "replaces")) or b""
        client.hset(key, "replaces", " ".join([*before.decode().split(), incarnation]))


def _steps_for_faults(client: redis.Redis, namespace: Namespace) -> Iterator[Step]:
    """Yield the steps for what does not fit together, and a new era for all who have read it."""
    name, partitions = namespace.name, range(namespace.partitions)
    if all(NO_ROWS in one for one in faults(client, name, namespace.partitions)):
        return
    keys = [PartitionKeys(name, partition) for partition in partitions]
    for ours in keys:
        found = ends(client, ours)
        if found.follows != found.watermark or found.last != found.appended:
            yield Step(
                f"partition {ours.partition}: go on with event {found.follows + 1} after "
                f"{found.watermark}, up to {found.last}: what is missing is given up",
                lambda ours=ours: _make_ends_meet(client, ours),  # type: ignore[misc]
            )
    yield Step(
        "give each item of the list of ids its number again, and items whose ids are lost the ids "
        f"{PLACEHOLDER}<number>",
        lambda: _number_items(client, name, max(highest_item(client, ours) for ours in keys)),
    )
    yield Step(
        "begin a new era: every process drops what it keeps, and reads again",
        lambda: _begin_era(client, namespace),
    )


def _make_ends_meet(client: redis.Redis, keys: PartitionKeys) -> None:
    found = ends(client, keys)
    with store_errors(), client.pipeline(transaction=True) as pipe:
        pipe.set(keys.sequence, found.last)
        pipe.hset(keys.state, "watermark", found.follows)
        pipe.execute()


def _number_items(client: redis.Redis, namespace: str, highest: int) -> None:
    keys = NamespaceKeys(namespace)
    with store_errors():
        given = client.llen(keys.item_ids)
        missing = [f"{PLACEHOLDER}{number}" for number in range(given, highest + 1)]
        for first in range(0, len(missing), IDS_READ):
            client.rpush(keys.item_ids, *missing[first : first + IDS_READ])
        client.delete(keys.item_numbers)
        first = 0
        while ids := cast("list[bytes]", client.lrange(keys.item_ids, first, first + IDS_READ - 1)):
            numbers: dict[Any, Any] = {item: number for number, item in enumerate(ids, first)}
            client.hset(keys.item_numbers, mapping=numbers)
            first += len(ids)


def _begin_era(client: redis.Redis, namespace: Namespace) -> None:
    found = survey(client, namespace.name, namespace.partitions)
    begin_era(client, namespace.name, found, found.positions)
