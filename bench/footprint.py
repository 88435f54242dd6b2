"""Bytes per user, item and rating: memory of the Redis server and size of its append-only file."""

import itertools
import threading

import numpy as np
import redis
import uvloop

from bench import service
from bench.data import Ratings
from bench.http_client import Load, open_loop, request
from bench.ingest import ndjson, upload
from bench.posts import rating_bodies
from bench.report import Figure
from bench.store import KEYS, store, wait_until_learned

SECTION = "Bytes"


def _memory(connection: redis.Redis, key: str) -> float:
    return float(connection.memory_usage(key, samples=0) or 0)


def _append_only_bytes(server: service.Server) -> int:
    folder = server.data_dir / "redis"
    return sum(path.stat().st_size for path in folder.rglob("appendonly.aof.*"))


async def _singly(server: service.Server, ratings: Ratings) -> Load:
    requests = itertools.cycle([request("POST", "/v1/ratings", b) for b in rating_bodies(ratings)])
    return await open_loop(server.host, server.port, requests, rate=500.0, seconds=5.0)


def _learned(connection: redis.Redis) -> None:
    wait_until_learned(connection, int(connection.get(KEYS.sequence) or 0))


def figures(ratings: Ratings) -> list[Figure]:
    """Measure the memory and disk space that one user, one item and one rating take."""
    n, users = len(ratings), len(np.unique(ratings.user))
    items = len(np.unique(ratings.item))
    with service.hedgerow() as server, store(server) as connection:
        connection.config_set("auto-aof-rewrite-percentage", 0)  # a rewrite would shrink it
        before = connection.info("memory")["used_memory"]
        written = _append_only_bytes(server)
        upload(server, ndjson(ratings), n)
        grown = connection.info("memory")["used_memory"] - before
        written = _append_only_bytes(server) - written
        generation = int(connection.hget(KEYS.state, "generation") or 0)
        rated = [ratings.user_ids[user] for user in np.unique(ratings.user)]
        histories = sum(_memory(connection, KEYS.history(user)) for user in rated)
        user_rows = sum(_memory(connection, KEYS.user_row(generation, user)) for user in rated)
        numbers = range(items + 1)
        item_rows = sum(_memory(connection, KEYS.item_row(generation, n)) for n in numbers)
        before_singles = _append_only_bytes(server)
        load = uvloop.run(_singly(server, ratings))
        _learned(connection)
        singles = _append_only_bytes(server) - before_singles
        connection.bgrewriteaof()
        _wait_for_rewrite(connection)
        rewritten = _append_only_bytes(server)
    note = f"{n} ratings, {users} users, {items} items"
    return [
        Figure(SECTION, "server memory for everything, per rating", grown / n, "bytes", note=note),
        Figure(SECTION, "a user's online row", user_rows / users, "bytes"),
        Figure(SECTION, "an item's online row", item_rows / items, "bytes"),
        Figure(SECTION, "history, per rating", histories / n, "bytes", note="24 bytes of data"),
        Figure(SECTION, "append-only file as written, per rating", written / n, "bytes"),
        Figure(
            SECTION,
            "append-only file as written, per single rating at 500/s",
            singles / load.requests,
            "bytes",
        ),
        Figure(SECTION, "append-only file after a rewrite, per rating", rewritten / n, "bytes"),
    ]


def _wait_for_rewrite(connection: redis.Redis) -> None:
    pause = threading.Event()
    while connection.info("persistence")["aof_rewrite_in_progress"]:
        pause.wait(0.05)
