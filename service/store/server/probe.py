"""Finds out whether the server writes: its memory or disk may be full, or it may be a replica."""

import time

import redis.asyncio

from service.errors import StoreRefuses
from service.store.connection import store_errors
from service.store.keys import NamespaceKeys

FRESH_S = 1.0
"""Seconds for which an outcome holds: whoever asks for readiness cannot make the server write."""
EXPIRES_MS = 10_000


class WriteProbe:
    """Writes a key that expires: no report of a server names every reason to refuse a write."""

    def __init__(self, client: redis.asyncio.Redis, namespace: str) -> None:
        self._client, self._key = client, NamespaceKeys(namespace).probe
        self._until, self._refusal = float("-inf"), ""

    async def refusal(self) -> str | None:
        """Return why the server refuses writes, None if it takes them; or StoreUnavailable."""
        if time.monotonic() >= self._until:
            try:
                with store_errors():
                    await self._client.set(self._key, "", px=EXPIRES_MS)
                self._refusal = ""
            except StoreRefuses as error:
                self._refusal = error.detail
            self._until = time.monotonic() + FRESH_S
        return self._refusal or None
