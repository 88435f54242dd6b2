"""The connections of an api process: what a client may send before the application sees a request.

uvicorn's protocol parses HTTP but waits for ever and keeps whatever comes. Ours counts the bytes of
each request's line and headers, and answers with a problem once they are too many.
"""

import asyncio
import secrets
from typing import Any, ClassVar, NamedTuple

import uvicorn
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from service.http.problems import CODES, problem
from service.limits import Limits

LINGER_S = 1.0
"""Seconds that a refused client has to read why, before the connection is closed."""
LINGER_BYTES = 1 << 20
"""Bytes that a refused client may still send meanwhile."""
COLON_AND_LINE_END = 4


class Refusal(NamedTuple):
    """Why a client is refused before the application sees its request."""

    code: str
    detail: str


MALFORMED = Refusal(
    "malformed_request", "this is not HTTP/1.1: send a request line, headers and an empty line"
)


def server_config(app: Any, limits: Limits, **more: Any) -> uvicorn.Config:
    """Return uvicorn's configuration for an application behind bounded connections."""
    protocol = type("Bounded", (BoundedProtocol,), {"limits": limits})
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        access_log=False,
        log_config=None,
        lifespan="on",
        server_header=False,
        **more,
    )


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    limits: ClassVar[Limits] = Limits()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = 0
        """Bytes of the request line and the headers that are complete, trailers included."""
        self._arrived = 0
        """Bytes that arrived since the last request, or since the last part of this one's body."""
        self._refusal: Refusal | None = None
        self._closing: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        self._arrived += len(data)
        if self._refusal is not None:
            if self._arrived > LINGER_BYTES:
                self.transport.abort()
            return
        super().data_received(data)
        if self._arrived > self.limits.header_bytes:
            # the parser reports only complete headers, and copies the rest with each packet
            self._refuse(self._too_long())

    def eof_received(self) -> None:
        if self._refusal is not None:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._closing is not None:
            self._closing.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + COLON_AND_LINE_END)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._arrived = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._arrived = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head = self._arrived = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser, or a bound within it, does not accept."""
        self._refuse(self._too_long() if self._head > self.limits.header_bytes else MALFORMED)

    def _count(self, n: int) -> None:
        self._head += n
        if self._head > self.limits.header_bytes:
            # ends the parser, so that nothing that follows is read as a request
            raise ValueError("the headers are too long")

    def _too_long(self) -> Refusal:
        most = f"{self.limits.header_bytes} bytes (HEDGEROW_LIMITS__HEADER_BYTES)"
        if self.headers:
            return Refusal("headers_too_large", f"the headers are longer than {most}: send fewer")
        return Refusal(
            "request_line_too_long",
            f"the request line is longer than {most}: send ids and filters in a body, by POST",
        )

    def _refuse(self, refusal: Refusal) -> None:
        """Answer with a problem, read no more, and close once the client could read the answer."""
        if self._refusal is not None:
            return
        self._refusal = refusal
        if not getattr(self.cycle, "response_complete", True):
            # an earlier request still waits for its answer: ours would be taken for it
            self.transport.close()
            return
        request_id = secrets.token_hex(6)
        answer = problem(request_id, CODES[refusal.code][0], *refusal)
        answer.headers["x-request-id"] = request_id
        answer.headers["connection"] = "close"
        self.transport.write(self._as_bytes(answer))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        # closing at once would reset the connection while the client still sends
        self._closing = self.loop.call_later(LINGER_S, self.transport.close)

    def _as_bytes(self, answer: Response) -> bytes:
        headers = [*self.server_state.default_headers, *answer.raw_headers]
        lines = [b"%s: %s\r\n" % (name, value) for name, value in headers]
        return b"".join([STATUS_LINE[answer.status_code], *lines, b"\r\n", bytes(answer.body)])
