"""The registry: immutable trained models, which of them serves each strategy, and who changed that.

A model travels as chunks of its arrays, then its manifest, then it is visible; chunks of a publication that
broke off expire. Every pointer changes by one compare-and-set script that notes who and why.
Synchronous: an api process calls it in a thread.
"""

import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from importlib import resources
from typing import Any, Self, TypeVar, cast

import msgspec
import redis

from core.errors import SnapshotFormat
from core.snapshot import Snapshot, blob, blob_bytes, version_of
from service.errors import Conflict, NotFound, StoreUnavailable, VersionConflict
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.keys import NamespaceKeys

CHUNK_BYTES = 1 << 19
"""Bytes of one write: bounds how long other clients of Redis wait."""
UNPUBLISHED_S = 3_600
"""How long chunks live that no published model names."""
PATIENCE_S = 60.0
"""How long a publication waits for a server that is away."""
PAUSE_S = 0.2
REMEMBERED, KEPT_CHANGES = 32, 1_000
"""Versions that a roll-back can go back through, and changes that are listed."""
SHOWN = 12
"""Characters of a version that messages and tables show, and the fewest that name one over HTTP."""
MOST_TEXT = 500
"""Characters of who and of why."""
ANY = "*"
LEAD = "lead"
"""Among the metrics of a model that the gate could judge: how far its users' reciprocal ranks are above popularity's."""

_PAUSE = threading.Event()
"""Never set."""

T = TypeVar("T")


def _script(name: str) -> str:
    return resources.files(__package__).joinpath(f"{name}.lua").read_text()


_PUBLISH, _ACTIVATE = _script("publish_model"), _script("activate_model")
_ROLL_BACK, _UNPIN, _REMOVE = (
    _script("roll_back_model"),
    _script("unpin_model"),
    _script("remove_model"),
)


@dataclass(frozen=True)
class ModelRecord:
    """What the registry knows of a model besides its arrays."""

    version: str
    """sha256 of the manifest, ``Snapshot.version``."""
    strategy: str
    """What it serves: fbgd, ocmf, exmlds, ordinal."""
    model: str
    """Which model of the strategy: ocmf-lr-wsq, ..."""
    created_ms: int
    job: str | None
    """The job that trained it."""
    parameters: Mapping[str, Any]
    metrics: Mapping[str, Any]
    decision: Mapping[str, Any]
    """{"outcome": "promoted" | "refused" | "not_judged", "reason": ...}: what the gate said."""
    cuts: Mapping[str, Any]
    """{"trained_through": {partition: sequence}, "judged_through": {...}}."""
    bytes: int

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        strategy: str,
        *,
        created_ms: int,
        job: str | None = None,
        decision: Mapping[str, Any],
    ) -> Self:
        """Return the record of a snapshot."""
        manifest = snapshot.manifest
        return cls(
            version=version_of(manifest),
            strategy=strategy,
            model=snapshot.model,
            created_ms=created_ms,
            job=job,
            parameters=snapshot.parameters.get("settings", {}),
            metrics=snapshot.metrics,
            decision=decision,
            cuts=snapshot.cuts,
            bytes=blob_bytes(manifest),
        )


@dataclass(frozen=True)
class ModelChange:
    """One change of an active pointer or a pin."""

    id: str
    """Rises with time."""
    at_ms: int
    strategy: str
    version: str
    before: str | None
    """What was active until then."""
    action: str
    """promoted, rolled_back, pinned or unpinned."""
    who: str
    why: str


