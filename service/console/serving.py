"""The files of the console on the wire: read once, packed once, checked by the browser each time.

A browser keeps every file and asks whether it is still the same one, by its ETag; so an upgraded
service is never seen through the scripts of an older one. Files are looked up by their names in a
table: no request names a path on the disk.
"""

import gzip
import hashlib
import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from service.http.compression import takes_gzip
from service.http.sites import page_policy
from service.ranking.families import FAMILIES, STRATEGIES, title_of
from service.settings import Settings

STATIC = Path(__file__).parent / "static"
PAGE = "index.html"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = page_policy("'self'", style="'self'")


class File(NamedTuple):
    """A file as it is sent."""

    plain: bytes
    packed: bytes
    headers: dict[str, str]


def add_console(app: FastAPI, settings: Settings) -> None:
    """Serve the console at ``/console``, and lead browsers there from ``/``."""
    files = dict(_files(settings))

    async def page(request: Request) -> Response:
        return _answer(request, files[PAGE])

    async def file(request: Request) -> Response:
        found = files.get(request.path_params["name"])
        if found is None:
            raise HTTPException(404, "the console has no such file: it begins at /console")
        return _answer(request, found)

    app.router.add_route("/", _lead_browsers, include_in_schema=False)
    app.router.add_route("/console", page, include_in_schema=False)
    app.router.add_route("/console/{name:path}", file, include_in_schema=False)


async def _lead_browsers(request: Request) -> Response:
    if "text/html" not in request.headers.get("accept", ""):
        raise HTTPException(404, "there is nothing at /: the routes are listed at /docs")
    # relative, so that it also holds behind a proxy that adds a prefix
    return RedirectResponse("console", 307, {"vary": "accept"})


def _files(settings: Settings) -> Iterator[tuple[str, File]]:
    for path in sorted(STATIC.rglob("*")):
        if path.is_file():
            content, name = path.read_bytes(), path.relative_to(STATIC).as_posix()
            if name == PAGE:
                content = _page(content.decode(), settings).encode()
            yield name, _file(content, TYPES[path.suffix])


def _page(template: str, settings: Settings) -> str:
    """Return the page, which tells the scripts what they need before any request.

    That is the settings that concern them, and what there is to rank with.
    """
    return Template(template).substitute(
        title=escape(settings.console_title),
        picture=escape(settings.console_picture),
        models=escape(json.dumps(_models())),
    )


def _models() -> list[dict[str, Any]]:
    """Return what may rank, and what it can do besides, by title."""
    return [
        {
            "name": name,
            "title": title_of(name),
            "is_trained": name in FAMILIES and FAMILIES[name].trained,
            "compares_items": name in FAMILIES and FAMILIES[name].compares_items,
        }
        for name in sorted(filter(None, STRATEGIES), key=title_of)
    ]


def _file(content: bytes, kind: str) -> File:
    headers = {
        "content-type": kind,
        "etag": f'"{hashlib.sha256(content).hexdigest()[:24]}"',
        "cache-control": "no-cache",
        "vary": "accept-encoding",
        **POLICY,
    }
    return File(content, gzip.compress(content, 9, mtime=0), headers)


def _answer(request: Request, file: File) -> Response:
    known = request.headers.get("if-none-match", "")
    if file.headers["etag"] in known:
        return Response(status_code=304, headers=file.headers)
    if takes_gzip(request.scope["headers"]):
        return Response(file.packed, headers=file.headers | {"content-encoding": "gzip"})
    return Response(file.plain, headers=file.headers)
