"""The inbox in Redis: events of programs that speak Redis and nothing else."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from time import monotonic

from service.errors import Misconfigured, StoreUnavailable
from service.ingest.sending import Answer, Message
from service.ingest.source import dead_letter
from service.store.connection import connect, connect_async
from service.store.inbox import Entry, Inbox, Refusal
from service.store.namespace import read_namespace, refuse_half_restored

LOOK_S = 1.0
"""Seconds that Redis waits for the first entry of a batch."""


@dataclass(frozen=True)
class InboxOptions:
    """Which entries are read, and how."""

    url: str
    namespace: str
    batch: int = 500
    ack_wait_s: float = 30.0


class InboxSource:
    """The inboxes of a namespace."""

    name = "Redis"
    away: tuple[type[Exception], ...] = (StoreUnavailable,)

    def __init__(self, options: InboxOptions) -> None:
        self._options = options
        self.about: Mapping[str, str] = {"inbox": options.namespace}

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["InboxStream"]:
        """Join the group; Misconfigured if the store does not have the namespace."""
        partitions, identity = await asyncio.to_thread(self._look)
        options = self._options
        async with connect_async(options.url, role="ingest") as client:
            inbox = Inbox(client, options.namespace, partitions, options.ack_wait_s)
            await inbox.open()
            try:
                yield InboxStream(inbox, options, identity)
            finally:
                with suppress(StoreUnavailable):
                    await inbox.close()

    def _look(self) -> tuple[int, str]:
        """Return the number of partitions, and what tells this namespace from one made anew."""
        name = self._options.namespace
        with connect(self._options.url, role="ingest") as client:
            refuse_half_restored(client, name)
            namespace = read_namespace(client, name)
        if namespace is None:
            raise Misconfigured(
                f"the store has no namespace {name!r}: start the service first, or set "
                "HEDGEROW_NAMESPACE as for the service"
            )
        return namespace.partitions, namespace.created


class InboxStream:
    """Entries, in the order of their stream unless some are taken over from another process."""

    is_closed = True
    """After an error the store may be another one: it is looked at again."""

    def __init__(self, inbox: Inbox, options: InboxOptions, created: str) -> None:
        self._inbox, self._options, self._created = inbox, options, created
        self._looked = -options.ack_wait_s

    async def next(self) -> list[Entry]:
        """Return up to a batch of entries; none if none came for a moment."""
        if monotonic() - self._looked >= self._options.ack_wait_s:
            found = await self._inbox.take_over(self._options.batch)
            if found:
                return found
            self._looked = monotonic()
        return await self._inbox.read(self._options.batch, LOOK_S)

    def message(self, delivered: Entry) -> Message:
        """Return what is sent of an entry, under an id that stays the same."""
        where = f"{self._created}/{delivered.partition}/{delivered.id}"
        return Message(f"inbox/{where}", delivered.event)

    async def hold(self, delivered: Sequence[Entry]) -> None:
        """Tell the other processes again and again that these are being worked on."""
        while True:
            await asyncio.sleep(self._options.ack_wait_s / 3)
            await self._inbox.hold(delivered)

    async def finish(self, answered: Sequence[tuple[Entry, Answer]]) -> AsyncIterator[Answer]:
        """Remove entries, and keep what could not be accepted of them."""
        done = [(entry, self._refusal(entry, answer)) for entry, answer in answered]
        await self._inbox.finish(done)
        for _, answer in answered:
            yield answer

    def _refusal(self, entry: Entry, answer: Answer) -> Refusal | None:
        if answer.is_whole:
            return None
        return Refusal(*dead_letter(self.message(entry), answer))
