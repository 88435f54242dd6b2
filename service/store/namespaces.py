"""Lists the namespaces of a store, and deletes one with all its keys.

The key that says that the namespace exists goes last, so that a deletion can be resumed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import redis

from service.errors import Conflict, NotFound
from service.store.connection import store_errors
from service.store.keys import NamespaceKeys, PartitionKeys, pattern_of
from service.store.namespace import Namespace, read_namespace

BATCH = 1_000
"""Number of keys deleted by one command: bounds how long other clients wait."""


@dataclass(frozen=True)
class Contents:
    """A namespace and how much it holds."""

    namespace: Namespace
    users: int
    items: int
    workers: list[str]
    """Tokens of the learners and the trainer that work for it now."""


def namespaces(client: redis.Redis) -> list[Contents]:
    """Return all namespaces by name."""
    return [contents(client, name) for name in names(client)]


def names(client: redis.Redis) -> list[str]:
    """Return the names of all namespaces, sorted."""
    pattern = NamespaceKeys("*").settings
    with store_errors():
        keys = sorted(key.decode() for key in client.scan_iter(pattern, count=BATCH))
    return [key[key.index("{") + 1 : key.index("}")] for key in keys]


def contents(client: redis.Redis, name: str) -> Contents:
    """Return one namespace; NotFound if none has this name."""
    namespace = read_namespace(client, name)
    if namespace is None:
        raise NotFound(f"there is no namespace {name}: `hedgerow namespaces list` shows all")
    keys = NamespaceKeys(name)
    partitions = [PartitionKeys(name, number) for number in range(namespace.partitions)]
    with store_errors(), client.pipeline(transaction=False) as pipe:
        pipe.hlen(keys.item_numbers)
        pipe.mget([keys.trainer, *(partition.lease for partition in partitions)])
        for partition in partitions:
            pipe.zcard(partition.users)
        items, holders, *users = pipe.execute()
    workers = [holder.decode() for holder in holders if holder is not None]
    return Contents(namespace, sum(users), items, workers)


def delete_namespace(client: redis.Redis, name: str) -> int:
    """Delete all keys of a namespace and return their number.

    Raises Conflict while a learner or trainer works for it. An interrupted deletion can be resumed.
    """
    found = contents(client, name)
    if found.workers:
        raise Conflict(
            f"{', '.join(found.workers)} work for the namespace {name}: stop `hedgerow serve`, "
            "its learners and its trainer, then delete it"
        )
    deleted, settings = 0, NamespaceKeys(name).settings
    with store_errors():
        for keys in batches_of_keys(client, name, settings):
            deleted += client.unlink(*keys)
        deleted += client.delete(settings)
    return deleted


def batches_of_keys(client: redis.Redis, name: str, but: str) -> Iterator[list[bytes]]:
    """Yield all keys of a namespace except one, whether it exists."""
    kept = but.encode()
    with store_errors():
        found = (key for key in client.scan_iter(pattern_of(name), count=BATCH) if key != kept)
        while batch := list(islice(found, BATCH)):
            yield batch
