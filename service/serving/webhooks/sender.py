"""Tells webhooks what happens: one api process does it for all, the others stand by.

What happens is queued in the store first, so that nothing is lost with a process. Each webhook gets
one delivery after the other; one that does not answer keeps no other waiting.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from msgspec.structs import replace

from service.errors import StoreUnavailable, Superseded
from service.serving.alarms import Alarms
from service.serving.copies.polling import Polled
from service.serving.webhooks.news import Event, Records, Settling
from service.serving.webhooks.receivers import Outcome, Receivers
from service.store.clock import now_ms
from service.store.log.lease import Lease
from service.store.webhooks.deliveries import Deliveries, new_delivery
from service.store.webhooks.hooks import Webhooks
from service.store.webhooks.records import Delivery, Seen, Webhook
from service.telemetry import logger

LEASE_MS = 60_000
"""Longer than the pause between two looks."""
PAUSES_S = (5, 60, 300, 1_800, 7_200, 18_000, 36_000, 36_000)
"""Pauses before a delivery is sent again, some 30 hours in all; then it is given up."""
OUTCOMES = ("delivered", "failed", "given_up")
"""How a try may go; after one that failed there is another."""
LONGEST_WAIT_S = 36_000.0
"""Longest pause that a receiver may ask for."""


@dataclass(frozen=True)
class WebhookStore:
    """What the sender reads and writes."""

    webhooks: Webhooks
    deliveries: Deliveries
    lease: Lease


class WebhookSender(Polled):
    """Queues and sends what happens, while this process has the lease."""

    def __init__(
        self,
        store: WebhookStore,
        records: Records,
        alarms: Alarms,
        receivers: Receivers,
        *,
        settling: Settling | None = None,
        pauses_s: Sequence[float] = PAUSES_S,
    ) -> None:
        super().__init__()
        self.store, self._records, self._alarms = store, records, alarms
        self._receivers, self._pauses_s = receivers, pauses_s
        self._settling = settling or Settling()
        self._sending: dict[str, asyncio.Task[None]] = {}
        """The task that sends to a webhook now, by its id."""
        self.on_outcome: Callable[[str], object] = lambda outcome: None
        """Called with how each try went, see ``OUTCOMES``."""

    async def refresh(self) -> None:
        """Queue what has happened, and begin to send what is due, unless another process does."""
        webhooks = await asyncio.to_thread(self.store.webhooks.all)
        # something may wait for webhooks that are gone
        if not webhooks and not await asyncio.to_thread(self.store.deliveries.waiting):
            return
        if not await asyncio.to_thread(self.store.lease.keep):
            return
        # another process may have the lease: this one stops when it is to renew it, and neither
        # queues nor sends anything before
        with suppress(Superseded):
            if webhooks:
                await self._queue([one for one in webhooks if not one.disabled])
            await self._begin(webhooks)

    async def close(self) -> None:
        """Stop, and let another process go on at once."""
        await super().close()
        tasks = list(self._sending.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._receivers.close()
        with suppress(StoreUnavailable):
            await asyncio.to_thread(self.store.lease.release)

    async def _queue(self, webhooks: Sequence[Webhook]) -> None:
        found = await self._alarms.now()
        deliveries = self.store.deliveries
        before = await asyncio.to_thread(deliveries.seen)
        seen = before or Seen()
        records = await asyncio.to_thread(self._records.since, seen)
        alarms = self._settling.look(found, seen.alarms)
        now = replace(records.seen, alarms=alarms.seen.alarms)
        if now == before:
            return
        new = [
            new_delivery(webhook.id, event.type, body_of(event), number)
            for number, event in enumerate((*records.events, *alarms.events))
            for webhook in webhooks
            if event.concerns(webhook)
        ]
        token = self.store.lease.token
        unsent = await asyncio.to_thread(deliveries.queue, new, now, token)
        for _ in range(unsent):
            self.on_outcome("given_up")

    async def _begin(self, webhooks: Sequence[Webhook]) -> None:
        """Begin to send what is due to those that nothing is sent to."""
        # before what is due is read: what is on its way then may have arrived when it was read
        free = [one for one in webhooks if one.id not in self._sending]
        due: dict[str, list[Delivery]] = defaultdict(list)
        for delivery in await asyncio.to_thread(self.store.deliveries.due):
            due[delivery.webhook].append(delivery)
        for webhook in free:
            if webhook.id in due:
                task = asyncio.create_task(self._send(webhook, due[webhook.id]))
                self._sending[webhook.id] = task
                task.add_done_callback(self._sent(webhook.id))
        if due.keys() - {one.id for one in webhooks}:
            await asyncio.to_thread(self._forget, due.keys())

    def _forget(self, webhooks: Iterable[str]) -> None:
        """Forget what waits for those that were deleted while it was queued."""
        # read after what is due: one of these that is not here now was deleted, and is not new
        there = {one.id for one in self.store.webhooks.all()}
        for webhook in webhooks:
            if webhook not in there:
                self.store.deliveries.forget(webhook)

    async def _send(self, webhook: Webhook, deliveries: Sequence[Delivery]) -> None:
        """Send what is due; after a failure the rest waits for the next look."""
        store, token = self.store.deliveries, self.store.lease.token
        for delivery in deliveries:
            if not await asyncio.to_thread(store.may_send, delivery, token):
                return
            if webhook.disabled:
                outcome = Outcome(delivery.status, webhook.disabled)
                ended = _ended(delivery, outcome)
            else:
                outcome = await self._receivers.post(webhook, delivery)
                ended = self._after(replace(delivery, tries=delivery.tries + 1), outcome)
            await asyncio.to_thread(store.note, ended, token)
            self._tell(ended)
            if outcome.is_refused_for_ever:
                await self._disable(webhook)
                return
            if outcome.error and not webhook.disabled:
                return

    def _after(self, tried: Delivery, outcome: Outcome) -> Delivery:
        """Return a delivery after a try: ended, or to be sent again after a pause."""
        is_last = tried.tries > len(self._pauses_s) or outcome.is_refused_for_ever
        if not outcome.error or is_last:
            return _ended(tried, outcome)
        asked_s = min(outcome.after_s, LONGEST_WAIT_S)
        pause_s = max(self._pauses_s[tried.tries - 1], asked_s)
        next_ms = now_ms() + int(1_000 * pause_s)
        return replace(tried, next_ms=next_ms, status=outcome.status, error=outcome.error)

    def _tell(self, after: Delivery) -> None:
        self.on_outcome("failed" if after.state == "waiting" else after.state)
        if after.state == "given_up":
            logger().warning(
                "webhook_given_up",
                webhook=after.webhook,
                delivery=after.id,
                type=after.type,
                tries=after.tries,
                error=after.error,
            )

    async def _disable(self, webhook: Webhook) -> None:
        why = "the receiver answered 410: it wants nothing any longer"
        await asyncio.to_thread(self.store.webhooks.disable, webhook.id, why)
        logger().warning("webhook_disabled", webhook=webhook.id, why=why)

    def _sent(self, webhook: str) -> Callable[[asyncio.Task[None]], None]:
        def ended(task: asyncio.Task[None]) -> None:
            del self._sending[webhook]
            error = None if task.cancelled() else task.exception()
            # what could not be noted is due again, here or in the process that sends now
            if error is not None and not isinstance(error, StoreUnavailable | Superseded):
                logger().error("polling_failed", what="WebhookSender", exc_info=error)

        return ended


def body_of(event: Event) -> str:
    """Return what is sent of an event."""
    at = datetime.fromtimestamp(event.at_ms / 1_000, UTC).isoformat(timespec="milliseconds")
    said = {"type": event.type, "timestamp": at.replace("+00:00", "Z"), "data": event.data}
    return msgspec.json.encode(said).decode()


def _ended(delivery: Delivery, outcome: Outcome) -> Delivery:
    return replace(
        delivery,
        next_ms=None,
        ended_ms=now_ms(),
        status=outcome.status,
        error=outcome.error,
    )