class Registry:
    """The models of a namespace."""

    def __init__(self, client: redis.Redis, namespace: str) -> None:
        self._client = client
        self._keys = NamespaceKeys(namespace)

    def publish(self, snapshot: Snapshot, record: ModelRecord) -> None:
        """Store a model and make it visible; it serves once ``set_active`` names it.

        A server that goes away meanwhile is waited for, up to a minute. Publishing a model twice is harmless.
        """
        if record.version != snapshot.version:
            raise ValueError("the record is of another snapshot")
        upload = secrets.token_hex(8)
        chunks = []
        for index, chunk in enumerate(_chunks(blob(snapshot))):
            chunks.append(key := self._keys.model_chunk(upload, index))
            _patiently(partial(self._put, key, chunk))
        keys = [self._keys.models, self._keys.model(record.version), *chunks]
        manifest, packed = json.dumps(snapshot.manifest), json.dumps(asdict(record))
        values = (record.version, record.created_ms, record.strategy, packed, manifest, upload)
        if _patiently(lambda: self._evaluate(_PUBLISH, keys, *values)) == b"lost":
            raise StoreUnavailable(
                "parts of the model expired before the last one was stored: publish it again"
            )

    def record(self, version: str) -> ModelRecord:
        """Return what is known of a model; NotFound."""
        with store_errors():
            packed = cast("bytes | None", self._client.hget(self._keys.model(version), "record"))
        if packed is None:
            raise _unknown(version)
        return msgspec.json.decode(packed, type=ModelRecord)

    def named(self, begins: str) -> ModelRecord:
        """Return the model whose version begins so; NotFound, or Conflict if several do."""
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
        # one that was removed between the two reads is left out
        records = [msgspec.json.decode(one, type=ModelRecord) for one in stored if one is not None]
        return [one for one in records if strategy in (None, one.strategy)]

    def manifest(self, version: str) -> dict[str, Any]:
        """Return what describes the arrays of a model; NotFound, or SnapshotFormat if it is damaged."""
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
        """Yield the bytes of a model's arrays; NotFound, or SnapshotFormat if a chunk is missing."""
        for key in self._chunk_keys(version):
            with store_errors():
                chunk = cast("bytes | None", self._client.get(key))
            if chunk is None:
                raise SnapshotFormat(f"a part of model {version} is not in the store any more")
            yield chunk

    def active(self) -> dict[str, str]:
        """Return the version that serves each strategy."""
        return self._pointers(self._keys.active_models)

    def pins(self) -> dict[str, str]:
        """Return the pinned version of each strategy that has one."""
        return self._pointers(self._keys.pinned_models)

    def set_active(
        self, strategy: str, version: str, *, expected: str | None, who: str, why: str
    ) -> None:
        """Let a version serve; VersionConflict if not ``expected`` serves now, or another is pinned."""
        self._activate(strategy, version, expected or "", "promoted", who, why)

    def roll_back(self, strategy: str, *, who: str, why: str) -> str:
        """Let the version serve that served before, and return it; Conflict if there is none, VersionConflict if one is pinned."""
        keys = self._keys
        names = [
            keys.models,
            keys.active_models,
            keys.pinned_models,
            keys.models_before(strategy),
            keys.model_changes,
        ]
        outcome, version = self._evaluate(
            _ROLL_BACK, names, strategy, _bounded(who), _bounded(why), KEPT_CHANGES
        )
        if outcome == b"none":
            raise _no_earlier(strategy)
        _refuse_pinned(outcome, strategy, version.decode())
        return str(version.decode())

    def only_strategy(self) -> str:
        """Return the one strategy for which a model serves; Conflict if there is none, or another."""
        active = sorted(self.active())
        if len(active) == 1:
            return active[0]
        if active:
            raise Conflict(
                f"several strategies are active, name one: {', '.join(active)} "
                f"(`hedgerow models rollback {active[0]}`)"
            )
        raise _no_earlier("any strategy")

    def pin(self, version: str, who: str, why: str) -> None:
        """Let a version serve and stay, until it is unpinned; VersionConflict if another one is pinned."""
        self._activate(self.record(version).strategy, version, ANY, "pinned", who, why)

    def unpin(self, version: str, who: str, why: str) -> None:
        """Let the next promotion replace a version again; nothing happens if it is not pinned."""
        strategy = self.record(version).strategy
        keys = [self._keys.pinned_models, self._keys.model_changes]
        self._evaluate(_UNPIN, keys, strategy, version, _bounded(who), _bounded(why), KEPT_CHANGES)

    def changes(self, limit: int, before: str | None = None) -> list[ModelChange]:
        """Return the last changes of active pointers and pins, or those before one of them; the newest first."""
        newest = "+" if before is None else f"({before}"
        with store_errors():
            answer: Any = self._client.xrevrange(self._keys.model_changes, newest, count=limit)
        return [_change(name, fields) for name, fields in answer]

    def has_served(self, version: str) -> bool:
        """Return whether another version has replaced this one, as far as changes are remembered."""
        changes = self.changes(KEPT_CHANGES)
        return any(change.before == version != change.version for change in changes)

    def prune(self, keep: int, max_age_ms: int) -> list[str]:
        """Remove what is not among the newest ``keep`` of its strategy, or is older; return the versions.

        What serves, what is pinned and what served before always stay.
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

    def _put(self, key: str, chunk: bytes) -> None:
        started = time.monotonic()
        with store_errors():
            self._client.set(key, chunk, ex=UNPUBLISHED_S)
        # a server that syncs each write does nothing else meanwhile: leave the others half of its time
        _PAUSE.wait(time.monotonic() - started)

    def _chunk_keys(self, version: str) -> list[str]:
        with store_errors():
            answer = self._client.hmget(self._keys.model(version), "upload", "chunks")
        upload, chunks = cast("list[bytes | None]", answer)
        if upload is None or chunks is None:
            raise _unknown(version)
        return [self._keys.model_chunk(upload.decode(), index) for index in range(int(chunks))]

    def _pointers(self, key: str) -> dict[str, str]:
        with store_errors():
            answer = cast("dict[bytes, bytes]", self._client.hgetall(key))
        return {strategy.decode(): version.decode() for strategy, version in answer.items()}

    def _activate(
        self, strategy: str, version: str, expected: str, action: str, who: str, why: str
    ) -> None:
        keys = self._keys
        names = [
            keys.model(version),
            keys.active_models,
            keys.pinned_models,
            keys.models_before(strategy),
            keys.model_changes,
        ]
        values = (strategy, version, expected, action, _bounded(who), _bounded(why))
        outcome, other = self._evaluate(_ACTIVATE, names, *values, REMEMBERED, KEPT_CHANGES)
        if outcome == b"unknown":
            raise NotFound(f"there is no model {version} of the strategy {strategy}")
        _refuse_pinned(outcome, strategy, other.decode())
        if outcome == b"changed":
            raise VersionConflict(
                f"{other.decode()[:SHOWN] or 'nothing'} serves {strategy} by now: look at it and try again"
            )

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
        return bool(self._evaluate(_REMOVE, names, record.version, record.strategy))

    def _evaluate(self, script: str, keys: list[str], *values: str | bytes | int) -> Any:
        with store_errors():
            return self._client.eval(script, len(keys), *keys, *values)


def _chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Cut a run of bytes anew, into chunks of the same size but for the last."""
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


