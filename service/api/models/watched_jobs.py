"""The jobs that somebody watches: each is read once for all its watchers."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, suppress

from service.errors import NotFound, Overloaded, StoreUnavailable
from service.store.jobs.job import JobRecord

LOOK_S = 0.25
"""Seconds between two looks at a job."""


class _Watched:
    """A job, and those who wait until it changes."""

    def __init__(self, now: JobRecord) -> None:
        self.watchers = 0
        self._latest: JobRecord | None = now
        self._changed = asyncio.Event()
        self.looking: asyncio.Task[None] | None = None

    def become(self, now: JobRecord | None) -> None:
        """Wake the watchers if the job changed; None: it cannot be watched any longer."""
        if now != self._latest:
            self._latest = now
            self._changed.set()
            self._changed = asyncio.Event()

    async def changes(self) -> AsyncIterator[JobRecord]:
        """Yield the job as it is now and after each change, until it has ended."""
        while (now := self._latest) is not None:
            changed = self._changed
            yield now
            if now.has_ended:
                return
            if now is self._latest:
                await changed.wait()


class WatchedJobs:
    """All watched jobs of an api process."""

    def __init__(
        self, read: Callable[[str], JobRecord], stopping: threading.Event, most: int
    ) -> None:
        """``read`` returns a job from the store; watching ends once ``stopping`` is set."""
        self._read, self._stopping, self._most = read, stopping, most
        self._watched: dict[str, _Watched] = {}

    def check_room(self) -> None:
        """Raise Overloaded if there are as many watchers as there may be."""
        if sum(job.watchers for job in self._watched.values()) >= self._most:
            raise Overloaded(
                f"{self._most} clients watch jobs of this process, which is all it allows "
                "(HEDGEROW_LIMITS__WATCHERS): ask for GET /v1/jobs/{job} now and then"
            )

    async def changes(self, first: JobRecord) -> AsyncIterator[JobRecord]:
        """Yield a job as it is now and after each change, until it has ended."""
        job = first.id
        watched = self._watched.get(job)
        if watched is None:
            watched = self._watched[job] = _Watched(first)
            watched.looking = asyncio.create_task(self._look(job, watched))
        watched.watchers += 1
        try:
            async for now in watched.changes():
                yield now
        finally:
            watched.watchers -= 1
            if not watched.watchers and watched.looking is not None:
                watched.looking.cancel()
                self._watched.pop(job, None)

    async def _look(self, job: str, watched: _Watched) -> None:
        """Read a job again and again, until nobody watches it."""
        with ExitStack() as stack, suppress(NotFound):
            stack.callback(watched.become, None)
            while not self._stopping.is_set():
                await asyncio.sleep(LOOK_S)
                with suppress(StoreUnavailable):
                    watched.become(await asyncio.to_thread(self._read, job))
