"""Events for tests: numbers items, appends entries as the api does, reads learned state."""

import hashlib
import threading
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from service.rec_ids import source_of
from service.store.connection import connect
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.codec import (
    AWAITED,
    HAS_CONTEXT,
    HAS_DIGEST,
    HAS_PRODUCER,
    HAS_SOURCE,
    MERGE_USER,
    Entry,
    encode,
)
from service.store.log.noted_ids import NotedIds, script_keys
from service.store.log.state import read_state
from service.store.log.stream import _APPEND, RECEIPT_S
from service.store.profiles.history_record import read_history, sequences

NOW_MS = 1_763_000_000_000


@dataclass
class Event:
    user: str
    item: str
    value: float = 3.0
    kind: int = 0
    event_id: str | None = None
    awaited: bool = False
    time_ms: int = NOW_MS
    rec_id: str | None = None
    context: bytes = b""
    producer: bytes | None = None

    @property
    def source(self) -> bytes:
        return source_of(self.rec_id, self.user) if self.rec_id is not None else b""


class Feed:
    """Appends to one partition of a namespace."""

    def __init__(self, client, namespace: str, partition: int = 0, process: str = "feed") -> None:
        self.client, self.namespace, self.process = client, namespace, process
        self.keys = PartitionKeys(namespace, partition)
        self.numbers: dict[str, int] = {}
        self.counter = 0

    def number(self, item: str) -> int:
        if item not in self.numbers:
            keys = NamespaceKeys(self.namespace)
            number = self.client.rpush(keys.item_ids, item) - 1
            self.client.hset(keys.item_numbers, item, number)
            self.numbers[item] = number
        return self.numbers[item]

    def with_items(self, n: int) -> "Feed":
        """Number the items i0, i1, .. in their order."""
        for number in range(n):
            self.number(f"i{number}")
        return self

    def entry(self, events: list[Event], appended_ms: int = NOW_MS) -> Entry:
        users = list(dict.fromkeys(event.user for event in events))
        flags = [
            HAS_DIGEST * (e.event_id is not None)
            | AWAITED * e.awaited
            | HAS_SOURCE * bool(e.source)
            | HAS_CONTEXT * bool(e.context)
            | HAS_PRODUCER * (e.producer is not None)
            for e in events
        ]
        return Entry(
            users=tuple(users),
            user_ix=np.array([users.index(e.user) for e in events], dtype=np.uint32),
            item=np.array([self.number(e.item) for e in events], dtype=np.uint32),
            value=np.array([e.value for e in events], dtype=np.float32),
            time_ms=np.array([e.time_ms for e in events], dtype=np.int64),
            kind=np.array([e.kind for e in events], dtype=np.uint8),
            flags=np.array(flags, dtype=np.uint8),
            digests=b"".join(digest(e) for e in events if e.event_id is not None),
            appended_ms=appended_ms,
            sources=b"".join(e.source for e in events),
            contexts=tuple(e.context for e in events if e.context),
        )

    def append(self, events: list[Event], appended_ms: int = NOW_MS) -> int:
        """Append one entry; returns the sequence of its last event."""
        return self.append_packed(encode(self.entry(events, appended_ms)), len(events))

    def merge(self, source: str, target: str) -> int:
        """Append a merge of two users; returns its sequence."""
        entry = Entry(
            users=(source, target),
            user_ix=np.array([0], np.uint32),
            item=np.ones(1, np.uint32),
            value=np.zeros(1, np.float32),
            time_ms=np.array([NOW_MS]),
            kind=np.array([MERGE_USER], np.uint8),
            flags=np.zeros(1, np.uint8),
            digests=b"",
            appended_ms=NOW_MS,
        )
        return self.append_packed(encode(entry), 1)

    def append_packed(self, packed: bytes, n: int, max_bytes: int = 1 << 30) -> int:
        self.counter += 1
        keys = self.keys
        receipt = keys.append_receipt(self.process)
        version = NamespaceKeys(self.namespace).api_keys_version
        names = (keys.sequence, keys.log, keys.log_bytes, receipt, keys.state, version)
        names += script_keys(keys)
        # whatever store it is, however far, and whatever keys there are; no ids are noted
        known = ("", 0, "-")
        arguments = (n, packed, self.counter, max_bytes, RECEIPT_S, *known, crc32(packed), "")
        arguments += (0, 0, *NotedIds(), "")
        return self.client.eval(_APPEND.text, len(names), *names, *arguments)[0]

    @property
    def watermark(self) -> int:
        return read_state(self.client, self.keys).watermark

    @property
    def epoch(self) -> int:
        return read_state(self.client, self.keys).epoch

    def is_learned(self) -> bool:
        """Whether nothing in the log waits."""
        return self.watermark == int(self.client.get(self.keys.sequence) or 0)

    def history(self, user: str) -> list[tuple[int, str, float]]:
        """(sequence, item, value) of each record."""
        history = read_history(self.client.get(self.keys.history(user)))
        names = {number: item for item, number in self.numbers.items()}
        rows = zip(sequences(history).tolist(), history["item"], history["value"], strict=True)
        return [(sequence, names[int(item)], float(value)) for sequence, item, value in rows]

    def online_state(self) -> dict[bytes, object]:
        """Return every row and array of the current generation by the end of its key."""
        generation = int(self.client.hget(self.keys.state, "generation") or 0)
        prefix = self.keys.online(generation).partition("online:")[0]
        kinds = (f"user:{generation}:", f"item:{generation}:", f"items:{generation}")
        found: dict[bytes, object] = {}
        for key in self.client.scan_iter(match=_escaped(prefix) + "*", count=1000):
            rest = key.decode()[len(prefix) :]
            if rest.startswith(kinds):
                kind, _, name = rest.partition(f":{generation}")
                found[f"{kind}{name}".encode()] = self.client.get(key)
        return found | {b"online": self.client.hgetall(self.keys.online(generation))}


def digest(event: Event) -> bytes:
    text = f"{event.user}\0{event.event_id}"
    whole = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return whole if event.producer is None else whole[:12] + event.producer


def _escaped(prefix: str) -> str:
    return "".join(f"\\{c}" if c in "{}[]*?" else c for c in prefix)


def some_ratings(n: int, *, users: int = 20, items: int = 30, seed: int = 1) -> list[Event]:
    """n ratings of a little world with tastes."""
    rng = np.random.default_rng(seed)
    taste, genre = rng.normal(size=(users, 3)), rng.normal(size=(items, 3))
    user, item = rng.integers(users, size=n), rng.integers(items, size=n)
    value = np.clip(np.round(3 + (taste[user] * genre[item]).sum(1)), 1, 5)
    return [Event(f"u{a}", f"i{b}", float(c)) for a, b, c in zip(user, item, value, strict=True)]


class Writer(threading.Thread):
    """A thread that appends ratings until ``stop`` is set."""

    def __init__(self, url: str, namespace: str) -> None:
        super().__init__()
        self._url, self._namespace = url, namespace
        self.stop = threading.Event()

    def run(self) -> None:
        with connect(self._url, role="test") as client:
            feed = Feed(client, self._namespace)
            number = 0
            while not self.stop.wait(0.002):
                feed.append(some_ratings(5, seed=number))
                number += 1
