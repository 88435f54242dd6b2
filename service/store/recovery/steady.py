"""Makes sure that what was read for a long time is still what it was when it is written about.

A training reads item numbers, works for minutes, and publishes a model that names them. If the
store went back meanwhile, the same numbers may be those of other items.
"""

import hashlib
from typing import cast

import redis

from service.errors import StoreRolledBack
from service.store.connection import store_errors
from service.store.identity.survey import survey
from service.store.keys import NamespaceKeys
from service.store.namespace import Namespace

IDS_READ = 10_000
"""Ids in one read: bounds how long other clients wait."""


class SteadyItems:
    """The numbers of all items at one moment."""

    def __init__(self, client: redis.Redis, namespace: Namespace) -> None:
        self._client, self._namespace = client, namespace
        self._began = survey(client, namespace.name, namespace.partitions)
        self._digest = self._digest_now()

    def token(self) -> str:
        """Return the token of the store (``identity.known``), for the script that publishes.

        StoreRolledBack if numbers that were given at that moment may mean other items now.
        """
        began, space = self._began, self._namespace
        now = survey(self._client, space.name, space.partitions)
        lost = now.identity != began.identity or now.positions.lacks(began.positions)
        if lost or (now.run != began.run and self._digest_now() != self._digest):
            raise StoreRolledBack("the store went back during the training: retrain again")
        return f"{now.identity}/{now.run}"

    def _digest_now(self) -> bytes:
        """Return a digest of the ids of the first items, as many as there were at that moment."""
        digest, n = hashlib.sha256(), self._began.positions.items
        for first in range(0, n, IDS_READ):
            last = min(first + IDS_READ, n) - 1
            with store_errors():
                ids = self._client.lrange(NamespaceKeys(self._namespace.name).item_ids, first, last)
            for item in cast("list[bytes]", ids):
                digest.update(b"%d:%b" % (len(item), item))
        return digest.digest()
