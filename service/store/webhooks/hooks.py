"""The webhooks of a namespace: one value, changed by compare-and-set.

Synchronous: the api calls it in a thread.
"""

import base64
import secrets
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec
import redis
from msgspec.structs import replace
from redis import exceptions as redis_errors

from service.errors import Conflict, NotFound
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.keys import NamespaceKeys
from service.store.webhooks.deliveries import Deliveries
from service.store.webhooks.records import MOST, Webhook

SECRET = "whsec_"  # noqa: S105 - how secrets begin
SECRET_BYTES = 32

_decode = msgspec.json.Decoder(tuple[Webhook, ...]).decode


class Webhooks:
    """The webhooks of a namespace, the oldest first."""

    def __init__(self, client: redis.Redis, namespace: str) -> None:
        self._client, self._keys = client, NamespaceKeys(namespace)
        self._deliveries = Deliveries(client, namespace)

    def all(self) -> tuple[Webhook, ...]:
        """Return all webhooks."""
        with store_errors():
            return _unpacked(cast("bytes | None", self._client.get(self._keys.webhooks)))

    def named(self, webhook: str) -> Webhook:
        """Return a webhook by its id; NotFound if there is none."""
        return _named(self.all(), webhook)

    def create(self, url: str, events: Sequence[str], name: str) -> Webhook:
        """Make a webhook with a new secret; Conflict if there are too many."""
        key = base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
        new = Webhook(
            id=secrets.token_hex(5),
            name=name,
            url=url,
            events=tuple(events),
            secret=SECRET + key,
            created_ms=now_ms(),
        )

        def added(before: Sequence[Webhook]) -> Sequence[Webhook]:
            if len(before) >= MOST:
                raise Conflict(
                    f"there are {MOST} webhooks: delete one first, by "
                    "DELETE /v1/webhooks/{webhook}"
                )
            return [*before, new]

        self._change(added)
        return new

    def disable(self, webhook: str, why: str) -> None:
        """Send nothing to a webhook any longer; without effect if it is gone."""
        self._change(
            lambda before: [
                replace(one, disabled=why) if one.id == webhook else one for one in before
            ]
        )

    def delete(self, webhook: str) -> Webhook:
        """Forget a webhook and all that waits for it, and return it; NotFound if there is none."""
        gone: list[Webhook] = []

        def left(before: Sequence[Webhook]) -> Sequence[Webhook]:
            gone.append(_named(before, webhook))
            return [one for one in before if one.id != webhook]

        self._change(left)
        # what is queued after this is forgotten by the sender
        self._deliveries.forget(webhook)
        return gone[-1]

    def _change(self, change: Callable[[Sequence[Webhook]], Sequence[Webhook]]) -> None:
        pipe: Any
        with store_errors(), self._client.pipeline() as pipe:
            while True:
                try:
                    pipe.watch(self._keys.webhooks)
                    after = change(_unpacked(pipe.get(self._keys.webhooks)))
                    pipe.multi()
                    pipe.set(self._keys.webhooks, msgspec.json.encode(after))
                    pipe.execute()
                    return
                except redis_errors.WatchError:
                    continue


def _named(webhooks: Sequence[Webhook], webhook: str) -> Webhook:
    for one in webhooks:
        if one.id == webhook:
            return one
    raise NotFound(f"there is no webhook {webhook!r}: GET /v1/webhooks lists them")


def _unpacked(stored: bytes | None) -> tuple[Webhook, ...]:
    return () if stored is None else _decode(stored)
