"""Erases deleted users: removes their traces from the store, then from the private server's disk.

One api process does it for all. Every step may be repeated: what a process leaves undone, the next
one takes up.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic

from service.errors import StoreUnavailable
from service.serving.copies.polling import Polled
from service.store.catalogue.documents import Body, Catalogue, UnreadableDocument
from service.store.erasures.records import Due, Erasures, Removed, again, deletion
from service.store.erasures.rewriting import Rewriting
from service.store.erasures.traces import Linking, Traces
from service.store.log.append_queue import AppendQueue
from service.store.log.lease import Lease
from service.telemetry import logger

LEASE_MS = 120_000
"""Longer than a pass over the documents, and than the pause between two looks."""
GRACE_S = 1.0
"""How long after a deletion was seen to be learned its entry leaves the change feed: by then every
process that runs has read it. One that has not forgets everybody, see ``Traces.leave_streams``."""
AT_ONCE = 1_000
"""Most users that share a pass over all documents."""

LOOKS = 16
"""How often links are looked at that were written meanwhile, before all begins anew."""
SHOWN = 10
"""Most users named in the log because their documents cannot be read."""

Until = Mapping[str, int]
"""The place of the latest deletion of each user."""


@dataclass(frozen=True)
class ErasureStore:
    """What erasing reads and writes."""

    records: Erasures
    traces: Traces
    catalogue: Catalogue
    lease: Lease
    append_queue: AppendQueue
    rewriting: Rewriting | None
    """None: the store is a given server, whose operator decides about its files."""


@dataclass
class _Unlinked:
    """What has become of the documents that linked to the users that are erased."""

    changed: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)


class Erasing(Polled):
    """Erases deleted users while it is open."""

    def __init__(self, store: ErasureStore) -> None:
        super().__init__()
        self._store = store
        self._learned_at: dict[tuple[str, int], float] = {}
        """When the deletion of an erasure, at its place, was first seen to be learned."""

    async def refresh(self) -> None:
        """Do what is due now, unless another process does."""
        due, learned = await asyncio.to_thread(self._due)
        ready = self._ready([one for one in due if one.user], learned)[:AT_ONCE]
        if ready:
            await self._erase(await self._learned(ready))
        if self._store.rewriting is not None and any(not one.user for one in due):
            await asyncio.to_thread(self._leave_disk, self._store.rewriting, due)

    async def close(self) -> None:
        """Stop, and let another process take up what is due at once."""
        await super().close()
        with suppress(StoreUnavailable):
            await asyncio.to_thread(self._store.lease.release)

    def _due(self) -> tuple[list[Due], Sequence[int]]:
        """Return what is due, and how far each partition has learned.

        That is read from the store: what this process remembers of it may be lost since.
        """
        due = self._store.records.due()
        if not due or not self._store.lease.keep():
            return [], ()
        return due, self._store.traces.learned()

    def _ready(self, due: Sequence[Due], learned: Sequence[int]) -> list[Due]:
        """Return those whose deletions were seen to be learned long enough ago."""
        now, before = monotonic(), self._learned_at
        places = {(one.erasure.id, one.erasure.sequence): one for one in due}
        self._learned_at = {
            place: before.get(place, now)
            for place, one in places.items()
            if learned[one.erasure.partition] >= one.erasure.sequence
        }
        return [places[place] for place, at in self._learned_at.items() if now - at >= GRACE_S]

    async def _learned(self, ready: Sequence[Due]) -> list[Due]:
        """Return those whose deletion was carried out; order the others' deletion anew.

        The watermark also passes a deletion that was set aside, and then the user's data is there.
        """
        lost = await asyncio.to_thread(self._set_aside, ready)
        for one in lost:
            queue, erasure = self._store.append_queue, one.erasure
            packed = deletion(one.user, queue.clock())
            # moves the receipt to the new place in the same step, so it is due again only then
            placed = await queue.submit_entry(erasure.partition, packed, 1, order=again(one))
            place = {"sequence": placed.last, "set_aside": erasure.sequence}
            logger().warning("deletion_repeated", partition=erasure.partition, **place)
        return [one for one in ready if one not in lost]

    def _set_aside(self, ready: Sequence[Due]) -> list[Due]:
        traces = self._store.traces
        return [
            one for one in ready if traces.is_set_aside(one.erasure.partition, one.erasure.sequence)
        ]

    async def _erase(self, due: Sequence[Due]) -> None:
        if not due:
            return
        until: dict[int, dict[str, int]] = defaultdict(dict)
        for one in due:
            of = until[one.erasure.partition]
            of[one.user] = max(of.get(one.user, 0), one.erasure.sequence)
        users, done = {user for of in until.values() for user in of}, [one.erasure for one in due]
        traces, unlinked = self._store.traces, _Unlinked()
        await asyncio.to_thread(traces.begin)
        await self._unlink(await asyncio.to_thread(traces.linking, users), users, unlinked)
        events, unreadable = await asyncio.to_thread(self._leave_streams, until)
        noted = partial(
            self._store.records.note_erased, is_private=self._store.rewriting is not None
        )
        for _ in range(LOOKS):
            removed = Removed(len(unlinked.changed), events, unreadable, len(unlinked.unreadable))
            if await asyncio.to_thread(noted, done, removed):
                logger().info("users_erased", n=len(done))
                return
            found = await asyncio.to_thread(traces.linking_since, users)
            await self._unlink(found, users, unlinked)
        # all of it is due again at the next look
        logger().warning("users_not_erased", n=len(done), looks=LOOKS)

    async def _unlink(self, found: Linking, users: set[str], unlinked: "_Unlinked") -> None:
        """Take the users out of the links of those who were found to have some."""

        def edit(body: Body | None) -> Body | None:
            return body and without_links(body, users)

        unreadable = list(found.unreadable)
        for user in found.users:
            try:
                await self._store.catalogue.change_user(user, edit)
                unlinked.changed.add(user)
            except UnreadableDocument:
                unreadable.append(user)
        if unreadable:
            logger().error("documents_unreadable", n=len(unreadable), users=unreadable[:SHOWN])
            unlinked.unreadable.update(unreadable)

    def _leave_streams(self, until: Mapping[int, Until]) -> tuple[int, int]:
        """Return the number of events in dead letters, and of those that cannot be read."""
        events, unreadable = 0, 0
        for partition, users in until.items():
            n, unread = self._store.traces.leave_dead_letters(partition, users)
            self._store.traces.leave_streams(partition, max(users.values()))
            events, unreadable = events + n, unreadable + unread
        return events, unreadable

    def _leave_disk(self, rewriting: Rewriting, due: Sequence[Due]) -> None:
        waiting = {one.erasure.id: one.erasure for one in due if not one.user}
        gone = rewriting.step(waiting.keys())
        done = [erasure for name, erasure in waiting.items() if name in gone]
        if done:
            self._store.records.note_off_disk(done)
            logger().info("users_erased_from_disk", n=len(done))


def without_links(body: Body, users: set[str]) -> Body:
    """Return a user's document without the links to some users."""
    links = [link for link in body.get("links", ()) if link["user"] not in users]
    rest = {name: value for name, value in body.items() if name != "links"}
    return rest | ({"links": links} if links else {})
