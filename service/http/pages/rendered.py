"""Pages that are the same for everybody: made once and packed once, then only sent.

Anybody may ask for them, so they must cost next to nothing.
"""

import asyncio
import gzip
from collections.abc import Callable

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from service.http.compression import takes_gzip


class Rendered:
    """A handler that answers with one page."""

    def __init__(self, make: Callable[[], Response]) -> None:
        """``make`` is called in a thread, with the first request."""
        self._make = make
        self._making: asyncio.Task[tuple[Response, Response]] | None = None

    async def answer(self, request: Request) -> Response:
        """Answer with the page, packed for those who take that."""
        if self._making is None or _has_failed(self._making):
            self._making = asyncio.create_task(asyncio.to_thread(self._rendered))
        # a client may leave; the page is made for all who wait
        plain, packed = await asyncio.shield(self._making)
        return packed if takes_gzip(request.scope["headers"]) else plain

    def _rendered(self) -> tuple[Response, Response]:
        plain = self._make()
        packed = Response(gzip.compress(bytes(plain.body)), headers=dict(plain.headers))
        packed.headers["content-length"] = str(len(packed.body))
        packed.headers["content-encoding"] = "gzip"
        for one in (plain, packed):
            one.headers["vary"] = "accept-encoding"
        return plain, packed


def _has_failed(making: "asyncio.Task[tuple[Response, Response]]") -> bool:
    return making.done() and (making.cancelled() or making.exception() is not None)


def add_page(app: FastAPI, path: str, make: Callable[[], Response]) -> None:
    """Serve a page that is the same for everybody."""
    app.router.add_route(path, Rendered(make).answer, include_in_schema=False)


def add_document(app: FastAPI, path: str) -> None:
    """Serve the OpenAPI document."""
    add_page(app, path, lambda: JSONResponse(app.openapi()))
