"""What stands under the keys of a namespace, as values that are equal or not."""

from typing import Any

from service.store.connection import Client
from service.store.keys import parts_of_key, pattern_of


def values(client: Client, namespace: str) -> dict[tuple[int, bytes], Any]:
    """Return what every key of a namespace holds, whatever the namespace is called."""
    return {
        parts_of_key(key): value(client, key) for key in client.scan_iter(pattern_of(namespace))
    }


def value(client: Client, key: bytes) -> Any:
    """Return what a key holds; of a stream the newest id that it ever had, too."""
    kind = client.type(key).decode()
    if kind == "string":
        return client.get(key)
    if kind == "hash":
        return client.hgetall(key)
    if kind == "list":
        return client.lrange(key, 0, -1)
    if kind == "set":
        return sorted(client.smembers(key))
    if kind == "zset":
        return client.zrange(key, 0, -1, withscores=True)
    assert kind == "stream"
    return client.xinfo_stream(key)["last-generated-id"], client.xrange(key)
