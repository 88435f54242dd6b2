"""The outermost layer: the raw path, the request id, and the last resort for what nobody foresaw.

Pure ASGI, because every request pays for it.
"""

import itertools
import secrets
from urllib.parse import quote

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service.api.problems import problem

log = structlog.get_logger()


class Edge:
    """Wraps the whole application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # routes match on the raw path, so that %2F belongs to the id
        raw = scope.get("raw_path")
        scope["path"] = raw.decode("latin-1") if raw else quote(scope["path"])
        request_id = scope["request_id"] = f"{self._prefix}-{next(self._numbers):x}"
        header = (b"x-request-id", request_id.encode())
        started = False

        async def send_with_id(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), header]
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except ClientDisconnect:
            log.debug("client_disconnected", request_id=request_id)
        except Exception:
            log.exception("request_failed", request_id=request_id)
            if started:
                raise
            detail = "something unforeseen happened; the service's log knows it by the request id"
            await problem(request_id, 500, "internal", detail)(scope, receive, send_with_id)
