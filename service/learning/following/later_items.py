"""Items that were added after a training: the follower judges lists with them, as in slates."""

import time
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from service.ranking.ranker import MOST_LATER, Ranker
from service.store.connection import Client, store_errors
from service.store.keys import NamespaceKeys

SLICE = 500
"""Number of documents in one read."""
SHARE = 0.02
"""Largest share of the time that reading them may take."""


class LaterItems:
    """Adds later items to rankers; reads their documents when the catalogue has changed."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client, self._keys = client, NamespaceKeys(namespace)
        self._rankers: dict[str, Ranker] = {}
        """Rankers with later items, by version, made from the documents as of ``_seen``."""
        self._seen: tuple[int, bytes] | None = None
        self._due = 0.0

    def added(self, rankers: Iterable[Ranker]) -> list[Ranker]:
        """Return the rankers, with later items if their family ranks later items."""
        rankers = list(rankers)
        readers = [ranker for ranker in rankers if ranker.family.reads_later_items]
        if readers and (self._new(readers) or time.monotonic() >= self._due):
            self._refresh(readers)
        return [self._rankers.get(ranker.version, ranker) for ranker in rankers]

    def _new(self, rankers: Iterable[Ranker]) -> bool:
        return any(ranker.version not in self._rankers for ranker in rankers)

    def _refresh(self, rankers: Iterable[Ranker]) -> None:
        began, state = time.monotonic(), self._state()
        if state != self._seen or self._new(rankers):
            self._rankers = {
                ranker.version: ranker.with_later(ranker.later_vectors(self._bodies(ranker)))
                for ranker in rankers
            }
            self._seen = state
        self._due = time.monotonic() + (time.monotonic() - began) / SHARE

    def _state(self) -> tuple[int, bytes]:
        """Return the number of items, and the id of the newest change of a document."""
        with store_errors():
            count = self._client.llen(self._keys.item_ids)
            newest: Any = self._client.xrevrange(self._keys.catalogue_changes, count=1)
        return count, newest[0][0] if newest else b""

    def _bodies(self, ranker: Ranker) -> list[Mapping[str, Any]]:
        with store_errors():
            count = self._client.llen(self._keys.item_ids)
        last = min(count, ranker.n_items + MOST_LATER)
        bodies: list[Mapping[str, Any]] = []
        for first in range(ranker.n_items, last, SLICE):
            numbers = range(first, min(first + SLICE, last))
            keys = [self._keys.item_document(number) for number in numbers]
            with store_errors():
                stored = cast("list[bytes | None]", self._client.mget(keys))
            bodies += [_body(packed) for packed in stored]
        return bodies


def _body(packed: bytes | None) -> Mapping[str, Any]:
    body: Mapping[str, Any] = {} if packed is None else msgspec.json.decode(packed)
    return {} if body.get("deleted") else body
