"""A whole namespace as text: what a version has stored, for tests of the versions after it.

Record what the present version stores under a new name, ``layout-<n>.json``, when ``LAYOUT`` in
``service/store/layout.py`` changes, before it does:

    python -m tests.golden.layouts tests/golden/layout-1.json
"""

import base64
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from service.settings import Settings
from service.store.connection import connect
from tests.api import Api, learning
from tests.server import PrivateServer, wait_until

NAMESPACE = "old"
LEARNED = [("ada", "tt1", 5.0), ("ada", "tt2", 1.0), ("bob", "tt1", 4.0), ("bob", "tt3", 2.5)]
WAITING = [("ada", "tt3", 3.0), ("eve", "tt4", 4.5)]
"""Ratings that are in the log, but not learned."""
DOCUMENT = {"categories": ["film"]}
KEY_HASHES = "api-keys"


def dump(client: Any, namespace: str) -> dict[str, Any]:
    """Return the keys of a namespace that do not expire, each with its type and content."""
    found = {}
    for name in sorted(client.scan_iter(f"hr:{{{namespace}*")):
        if client.ttl(name) == -1:
            kind = client.type(name).decode()
            found[name.decode()] = {"type": kind, "value": _packed(READ[kind](client, name))}
    return found


def load(client: Any, stored: dict[str, Any]) -> None:
    """Write the keys that ``dump`` returned."""
    for name, entry in stored.items():
        WRITE[entry["type"]](client, name, _unpacked(entry["value"]))


def _packed(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return [[_packed(one), _packed(other)] for one, other in value.items()]
    return [_packed(one) for one in value] if isinstance(value, list | tuple) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, str):
        return base64.b64decode(value)
    return [_unpacked(one) for one in value] if isinstance(value, list) else value


READ = {
    "string": lambda client, name: client.get(name),
    "hash": lambda client, name: client.hgetall(name),
    "list": lambda client, name: client.lrange(name, 0, -1),
    "zset": lambda client, name: client.zrange(name, 0, -1, withscores=True),
    "stream": lambda client, name: client.xrange(name),
}
WRITE = {
    "string": lambda client, name, value: client.set(name, value),
    "hash": lambda client, name, value: client.hset(name, mapping=dict(value)),
    "list": lambda client, name, value: client.rpush(name, *value),
    "zset": lambda client, name, value: client.zadd(name, dict(value)),
    "stream": lambda client, name, value: [
        client.xadd(name, dict(fields), id=number) for number, fields in value
    ],
}


def record(file: Path) -> None:
    """Store a small world with this version, and write what it stored to a file."""
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(namespace=NAMESPACE, data_dir=Path(directory) / "d")
        with (
            PrivateServer(Path(directory) / "s") as server,
            connect(server.url, role="record") as client,
            Api(settings, server.url) as api,
        ):
            with learning(settings, server.url):
                for user, item, rating in LEARNED:
                    api.rate(user, item, rating, event_id=f"{user} {item}")
                api("PUT", "/v1/items/tt1", json=DOCUMENT)
                state = f"hr:{{{NAMESPACE}.0}}:state"
                wait_until(lambda: client.hget(state, "watermark") == b"%d" % len(LEARNED))
            for user, item, rating in WAITING:
                api.rate(user, item, rating, event_id=f"{user} {item}")
            file.write_text(json.dumps(dump(client, NAMESPACE), indent=1) + "\n")


if __name__ == "__main__":
    record(Path(sys.argv[1]))
