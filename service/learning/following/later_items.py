"""Items that came after a training: the follower judges lists that hold them, as in slates."""

import time
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from service.ranking.ranker import MOST_LATER, Ranker
from service.store.connection import Client, store_errors
from service.store.keys import NamespaceKeys

SLICE = 500
"""Documents of one read."""
SHARE = 0.02
"""Largest share of the time that reading them may take."""


class LaterItems:
    """Reads their documents when the catalogue has changed."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client, self._keys = client, NamespaceKeys(namespace)
        self._rankers: dict[str, Ranker] = {}
        """Rankers with later items by version, made of what ``_seen`` says."""
        self._seen: tuple[int, bytes] | None = None
        self._due = 0.0

    def added(self, rankers: Iterable[Ranker]) -> list[Ranker]:
        """Return the rankers, with later items where their family ranks such."""
        found = list(rankers)
        ranking = [ranker for ranker in found if ranker.family.reads_later_items]
        if ranking and (self._new(ranking) or time.monotonic() >= self._due):
            self._refresh(ranking)
        return [self._rankers.get(ranker.version, ranker) for ranker in found]

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
        """Return how many items there are, and the newest change of a document."""
        with store_errors():
            count = self._client.llen(self._keys.item_ids)
            newest: Any = self._client.xrevrange(self._keys.catalogue_changes, count=1)
        return count, newest[0][0] if newest else b""

    def _bodies(self, ranker: Ranker) -> list[Mapping[str, Any]]:
        with store_errors():
            count = self._client.llen(self._keys.item_ids)
        last = min(count, ranker.n_items + MOST_LATER)
        found: list[Mapping[str, Any]] = []
        for first in range(ranker.n_items, last, SLICE):
            numbers = range(first, min(first + SLICE, last))
            keys = [self._keys.item_document(number) for number in numbers]
            with store_errors():
                stored = cast("list[bytes | None]", self._client.mget(keys))
            found += [_body(packed) for packed in stored]
        return found


def _body(packed: bytes | None) -> Mapping[str, Any]:
    body: Mapping[str, Any] = {} if packed is None else msgspec.json.decode(packed)
    return {} if body.get("deleted") else body
