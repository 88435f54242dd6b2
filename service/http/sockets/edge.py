"""The outermost layer of WebSockets: sites, request id, and a problem for what is not let in.

What ``edge.py`` is for requests. A client that is refused gets an answer by HTTP, since there is no
socket yet; browsers do not show it to pages, other clients do.
"""

import time
from collections.abc import Mapping
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.http.measuring import UNKNOWN, RequestMeters
from service.http.problems import answer, unforeseen
from service.http.request_ids import FOLLOWED, NAME, RequestIds
from service.http.sites import NO_CONTENT, SECURITY_HEADERS, Sites
from service.http.sockets.codes import FAILED
from service.metrics.meters import Meters
from service.telemetry import logger

SWITCHING = 101


class SocketEdge:
    """Calls the handler of a path, an ASGI application for one socket."""

    def __init__(
        self, handlers: Mapping[str, ASGIApp], sites: Sites, ids: RequestIds, meters: Meters
    ) -> None:
        self._handlers, self._sites, self._ids = handlers, sites, ids
        self._meters = RequestMeters(meters)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.perf_counter(), 0
        raw = scope.get("raw_path")
        path = scope["path"] = raw.decode("latin-1") if raw else quote(scope["path"])
        request_id = self._ids.name(scope)
        more = scope["more_headers"] = []
        handler = self._handlers.get(path)

        async def send_with_id(message: Message) -> None:
            nonlocal status
            kind = message["type"]
            if kind in {"websocket.accept", "websocket.http.response.start"}:
                status = message.get("status", SWITCHING)
                own = [(NAME, request_id.encode()), *more]
                policy = () if status == SWITCHING else (NO_CONTENT, *SECURITY_HEADERS)
                message["headers"] = [*message.get("headers", ()), *own, *policy]
                route = UNKNOWN if handler is None else path
                seconds = time.perf_counter() - began
                self._meters.note("GET", route, status, seconds)
                if FOLLOWED in scope:
                    logger().info(
                        "request_answered",
                        request_id=request_id,
                        method="GET",
                        route=route,
                        status=status,
                        ms=round(1_000 * seconds, 2),
                    )
            await send(message)

        try:
            self._sites.check(scope)
            if handler is None:
                raise HTTPException(404)
            await handler(scope, receive, send_with_id)
        except OSError:
            # what uvicorn raises when the client has left
            logger().debug("client_disconnected", request_id=request_id)
        except Exception as error:  # noqa: BLE001 - it is logged, and the client is told
            response = answer(request_id, error)
            if response is None or status:
                logger().exception("request_failed", request_id=request_id)
            if status:
                await send({"type": "websocket.close", "code": FAILED, "reason": request_id})
            else:
                await (response or unforeseen(request_id))(scope, receive, send_with_id)
