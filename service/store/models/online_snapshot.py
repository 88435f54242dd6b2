"""The newest online snapshot of a partition: chunks, and a manifest with their checksums.

It is derived and replaced every few seconds; only the learner's process writes it.
"""

import json
import secrets
from collections.abc import Iterator
from typing import Any, cast

import redis

from core.errors import SnapshotFormat
from core.snapshot import Snapshot, blob
from service.errors import NotFound
from service.store.connection import store_errors
from service.store.keys import PartitionKeys

CHUNK_BYTES = 1 << 20
"""Bytes per write: bounds how long other clients of Redis wait."""
UNPUBLISHED_S = 600
"""Seconds until chunks expire that no manifest names (any longer)."""


class OnlineSnapshots:
    """The online snapshot of one partition; a source for ``SnapshotFiles``."""

    def __init__(self, client: redis.Redis, keys: PartitionKeys) -> None:
        self._client, self._keys = client, keys

    def publish(self, snapshot: Snapshot) -> None:
        """Replace the previous snapshot, whose readers still find its chunks for some minutes."""
        before, upload = self._described(), secrets.token_hex(4)
        data = b"".join(blob(snapshot))
        names = [
            self._keys.online_snapshot_chunk(upload, index)
            for index in range(-(-len(data) // CHUNK_BYTES))
        ]
        for index, name in enumerate(names):
            with store_errors():
                part = data[index * CHUNK_BYTES : (index + 1) * CHUNK_BYTES]
                self._client.set(name, part, ex=UNPUBLISHED_S)
        described = {
            "version": snapshot.version,
            "upload": upload,
            "chunks": len(names),
            "manifest": snapshot.manifest,
        }
        with store_errors():
            pipe = self._client.pipeline(transaction=True)
            for name in names:
                pipe.persist(name)
            pipe.set(self._keys.online_snapshot, json.dumps(described))
            for name in self._chunk_keys(before) if before else ():
                pipe.expire(name, UNPUBLISHED_S)
            pipe.execute()

    def version(self) -> str | None:
        """Return the version of the newest snapshot, None before the first."""
        described = self._described()
        return None if described is None else cast("str", described["version"])

    def manifest(self, version: str) -> dict[str, Any]:
        """Return the manifest of the arrays; NotFound if the version is no longer the newest."""
        return cast("dict[str, Any]", self._newest(version)["manifest"])

    def chunks(self, version: str) -> Iterator[bytes]:
        """Yield the bytes of the arrays; raises NotFound, or SnapshotFormat for a missing chunk."""
        for name in self._chunk_keys(self._newest(version)):
            with store_errors():
                chunk = cast("bytes | None", self._client.get(name))
            if chunk is None:
                raise SnapshotFormat(
                    "a chunk of the online snapshot is missing: the next snapshot comes soon"
                )
            yield chunk

    def _newest(self, version: str) -> dict[str, Any]:
        described = self._described()
        if described is None or described["version"] != version:
            raise NotFound("this online snapshot was replaced: take the newest")
        return described

    def _described(self) -> dict[str, Any] | None:
        with store_errors():
            answer = cast("bytes | None", self._client.get(self._keys.online_snapshot))
        return None if answer is None else cast("dict[str, Any]", json.loads(answer))

    def _chunk_keys(self, described: dict[str, Any]) -> list[str]:
        upload = described["upload"]
        return [
            self._keys.online_snapshot_chunk(upload, index) for index in range(described["chunks"])
        ]
