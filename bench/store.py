"""Direct access to the private Redis server that `hedgerow serve` runs."""

import json
import threading
import time

import redis

from bench.service import Server
from service.store.keys import PartitionKeys

KEYS = PartitionKeys("main", 0)
LEARN_S = 120.0


def socket_of(server: Server) -> str:
    """Return the path of the private server's socket."""
    return str(json.loads((server.data_dir / "server.json").read_text())["socket"])


def store(server: Server) -> redis.Redis:
    """Connect to the private server."""
    return redis.Redis(unix_socket_path=socket_of(server))


def watermark(connection: redis.Redis) -> int:
    """Return the number of the newest learned event."""
    return int(connection.hget(KEYS.state, "watermark") or 0)


def wait_until_learned(connection: redis.Redis, sequence: int) -> None:
    """Block until the learner has committed event ``sequence``; raise after LEARN_S seconds."""
    pause = threading.Event()
    deadline = time.monotonic() + LEARN_S
    while watermark(connection) < sequence:
        if time.monotonic() > deadline:
            raise RuntimeError(f"event {sequence} was not learned within {LEARN_S:.0f} s")
        pause.wait(0.002)


def event_number(sequence: str) -> int:
    """Return the event number in an answer's ``sequence`` (one partition)."""
    return int(sequence.rpartition(":")[2])
