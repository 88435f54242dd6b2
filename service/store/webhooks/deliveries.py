"""The deliveries of each webhook: those that wait, and how the latest ended.

A delivery is queued in one step with the note that its event was looked at, so it is queued once.
It may be sent more than once: whoever sends it may end before it can note the answer. Synchronous:
the api calls it in a thread.
"""

import secrets
from collections.abc import Sequence
from importlib import resources
from typing import Any, cast

import msgspec
import redis

from service.errors import Superseded
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.keys import NamespaceKeys
from service.store.webhooks.records import MOST, Delivery, Seen

KEPT, KEPT_S = 200, 30 * 86_400
"""Deliveries that are kept of each webhook, also those that wait, and for how long after the last
one; the oldest leave first."""
AT_ONCE = MOST * KEPT
"""Most deliveries that are read at once: all, so that those of one webhook hide no other's."""

_QUEUE, _NOTE = (
    resources.files(__package__).joinpath(name).read_text()
    for name in ("queue_deliveries.lua", "note_delivery.lua")
)
_ANYBODY, _NOTHING = "", b""
_SUPERSEDED = "another process sends to webhooks now"

_decode = msgspec.json.Decoder(Delivery).decode


def new_delivery(webhook: str, event: str, body: str, number: int = 0) -> Delivery:
    """Return a delivery that is due at once; ``number`` orders those of the same millisecond."""
    now = now_ms()
    return Delivery(
        # zeros: ids sort by time
        id=f"msg_{now:012x}{number:04x}{secrets.token_hex(6)}",
        webhook=webhook,
        type=event,
        body=body,
        created_ms=now,
        next_ms=now,
    )


class Deliveries:
    """The deliveries to all webhooks of a namespace."""

    def __init__(self, client: redis.Redis, namespace: str, *, kept: int = KEPT) -> None:
        self._client, self._kept = client, kept
        self._keys = NamespaceKeys(namespace)

    def seen(self) -> Seen | None:
        """Return how far what happens was looked at; None: never."""
        with store_errors():
            stored = cast("bytes | None", self._client.get(self._keys.webhooks_seen))
        return None if stored is None else msgspec.json.decode(stored, type=Seen)

    def queue(self, deliveries: Sequence[Delivery], seen: Seen, token: str) -> int:
        """Queue deliveries and note what is seen with them, as the holder of the sender's lease.

        Return how many that waited had to make room. Superseded if another process has the lease.
        """
        return self._queue(deliveries, msgspec.json.encode(seen), token)

    def queue_one(self, delivery: Delivery) -> None:
        """Queue a delivery that somebody asked for."""
        self._queue([delivery], _NOTHING, _ANYBODY)

    def waiting(self) -> int:
        """Return how many deliveries wait."""
        with store_errors():
            return int(self._client.zcard(self._keys.webhooks_due))

    def due(self) -> list[Delivery]:
        """Return deliveries that are to be sent now, those that have waited longest first."""
        with store_errors():
            found = self._client.zrange(
                self._keys.webhooks_due, 0, now_ms(), byscore=True, offset=0, num=AT_ONCE
            )
            members = cast("list[bytes]", found)
            pipe = self._client.pipeline(transaction=False)
            for member in members:
                webhook, _, name = member.decode().partition(" ")
                pipe.hget(self._keys.webhook_deliveries(webhook), name)
            stored = pipe.execute()
            # their webhook was deleted
            gone = [m for m, one in zip(members, stored, strict=True) if one is None]
            if gone:
                self._client.zrem(self._keys.webhooks_due, *gone)
        return [_decode(one) for one in stored if one is not None]

    def of(self, webhook: str) -> list[Delivery]:
        """Return what is kept of a webhook, the newest first."""
        with store_errors():
            stored = self._client.hvals(self._keys.webhook_deliveries(webhook))
        found = [_decode(one) for one in cast("list[bytes]", stored)]
        return sorted(found, key=lambda one: one.id, reverse=True)

    def may_send(self, delivery: Delivery, token: str) -> bool:
        """Return whether the sender's lease has this token and the delivery was not forgotten."""
        pipe = self._client.pipeline(transaction=False)
        pipe.get(self._keys.webhook_sender)
        pipe.hexists(self._keys.webhook_deliveries(delivery.webhook), delivery.id)
        with store_errors():
            holder, is_there = pipe.execute()
        return bool(is_there) and holder == token.encode()

    def note(self, delivery: Delivery, token: str) -> None:
        """Note how a try went, unless the delivery or its webhook was forgotten meanwhile.

        Superseded if another process has the lease.
        """
        keys = [self._keys.webhook_sender, self._keys.webhook_deliveries(delivery.webhook)]
        keys.append(self._keys.webhooks_due)
        due = "" if delivery.next_ms is None else delivery.next_ms
        values = [token, delivery.webhook, delivery.id, _packed(delivery), due]
        with store_errors():
            noted: Any = self._client.eval(_NOTE, len(keys), *keys, *values)
        if noted < 0:
            raise Superseded(_SUPERSEDED)

    def forget(self, webhook: str) -> None:
        """Forget all deliveries of a webhook that was deleted."""
        key = self._keys.webhook_deliveries(webhook)
        with store_errors(), self._client.pipeline() as pipe:
            for name in cast("list[bytes]", self._client.hkeys(key)):
                pipe.zrem(self._keys.webhooks_due, f"{webhook} {name.decode()}")
            pipe.unlink(key)
            pipe.execute()

    def _queue(self, deliveries: Sequence[Delivery], seen: bytes, token: str) -> int:
        keys = [self._keys.webhook_sender, self._keys.webhooks_seen, self._keys.webhooks_due]
        to = sorted({one.webhook for one in deliveries})
        index = {webhook: len(keys) + 1 + n for n, webhook in enumerate(to)}
        keys += [self._keys.webhook_deliveries(webhook) for webhook in to]
        values: list[Any] = [token, seen, self._kept, KEPT_S]
        for one in deliveries:
            due = one.created_ms if one.next_ms is None else one.next_ms
            values += [index[one.webhook], one.webhook, one.id, _packed(one), due]
        with store_errors():
            unsent: Any = self._client.eval(_QUEUE, len(keys), *keys, *values)
        if unsent < 0:
            raise Superseded(_SUPERSEDED)
        return int(unsent)


def _packed(delivery: Delivery) -> str:
    return msgspec.json.encode(delivery).decode()
