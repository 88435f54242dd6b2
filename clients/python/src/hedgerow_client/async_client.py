"""The same client for programs with an ``asyncio`` loop; ``client.py`` explains the methods."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any, Literal, Self, TypeVar

import httpx

from hedgerow_client import requests, types
from hedgerow_client.async_operations import AsyncOperations
from hedgerow_client.async_streams import AsyncEventStream
from hedgerow_client.errors import BrokenOff, NotInTime, RateLimited, Unavailable, Unreachable
from hedgerow_client.requests import PROGRAM, TIMEOUT_S, Request
from hedgerow_client.retries import Retries, Tries
from hedgerow_client.streams import OnBatch

T = TypeVar("T")


class AsyncClient(AsyncOperations):
    """Client of one running service, which the tasks of one loop may share.

    >>> async def recommended(url: str, user: str) -> list[str]:
    ...     async with AsyncClient(url) as client:
    ...         written = await client.send({"user": user, "item": "film", "rating": 5})
    ...         slate = await client.recommend(user, k=10, min_sequence=written["sequence"])
    ...         return [one["item"] for one in slate["items"]]
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        retries: Retries = Retries(),  # noqa: B008 - frozen
        program: str = PROGRAM,
    ) -> None:
        """``program``: the name under which the service remembers event ids, if there is no key."""
        self.url = url.rstrip("/")
        self.retries = retries
        self._http = httpx.AsyncClient(**requests.connection(self.url, key, timeout_s, program))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def send(
        self,
        events: types.Feedback | Sequence[types.Feedback],
        *,
        wait: Literal["learned"] | None = None,
    ) -> types.Written:
        """Send one event, or up to 10 000; they are stored once this returns."""
        written: types.Written = await self.call(requests.sending(events, wait))
        return written

    def stream(
        self,
        *,
        rows: int = 500,
        age_s: float = 0.5,
        waiting: int = 10_000,
        patience_s: float | None = None,
        on_batch: OnBatch | None = None,
    ) -> AsyncEventStream:
        """Return a stream for any number of events, which sends them in batches."""
        retries = self.retries
        if patience_s is not None:
            retries = replace(retries, patience_s=patience_s)

        async def send(events: Sequence[types.Feedback]) -> types.Written:
            written: types.Written = await self.call(requests.sending(events, None), retries)
            return written

        return AsyncEventStream(send, rows=rows, age_s=age_s, waiting=waiting, on_batch=on_batch)

    async def recommend_to_many(
        self, body: types.BatchBody
    ) -> AsyncIterator[types.Slate | types.FailedSlate]:
        """Go over the lists of up to 1 000 users, in their order; one with ``error`` has no list.

        A connection that breaks in between raises BrokenOff: ask again for the rest.
        """
        async with aclosing(self._lines(requests.batch(body))) as lines:
            async for line in lines:
                yield json.loads(line)

    async def watch_job(self, job: str) -> AsyncIterator[types.Job]:
        """Yield a training as it is now, then with each change, until it has ended."""
        ended = False
        while not ended:
            # the lines end early where the server stops or the connection breaks: ask again
            with suppress(BrokenOff):
                async with aclosing(self._lines(requests.watching(job))) as lines:
                    async for line in lines:
                        if (seen := requests.job_in(line)) is not None:
                            ended = requests.has_ended(seen)
                            yield seen

    async def wait_until_learned(self, sequence: str, deadline_s: float = 300.0) -> None:
        """Return when everything up to ``sequence`` is learned; NotInTime after the deadline."""
        retries = replace(self.retries, patience_s=deadline_s)
        try:
            await self.call(requests.learned(sequence), retries)
        except (Unavailable, Unreachable) as error:
            raise NotInTime(f"{sequence} was not learned in {deadline_s:.0f} s: {error}") from error

    async def wait_until_ready(self, deadline_s: float = 120.0) -> types.Ready:
        """Return what /readyz says once it is ready; NotInTime after the deadline."""
        retries = replace(self.retries, patience_s=deadline_s)
        try:
            ready: types.Ready = await self.call(requests.READINESS, retries)
        except (Unavailable, Unreachable) as error:
            raise NotInTime(f"not ready after {deadline_s:.0f} s: {error}") from error
        return ready

    async def call(self, request: Request, retries: Retries | None = None) -> Any:
        """Send a request, again where that helps, and return the JSON of its answer."""

        async def once() -> Any:
            return requests.read(request, await self._sent(request))

        return await self._again(request, retries or self.retries, once)

    async def iterate(self, request: Request) -> AsyncIterator[Any]:
        """Go over the rows of all pages, beginning with this request's."""
        following: Request | None = request
        while following:
            page = await self.call(following)
            for row in page["items"]:
                yield row
            following = requests.next_page(request, page)

    async def _lines(self, request: Request) -> AsyncGenerator[str, None]:
        """Yield the lines of an answer; a connection that breaks in between raises BrokenOff."""

        async def once() -> httpx.Response:
            answer = await self._sent(request, stream=True)
            if answer.is_error:
                await answer.aread()
                raise requests.refusal(request, answer)
            return answer

        lines = requests.Lines()
        async with aclosing(await self._again(request, self.retries, once)) as answer:
            try:
                async for piece in answer.aiter_bytes():
                    for line in lines.of(piece):
                        yield line
                for line in lines.last():
                    yield line
            except httpx.TransportError as error:
                raise BrokenOff(str(requests.no_answer(request, self.url, error))) from error

    async def _again(
        self, request: Request, retries: Retries, once: Callable[[], Awaitable[T]]
    ) -> T:
        tries = Tries(request, retries)
        while True:
            try:
                return await once()
            except (Unreachable, RateLimited, Unavailable) as error:
                pause_s = tries.pause_after(error)
            await asyncio.sleep(pause_s)

    async def _sent(self, request: Request, *, stream: bool = False) -> httpx.Response:
        try:
            built = self._http.build_request(**request.arguments())
            return await self._http.send(built, stream=stream)
        except httpx.TransportError as error:
            raise requests.no_answer(request, self.url, error) from error
