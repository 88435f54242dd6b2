"""Published models: immutable, each with a record, a manifest and its arrays in chunks.

The chunks of a model are stored first, then its manifest, which makes it visible; chunks of an
interrupted publication expire. Which model serves is decided in ``registry``.
Synchronous: an api process calls it in a thread.
"""

import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial
from typing import Any, TypeVar, cast

import msgspec
import redis

from core.errors import SnapshotFormat
from core.snapshot import Snapshot, blob, version_of
from service.errors import Conflict, NotFound, StoreUnavailable
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.keys import NamespaceKeys
from service.store.models.records import ModelRecord
from service.store.models.scripts import PUBLISH, REMOVE

CHUNK_BYTES = 1 << 19
"""Bytes per write: bounds how long other clients of Redis wait."""
UNPUBLISHED_S = 3_600
"""Seconds until chunks expire that no published model names."""
PATIENCE_S = 60.0
"""Seconds for which a publication waits for a server that does not answer."""
PAUSE_S = 0.2

_PAUSE = threading.Event()
"""Never set: used to sleep."""

T = TypeVar("T")


class PublishedModels:
    """The models of a namespace."""

    def __init__(
        self, client: redis.Redis, namespace: str, *, patience_s: float = PATIENCE_S
    ) -> None:
        """``patience_s`` is how long a publication waits for a server that does not answer."""
        self._client = client
        self._keys = NamespaceKeys(namespace)
        self._patience_s = patience_s

    def publish(
        self, snapshot: Snapshot, record: ModelRecord, *, token: Callable[[], str] = lambda: ""
    ) -> None:
        """Store a model and make it visible; it serves once ``set_active`` names it.

        ``token`` returns that of the store whose item numbers the model names, just before it
        becomes visible: StoreRolledBack if the store is another. An outage of the server is waited
        out, up to a minute. Publishing twice is harmless.
        """
        if record.version != snapshot.version:
            raise ValueError("the record is of another snapshot")
        upload = secrets.token_hex(8)
        chunks = []
        for index, chunk in enumerate(_chunks(blob(snapshot))):
            chunks.append(key := self._keys.model_chunk(upload, index))
            self._patiently(partial(self._put, key, chunk))
        keys = [self._keys.models, self._keys.model(record.version), self._keys.settings, *chunks]
        manifest, packed = json.dumps(snapshot.manifest), json.dumps(asdict(record))
        values = (record.version, record.created_ms, record.strategy, packed, manifest, upload)
        done = self._patiently(lambda: self._evaluate(PUBLISH, keys, *values, token()))
        if done == b"lost":
            raise StoreUnavailable(
                "chunks of the model expired before the last one was stored: publish it again"
            )

    def record(self, version: str) -> ModelRecord:
        """Return the record of a model, or raise NotFound."""
        with store_errors():
            packed = cast("bytes | None", self._client.hget(self._keys.model(version), "record"))
        if packed is None:
            raise _unknown(version)
        return msgspec.json.decode(packed, type=ModelRecord)

    def named(self, begins: str) -> ModelRecord:
        """Return the model whose version has this prefix; NotFound, or Conflict if several have."""
        with store_errors():
            versions = cast("list[bytes]", self._client.zrange(self._keys.models, 0, -1))
        found = [
            one for one in (version.decode() for version in versions) if one.startswith(begins)
        ]
        if len(found) > 1:
            raise Conflict(
                f"{len(found)} models begin with {begins!r}: give more of the version, "
                "`hedgerow models list` shows all"
            )
        return self.record(found[0] if found else begins)

    def records(self, strategy: str | None = None) -> list[ModelRecord]:
        """Return all models, or those of a strategy, the newest first."""
        with store_errors():
            versions = cast("list[bytes]", self._client.zrevrange(self._keys.models, 0, -1))
            pipe = self._client.pipeline(transaction=False)
            for version in versions:
                pipe.hget(self._keys.model(version.decode()), "record")
            stored = cast("list[bytes | None]", pipe.execute())
        # leave out models removed between the two reads
        records = [msgspec.json.decode(one, type=ModelRecord) for one in stored if one is not None]
        return [one for one in records if strategy in (None, one.strategy)]

    def manifest(self, version: str) -> dict[str, Any]:
        """Return the manifest of a model; NotFound, or SnapshotFormat if it is damaged."""
        with store_errors():
            packed = cast("bytes | None", self._client.hget(self._keys.model(version), "manifest"))
        if packed is None:
            raise _unknown(version)
        try:
            manifest: dict[str, Any] = json.loads(packed)
        except ValueError as error:
            raise SnapshotFormat(f"the manifest of model {version} is damaged: {error}") from error
        if version_of(manifest) != version:
            raise SnapshotFormat(f"the manifest of model {version} is damaged: its sha256 differs")
        return manifest

    def chunks(self, version: str) -> Iterator[bytes]:
        """Yield the chunks of a model's arrays; NotFound, or SnapshotFormat if one is missing."""
        for key in self._chunk_keys(version):
            with store_errors():
                chunk = cast("bytes | None", self._client.get(key))
            if chunk is None:
                raise SnapshotFormat(f"a chunk of model {version} is missing from the store")
            yield chunk

    def prune(self, keep: int, max_age_ms: int) -> list[str]:
        """Remove models that are too old or not among the newest ``keep`` of their strategy.

        Return the removed versions. Models that serve, are pinned or served before always stay.
        """
        oldest_ms = now_ms() - max_age_ms
        kept: dict[str, int] = {}
        removed = []
        for record in self.records():
            kept[record.strategy] = kept.get(record.strategy, 0) + 1
            outdated = kept[record.strategy] > keep or record.created_ms < oldest_ms
            if outdated and self._remove(record):
                removed.append(record.version)
        return removed

    def _patiently(self, call: Callable[[], T]) -> T:
        """Repeat a call, which must be harmless to repeat, while the server does not answer."""
        until = time.monotonic() + self._patience_s
        while True:
            try:
                return call()
            except StoreUnavailable:
                if time.monotonic() > until:
                    raise
            _PAUSE.wait(PAUSE_S)

    def _put(self, key: str, chunk: bytes) -> None:
        started = time.monotonic()
        with store_errors():
            self._client.set(key, chunk, ex=UNPUBLISHED_S)
        # a server that syncs each write is blocked meanwhile: leave half of its time to others
        _PAUSE.wait(time.monotonic() - started)

    def _chunk_keys(self, version: str) -> list[str]:
        with store_errors():
            answer = self._client.hmget(self._keys.model(version), "upload", "chunks")
        upload, chunks = cast("list[bytes | None]", answer)
        if upload is None or chunks is None:
            raise _unknown(version)
        return [self._keys.model_chunk(upload.decode(), index) for index in range(int(chunks))]

    def _remove(self, record: ModelRecord) -> bool:
        keys = self._keys
        try:
            chunks = self._chunk_keys(record.version)
        except NotFound:
            return False
        names = [
            keys.models,
            keys.model(record.version),
            keys.active_models,
            keys.pinned_models,
            keys.models_before(record.strategy),
            *chunks,
        ]
        return bool(self._evaluate(REMOVE, names, record.version, record.strategy))

    def _evaluate(self, script: str, keys: list[str], *values: str | bytes | int) -> Any:
        with store_errors():
            return self._client.eval(script, len(keys), *keys, *values)


def _chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join pieces of bytes and cut them into chunks of equal size, except the last."""
    waiting: list[memoryview] = []
    size = 0
    for piece in pieces:
        rest = memoryview(piece)
        while size + len(rest) >= CHUNK_BYTES:
            cut = CHUNK_BYTES - size
            yield b"".join([*waiting, rest[:cut]])
            waiting, size, rest = [], 0, rest[cut:]
        waiting.append(rest)
        size += len(rest)
    if size:
        yield b"".join(waiting)


def _unknown(version: str) -> NotFound:
    return NotFound(
        f"there is no model {version!r}, nor one whose version begins so: "
        "`hedgerow models list` shows all"
    )
