"""The connections of an api process: what a client may send before the application sees a request.

uvicorn's protocol parses HTTP, but waits for ever and keeps whatever comes. Ours counts it,
tells ``Admission`` what it waits for, and answers with a problem when a bound is passed.
"""

import asyncio
import secrets
from functools import partial
from http import HTTPStatus
from typing import Any, ClassVar, cast

import uvicorn
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from service.http.admission import Admission, Refusal
from service.http.codes import CODES
from service.http.problems import problem
from service.http.sites import NO_CONTENT, SECURITY_HEADERS
from service.http.sockets.protocol import PING_S, SocketProtocol
from service.limits import Limits
from service.metrics.catalogue import CONNECTIONS_REFUSED
from service.metrics.meters import Meters
from service.settings import Settings

LINGER_S = 1.0
"""Seconds that a refused client has to read why, before the connection is closed."""
LINGER_BYTES = 1 << 20
"""Bytes that a refused client may still send meanwhile."""
ANSWERED_BYTES = 16 << 20
"""Bytes of a body that a client may still send after its answer."""
PIPELINED = 128
"""Requests of one connection that may wait for the answer to the one before."""
COLON_AND_LINE_END = 4
TOO_LONG = "the headers are too long"
"""Ends the parser; ``send_400_response`` says more."""


MALFORMED = Refusal(
    "malformed_request", "this is not HTTP/1.1: send a request line, headers and an empty line"
)


def server_config(
    app: Any, settings: Settings, meters: Meters | None = None, **more: Any
) -> uvicorn.Config:
    """Return uvicorn's configuration for an application behind bounded connections."""
    proxies = settings.trusted_proxies
    own = {
        "limits": settings.limits,
        "admission": Admission(settings.limits, proxies),
        "meters": meters or Meters(),
    }
    protocol = type("Bounded", (BoundedProtocol,), own)
    return uvicorn.Config(
        app,
        http=protocol,
        ws=SocketProtocol,
        ws_max_size=settings.limits.message_bytes,
        ws_ping_interval=PING_S,
        ws_ping_timeout=PING_S,
        # a packet of compressed messages could be a thousand times as large as it looks
        ws_per_message_deflate=False,
        access_log=False,
        log_config=None,
        lifespan="on",
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        **more,
    )


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    limits: ClassVar[Limits]
    admission: ClassVar[Admission]
    meters: ClassVar[Meters]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = 0
        """Bytes of the request line and the headers that are complete, trailers included."""
        self._arrived = 0
        """Bytes that arrived since the last request, or since the last part of this one's body."""
        self.body_bytes = 0
        self._in_body = False
        self._surplus = 0
        self._refusal: Refusal | None = None
        self._closing: asyncio.TimerHandle | None = None
        # all that uvicorn does with the class is to call it
        unread_s = self.limits.stream_pause_s
        own_socket = partial(SocketProtocol, on_lost=self._leave, unread_s=unread_s)
        self.ws_protocol_class = cast("type[asyncio.Protocol]", own_socket)

    @property
    def paused(self) -> bool:
        """Whether the application does not want more for now."""
        return self.flow.read_paused

    @property
    def is_stream(self) -> bool:
        """Whether the body consists of lines, and somebody reads them."""
        return not self._answered and any(
            name == b"content-type" and value.startswith(b"application/x-ndjson")
            for name, value in self.headers
        )

    @property
    def _answered(self) -> bool:
        """Whether every request so far has its answer."""
        return getattr(self.cycle, "response_complete", True)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        refusal = self.admission.enter(self, self._address)
        if refusal is not None:
            self._refuse(refusal)

    @property
    def _address(self) -> str | None:
        return self.client[0] if self.client else None

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
        elif self._in_body:
            self.admission.receives(self)

    def eof_received(self) -> None:
        if self._refusal is not None:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._closing is not None:
            self._closing.cancel()
        self._leave()
        super().connection_lost(exc)

    def _leave(self) -> None:
        self.admission.leave(self, self._address)

    def _should_upgrade(self) -> bool:
        # a socket takes over the connection: no answer may be under way on it
        return self.scope["method"] == "GET" and self._answered and super()._should_upgrade()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        # *same as* ``_count``, but without a call for each header
        self._head += len(name) + len(value) + COLON_AND_LINE_END
        if self._head > self.limits.header_bytes:
            raise ValueError(TOO_LONG)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._arrived = 0
        if len(self.pipeline) >= PIPELINED:
            raise ValueError("too many requests at once")
        super().on_headers_complete()
        self._in_body = True
        self.admission.works(self)

    def on_body(self, body: bytes) -> None:
        self._arrived = 0
        self.body_bytes += len(body)
        if self._answered:
            self._surplus += len(body)
            if self._surplus > ANSWERED_BYTES:
                self.transport.abort()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head = self._arrived = self._surplus = 0
        self._in_body = False
        self.admission.received(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last and not self.transport.is_closing():
            self.admission.waits(self)

    def send_400_response(self, msg: str) -> None:
        """Answer what the parser, or a bound within it, does not accept."""
        self._refuse(self._too_long() if self._head > self.limits.header_bytes else MALFORMED)

    def refuse(self, refusal: Refusal) -> None:
        """End the connection because its client is slow, or to make room for others."""
        if self._in_body or self._arrived:
            self._refuse(refusal)
        else:
            # an idle client expects no answer; one that has not read the last one must not stay
            unread = self.transport.get_write_buffer_size() > 0
            (self.transport.abort if unread else self.transport.close)()

    def _count(self, n: int) -> None:
        self._head += n
        if self._head > self.limits.header_bytes:
            # ends the parser, so that nothing that follows is read as a request
            raise ValueError(TOO_LONG)

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
        self.meters.count(CONNECTIONS_REFUSED, refusal.code).add()
        if self.admission.overfull:
            self.transport.abort()
            return
        if not self._is_next():
            # the client would take ours for the answer to another request
            self.transport.close()
            return
        request_id = secrets.token_hex(6)
        status = CODES[refusal.code].status
        retry_after = 1 if status == HTTPStatus.SERVICE_UNAVAILABLE else None
        answer = problem(request_id, status, *refusal, retry_after=retry_after)
        answer.headers["x-request-id"] = request_id
        answer.headers["connection"] = "close"
        answer.raw_headers.extend((NO_CONTENT, *SECURITY_HEADERS))
        self.transport.write(self._as_bytes(answer))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        if self._in_body:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        # closing at once would reset the connection while the client still sends
        self._closing = self.loop.call_later(LINGER_S, self.transport.abort)

    def _is_next(self) -> bool:
        """Whether the next answer that the client expects is that to the incomplete request."""
        if self._in_body:
            return not (self._answered or self.cycle.response_started or self.pipeline)
        return self._answered

    def _as_bytes(self, answer: Response) -> bytes:
        headers = [*self.server_state.default_headers, *answer.raw_headers]
        lines = [b"%s: %s\r\n" % (name, value) for name, value in headers]
        return b"".join([STATUS_LINE[answer.status_code], *lines, b"\r\n", bytes(answer.body)])
