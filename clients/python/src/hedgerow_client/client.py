"""The client of a running service."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any, Literal, Self, TypeVar

import httpx

from hedgerow_client import requests, types
from hedgerow_client.errors import BrokenOff, NotInTime, RateLimited, Unavailable, Unreachable
from hedgerow_client.operations import Operations
from hedgerow_client.requests import PROGRAM, TIMEOUT_S, Request
from hedgerow_client.retries import Retries, Tries
from hedgerow_client.streams import EventStream, OnBatch

T = TypeVar("T")


class Client(Operations):
    """Client of one running service, which several threads may share.

    It has a method for each operation of the service. Requests are sent again after a broken
    connection, a 429 and a 503, as ``retries`` says; each event carries an id, so that it counts
    once however often it was sent.

    >>> def recommended(url: str, user: str) -> list[str]:
    ...     with Client(url) as client:
    ...         written = client.send({"user": user, "item": "film", "rating": 5})
    ...         slate = client.recommend(user, k=10, min_sequence=written["sequence"])
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
        self._closed = threading.Event()
        self._http = httpx.Client(**requests.connection(self.url, key, timeout_s, program))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; requests that wait for another try are given up."""
        self._closed.set()
        self._http.close()

    def send(
        self,
        events: types.Feedback | Sequence[types.Feedback],
        *,
        wait: Literal["learned"] | None = None,
    ) -> types.Written:
        """Send one event, or up to 10 000; they are stored once this returns.

        Rows that cannot be accepted are in ``rejected``; NothingAccepted is raised if all are, and
        InvalidRequest for a single event. With ``wait="learned"`` (at most 100 rows) the answer has
        what was predicted for each rating just before it was learned.
        """
        written: types.Written = self.call(requests.sending(events, wait))
        return written

    def stream(
        self,
        *,
        rows: int = 500,
        age_s: float = 0.5,
        waiting: int = 10_000,
        patience_s: float | None = None,
        on_batch: OnBatch | None = None,
    ) -> EventStream:
        """Return a stream for any number of events, which sends them in batches.

        A batch leaves once it has ``rows`` events, or its first one is ``age_s`` old. ``waiting``
        events may wait; then ``send`` blocks. ``patience_s``: for how long a batch is sent again
        while the service is away, by default as ``retries`` says. ``on_batch`` is called with what
        became of each batch.
        """
        retries = self.retries
        if patience_s is not None:
            retries = replace(retries, patience_s=patience_s)

        def send(events: Sequence[types.Feedback]) -> types.Written:
            written: types.Written = self.call(requests.sending(events, None), retries)
            return written

        return EventStream(send, rows=rows, age_s=age_s, waiting=waiting, on_batch=on_batch)

    def recommend_to_many(self, body: types.BatchBody) -> Iterator[types.Slate | types.FailedSlate]:
        """Go over the lists of up to 1 000 users, in their order; one with ``error`` has no list.

        A connection that breaks in between raises BrokenOff: ask again for the rest.
        """
        for line in self._lines(requests.batch(body)):
            yield json.loads(line)

    def watch_job(self, job: str) -> Iterator[types.Job]:
        """Yield a training as it is now, then with each change, until it has ended."""
        ended = False
        while not ended:
            # the lines end early where the server stops or the connection breaks: ask again
            with suppress(BrokenOff):
                for line in self._lines(requests.watching(job)):
                    if (seen := requests.job_in(line)) is not None:
                        ended = requests.has_ended(seen)
                        yield seen

    def wait_until_learned(self, sequence: str, deadline_s: float = 300.0) -> None:
        """Return when everything up to ``sequence`` is learned; NotInTime after the deadline."""
        retries = replace(self.retries, patience_s=deadline_s)
        try:
            self.call(requests.learned(sequence), retries)
        except (Unavailable, Unreachable) as error:
            raise NotInTime(f"{sequence} was not learned in {deadline_s:.0f} s: {error}") from error

    def wait_until_ready(self, deadline_s: float = 120.0) -> types.Ready:
        """Return what /readyz says once it is ready; NotInTime after the deadline."""
        retries = replace(self.retries, patience_s=deadline_s)
        try:
            ready: types.Ready = self.call(requests.READINESS, retries)
        except (Unavailable, Unreachable) as error:
            raise NotInTime(f"not ready after {deadline_s:.0f} s: {error}") from error
        return ready

    def call(self, request: Request, retries: Retries | None = None) -> Any:
        """Send a request, again where that helps, and return the JSON of its answer."""

        def once() -> Any:
            return requests.read(request, self._sent(request))

        return self._again(request, retries or self.retries, once)

    def iterate(self, request: Request) -> Iterator[Any]:
        """Go over the rows of all pages, beginning with this request's."""
        following: Request | None = request
        while following:
            page = self.call(following)
            yield from page["items"]
            following = requests.next_page(request, page)

    def _lines(self, request: Request) -> Iterator[str]:
        """Yield the lines of an answer; a connection that breaks in between raises BrokenOff."""

        def once() -> httpx.Response:
            answer = self._sent(request, stream=True)
            if answer.is_error:
                answer.read()
                raise requests.refusal(request, answer)
            return answer

        lines = requests.Lines()
        with closing(self._again(request, self.retries, once)) as answer:
            try:
                for piece in answer.iter_bytes():
                    yield from lines.of(piece)
                yield from lines.last()
            except httpx.TransportError as error:
                raise BrokenOff(str(requests.no_answer(request, self.url, error))) from error

    def _again(self, request: Request, retries: Retries, once: Callable[[], T]) -> T:
        tries = Tries(request, retries)
        while True:
            try:
                return once()
            except (Unreachable, RateLimited, Unavailable) as error:
                if self._closed.wait(tries.pause_after(error)):
                    raise

    def _sent(self, request: Request, *, stream: bool = False) -> httpx.Response:
        try:
            built = self._http.build_request(**request.arguments())
            return self._http.send(built, stream=stream)
        except httpx.TransportError as error:
            raise requests.no_answer(request, self.url, error) from error
