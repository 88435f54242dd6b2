"""The outermost layer of the application: raw path, sites, request id, HEAD, gzip, problems.

It is pure ASGI because it is part of every request. Raw routes (feedback, recommendations) are
called from here directly: the layers of the framework cost more than accepting a rating.
"""

import time
from collections.abc import Callable
from typing import cast
from urllib.parse import quote

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.http.compression import packing, unpacking
from service.http.measuring import RequestMeters, template
from service.http.problems import answer, unforeseen
from service.http.raw_router import RawRouter
from service.http.request_ids import FOLLOWED, NAME, RequestIds
from service.http.sites import CSP, NO_CONTENT, SECURITY_HEADERS, Sites
from service.metrics.meters import Meters
from service.telemetry import logger
from service.tracing import Spans, spans

STALE = b"x-stale-seconds"
"""The header that says how old the answer may be, because the store does not answer."""


class Edge:
    """Wraps an application; routes that ``raw_router`` finds are called directly."""

    def __init__(
        self,
        app: ASGIApp,
        raw_router: RawRouter,
        sites: Sites,
        ids: RequestIds,
        away_s: Callable[[], float | None],
        meters: Meters,
    ) -> None:
        """``away_s``: seconds since the store answered, None while it does."""
        self._app, self._away_s = app, away_s
        self._meters = RequestMeters(meters)
        self._sites = sites
        self._raw_router = raw_router
        self._ids = ids

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, method = time.perf_counter(), scope["method"]
        # routes match the raw path, so that %2F is part of the id
        raw = scope.get("raw_path")
        path = scope["path"] = raw.decode("latin-1") if raw else quote(scope["path"])
        request_id = self._ids.name(scope)
        header = (NAME, request_id.encode())
        more: list[tuple[bytes, bytes]] = []
        scope["more_headers"] = more
        status, ended = 0, False

        async def send_with_id(message: Message) -> None:
            nonlocal status, ended
            if message["type"] == "http.response.start":
                status = message["status"]
                given = message.get("headers", ())
                is_page = CSP in dict(given)
                policy = () if is_page else (NO_CONTENT,)
                stale = _stale(self._away_s())
                message["headers"] = [*given, header, *more, *stale, *policy, *SECURITY_HEADERS]
            else:
                ended = not message.get("more_body")
            await send(message)

        headers, out = scope["headers"], cast("Send", send_with_id)
        if method == "HEAD":
            scope, out = {**scope, "method": "GET"}, without_body(send_with_id)
        raw_route = self._raw_router.find(scope, path)
        app = self._app if raw_route is None else raw_route.handle
        try:
            self._sites.check(scope)
            await app(scope, unpacking(headers, receive), packing(headers, out))
        except ClientDisconnect:
            logger().debug("client_disconnected", request_id=request_id)
        except Exception as error:
            response = answer(request_id, error)
            if response is None:
                logger().exception("request_failed", request_id=request_id)
                response = unforeseen(request_id)
            if not status:
                await response(scope, receive, out)
            elif not ended:
                # the server closes the connection, so that half an answer does not look complete
                raise
        finally:
            route = template(scope) if raw_route is None else raw_route.path_format
            seconds = time.perf_counter() - began
            self._meters.note(method, route, status, seconds)
            if FOLLOWED in scope:
                logger().info(
                    "request_answered",
                    request_id=request_id,
                    method=method,
                    route=route,
                    status=status,
                    ms=round(1_000 * seconds, 2),
                )
            if (traced := spans()) is not None:
                _trace(traced, {**scope, "method": method}, route, status, seconds)


def _trace(traced: Spans, scope: Scope, route: str, status: int, seconds: float) -> None:
    """Add the span of a request; it names nobody, and belongs to the trace of whoever asked."""
    about = {
        "http.request.method": scope["method"],
        "http.route": route,
        "http.response.status_code": status,
        "hedgerow.request_id": scope["request_id"],
    }
    parent = dict(scope["headers"]).get(b"traceparent", b"").decode("latin-1")
    name, failed = f"{scope['method']} {route}", status >= 500
    traced.add(name, seconds, about, failed=failed, parent=parent)


def _stale(away_s: float | None) -> tuple[tuple[bytes, bytes], ...]:
    """Return the header of an answer that was made without the store."""
    return () if away_s is None else ((STALE, b"%.1f" % away_s),)


def without_body(send: Send) -> Send:
    """Return ``send`` that answers a HEAD: the headers of a GET, and nothing else."""
    ended = False

    async def send_head(message: Message) -> None:
        nonlocal ended
        if message["type"] == "http.response.start":
            await send(message)
            return
        if not ended:
            ended = True
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        if message.get("more_body"):
            # whoever would send on, perhaps for ever, ends as if the client had left
            raise ClientDisconnect

    return send_head