def _patiently(call: Callable[[], T]) -> T:
    """Repeat what may be repeated while the server is away."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            return call()
        except StoreUnavailable:
            if time.monotonic() > until:
                raise
        _PAUSE.wait(PAUSE_S)


def _refuse_pinned(outcome: bytes, strategy: str, version: str) -> None:
    if outcome == b"pinned":
        raise VersionConflict(
            f"version {version[:SHOWN]} of {strategy} is pinned: unpin it first",
            code="model_pinned",
        )


def _no_earlier(strategy: str) -> Conflict:
    return Conflict(
        f"no earlier version of {strategy} is left to go back to: promote one of those that "
        "`hedgerow models list` shows",
        code="no_earlier_version",
    )


def _change(name: bytes, fields: Mapping[bytes, bytes]) -> ModelChange:
    text = {field.decode(): value.decode() for field, value in fields.items()}
    before = text.pop("before") or None
    at_ms = int(name.partition(b"-")[0])
    return ModelChange(id=name.decode(), at_ms=at_ms, before=before, **text)


def _unknown(version: str) -> NotFound:
    return NotFound(
        f"there is no model {version!r}, nor one whose version begins so: `hedgerow models list` shows all"
    )


def _bounded(text: str) -> str:
    return text[:MOST_TEXT]
