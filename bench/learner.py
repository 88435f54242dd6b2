"""The learner alone: processor time and bytes of an event, beside those of its Redis server.

The log is filled before, so that nothing but learning and committing is measured.
"""

import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median
from zlib import crc32

import numpy as np

from bench.data import Ratings
from bench.report import Figure
from service.learning.learner import Learner
from service.learning.learning_step import warm_up
from service.settings import Settings
from service.store.connection import Client, connect
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.codec import Entry, encode
from service.store.namespace import open_namespace
from service.store.server.embedded import EmbeddedServer

SECTION = "Learner alone"
AN_ENTRY = 10_000
"""Events in one entry of the log, about as many as an upload puts there."""
NOW_MS = 1_763_000_000_000


def fill_log(client: Client, ratings: Ratings, namespace: str) -> None:
    """Number the items, and append all ratings as uploads do."""
    keys = PartitionKeys(namespace, 0)
    client.rpush(NamespaceKeys(namespace).item_ids, *ratings.item_ids)
    for first in range(0, len(ratings), AN_ENTRY):
        part = ratings.rows(np.arange(first, min(first + AN_ENTRY, len(ratings))))
        packed, last = encode(_entry(part, NOW_MS + first)), first + len(part)
        client.xadd(keys.log, {"d": packed, "c": crc32(packed)}, id=f"{last}-0")
        client.incrby(keys.log_bytes, len(packed))
    client.set(keys.sequence, len(ratings))


def _entry(part: Ratings, time_ms: int) -> Entry:
    users, index = np.unique(part.user, return_inverse=True)
    n = len(part)
    return Entry(
        users=tuple(part.user_ids[user] for user in users.tolist()),
        user_ix=index.astype(np.uint32),
        item=part.item.astype(np.uint32),
        value=part.rating.astype(np.float32),
        time_ms=np.full(n, time_ms, np.int64),
        kind=np.zeros(n, np.uint8),
        flags=np.zeros(n, np.uint8),
        digests=b"",
        appended_ms=time_ms,
    )


def run(ratings: Ratings) -> tuple[float, float, float]:
    """Learn all ratings; return microseconds of learner and server, and bytes, an event."""
    settings = Settings(namespace="bench")
    with (
        tempfile.TemporaryDirectory(prefix="hedgerow-bench-") as folder,
        EmbeddedServer(Path(folder), "os") as server,
        connect(server.url, role="bench") as client,
    ):
        namespace = open_namespace(client, settings)
        fill_log(client, ratings, "bench")
        with closing(Learner(settings, client, namespace, 0)) as learner:
            warm_up(learner.model)
            before, began = _server(client), time.process_time()
            learned = learner.drain()
            spent, after = time.process_time() - began, _server(client)
    if learned != len(ratings):
        raise RuntimeError(f"{learned} of {len(ratings)} ratings were learned")
    seconds, n_bytes = (now - then for now, then in zip(after, before, strict=True))
    return 1e6 * spent / learned, 1e6 * seconds / learned, n_bytes / learned


def _server(client: Client) -> tuple[float, float]:
    """Return the server's processor time in seconds, and the bytes that it has received."""
    cpu, stats = client.info("cpu"), client.info("stats")
    return (
        cpu["used_cpu_user_main_thread"] + cpu["used_cpu_sys_main_thread"],
        stats["total_net_input_bytes"],
    )


def figures(ratings: Ratings, *, quick: bool) -> list[Figure]:
    """Measure in file order and shuffled, alternating; medians."""
    order = np.random.default_rng(0).permutation(len(ratings))
    kinds = {"file order": ratings, "random order": ratings.rows(order)}
    runs = [[run(part) for part in kinds.values()] for _ in range(1 if quick else 3)]
    found = []
    for name, of_kind in zip(kinds, zip(*runs, strict=True), strict=True):
        learner, server, n_bytes = (median(column) for column in zip(*of_kind, strict=True))
        found += [
            Figure(SECTION, f"processor time of an event, {name}", learner, "us"),
            Figure(SECTION, f"the same of the server, {name}", server, "us"),
            Figure(SECTION, f"bytes sent to the server, {name}", n_bytes, "bytes"),
        ]
    return found
