"""Histories as commits of the learner leave them, for tests of their readers."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from service.settings import Settings
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.namespace import Namespace, open_namespace
from service.store.partitions import partition_of
from service.store.profiles.contexts import packed_entry
from service.store.profiles.history_record import records

START_MS = 1_763_000_000_000


@dataclass(frozen=True)
class Record:
    user: str
    item: int
    value: float = 5.0
    kind: int = 0
    time_ms: int = START_MS
    context: str = ""
    """As in the log: ``device=phone``."""


def store_histories(client, settings: Settings, told: Iterable[Record]) -> Namespace:
    """Write the records in their order, after those that are there; item n has the id ``i<n>``."""
    namespace = open_namespace(client, settings)
    told = list(told)
    n_items = max((record.item for record in told), default=-1) + 1
    _number_items(client, namespace.name, n_items)
    for partition in range(namespace.partitions):
        mine = [r for r in told if partition_of(r.user, namespace.partitions) == partition]
        _store(client, PartitionKeys(namespace.name, partition), mine)
    return namespace


def _number_items(client, namespace: str, n: int) -> None:
    keys = NamespaceKeys(namespace)
    known = client.llen(keys.item_ids)
    for number in range(known, n):
        client.rpush(keys.item_ids, f"i{number}")
        client.hset(keys.item_numbers, f"i{number}", number)


def _store(client, keys: PartitionKeys, told: list[Record]) -> None:
    first = int(client.hget(keys.state, "watermark") or 0) + 1
    packed = records(
        np.array([r.item for r in told], np.int64),
        np.array([r.value for r in told]),
        np.array([r.time_ms for r in told], np.int64),
        np.arange(first, first + len(told)),
        np.array([r.kind for r in told], np.uint8),
    )
    by_user: dict[str, list[int]] = {}
    for at, record in enumerate(told):
        by_user.setdefault(record.user, []).append(at)
    pipe = client.pipeline(transaction=False)
    for user, at in by_user.items():
        pipe.append(keys.history(user), packed[at].tobytes())
        pipe.zadd(keys.users, {user: 0})
        said = [packed_entry(first + n, told[n].context.encode()) for n in at if told[n].context]
        if said:
            pipe.append(keys.contexts(user), b"".join(said))
    pipe.hset(keys.state, "watermark", first - 1 + len(told))
    pipe.execute()


def world(
    *, users: int = 300, items: int = 80, each: int = 25, seed: int = 0, start_ms: int = START_MS
) -> list[Record]:
    """Return records of users with four tastes, in the order of time, a minute apart."""
    rng = np.random.default_rng(seed)
    told = []
    for u in range(users):
        likely = np.where(np.arange(items) % 4 == u % 4, 8.0, 1.0) / (1 + np.arange(items) // 8)
        chosen = rng.choice(items, size=each, replace=False, p=likely / likely.sum())
        for item in chosen.tolist():
            value = 5.0 if item % 4 == u % 4 else float(rng.integers(1, 6))
            told.append((f"u{u:04d}", item, value))
    return [
        Record(user, item, value, time_ms=start_ms + 60_000 * at)
        for at, (user, item, value) in enumerate(told[i] for i in rng.permutation(len(told)))
    ]


def on_devices(
    *, users: int = 300, items: int = 80, each: int = 20, seed: int = 0, matters: bool = True
) -> list[Record]:
    """Return users of four tastes with a phone and a television.

    Every second item is taken mostly on one of the two, unless that does not matter.
    """
    rng, devices = np.random.default_rng(seed), ("phone", "tv")
    told = []
    for user in range(users):
        own = np.arange(items) // 4 % 4 == user % 4
        left = np.where(own, 12.0, 1.0) / (1 + np.arange(items) // 16)
        for step in range(each):
            device, likely = int(rng.integers(2)), left.copy()
            if matters:
                bound = np.arange(items) % 2 == 0
                likely[bound] *= np.where(np.arange(items)[bound] // 2 % 2 == device, 6.0, 0.1)
            item = int(rng.choice(items, p=likely / likely.sum()))
            left[item] = 0.0
            told.append((step, user, item, f"device={devices[device]}"))
    return [
        Record(f"u{user:04d}", item, time_ms=START_MS + 60_000 * at, context=context)
        for at, (_, user, item, context) in enumerate(sorted(told))
    ]


def half_in_order(users: int = 300, items: int = 80, each: int = 20) -> list[Record]:
    """Return users who mostly take the item after their last one, or else one of their taste."""
    rng = np.random.default_rng(5)
    told = []
    for user in range(users):
        left, item = {*range(items)}, int(rng.integers(items))
        for step in range(each):
            left.discard(item)
            told.append((step, user, item))
            ahead = (item + 7) % items
            alike = [one for one in left if one % 4 == user % 4] or [*left]
            ordered = ahead in left and rng.random() < 0.6
            item = ahead if ordered else int(rng.choice(alike))
    return [
        Record(f"u{user:04d}", item, time_ms=START_MS + 60_000 * at)
        for at, (_, user, item) in enumerate(sorted(told))
    ]
