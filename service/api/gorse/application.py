"""The frame of Gorse's routes: finding one, its key, its answer, errors as plain text.

It is an application of its own below ``/api``: our routes refuse what they do not know, answer
problems in JSON and stand in the OpenAPI document; Gorse's clients expect none of that.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, unquote_to_bytes

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from service.api.gorse.call import Call, Missing, Refused, checked_id
from service.api.gorse.routes import ROUTES, GorseRoute
from service.errors import ServiceError, Unauthorised
from service.http.acts import noted
from service.http.auth import Need
from service.http.measuring import TEMPLATE, UNKNOWN
from service.http.routing import bounded, check_caller

PREFIX = "/api"
IDS = {"user-id", "item-id"}
_OPTIONAL = re.compile(r"\[(.*)\]")
_SEGMENT = re.compile(r"\{([\w-]+)\}")


@dataclass(frozen=True)
class _Path:
    """A path of a route as an expression of raw segments."""

    matches: re.Pattern[str]
    names: Sequence[str]
    route: GorseRoute


class GorseApi:
    """Answers the requests below the prefix."""

    def __init__(self, routes: Sequence[GorseRoute] = ROUTES) -> None:
        self._paths = [path for route in routes for path in _paths(route)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # a new scope: the edge looks at the headers of the old one
        outer, scope = scope, {**scope, "headers": _with_bearer(scope["headers"])}
        outer[TEMPLATE] = UNKNOWN
        try:
            route, path = self._find(scope)
            outer[TEMPLATE] = PREFIX + route.path
            scope["path_params"] = path
            need, appends = _asks(route, scope)
            # before the act is noted: who may not do it leaves nothing in the audit log
            await check_caller(scope, need, appends=appends)
            answered = partial(self._answer, route)
            if route.act:
                await noted(route.act, answered, scope, receive, send)
            else:
                await answered(scope, receive, send)
        except (ServiceError, HTTPException) as error:
            await refusal(error)(scope, receive, send)

    async def _answer(self, route: GorseRoute, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self._response(route, scope, receive)
        await response(scope, receive, send)

    async def _response(self, route: GorseRoute, scope: Scope, receive: Receive) -> Response:
        state = scope["app"].state
        try:
            with state.bodies.holding() as held:
                body = bounded(receive, state.settings.max_body_bytes, held)
                call = Call(Request(scope, body), _decoded(scope["path_params"]))
                answer = await route.handler(call)
            return answer if isinstance(answer, Response) else _json(answer)
        except (ServiceError, HTTPException) as error:
            return refusal(error)

    def _find(self, scope: Scope) -> tuple[GorseRoute, dict[str, str]]:
        raw: str = scope["path"].removeprefix(PREFIX).rstrip("/")
        allowed = set()
        for path in self._paths:
            match = path.matches.fullmatch(raw)
            if match is not None and path.route.method == scope["method"]:
                return path.route, dict(zip(path.names, match.groups(), strict=True))
            if match is not None:
                allowed.add(path.route.method)
        if allowed:
            names = ", ".join(sorted(allowed))
            raise HTTPException(405, "405: Method Not Allowed", {"Allow": names})
        raise Missing("404: Page Not Found")


def refusal(error: ServiceError | HTTPException) -> Response:
    """Return an error as Gorse writes it: the reason in plain text."""
    if isinstance(error, HTTPException):
        return PlainTextResponse(error.detail, error.status_code, error.headers)
    if isinstance(error, Unauthorised):
        return PlainTextResponse("unauthorized", HTTPStatus.UNAUTHORIZED)
    status = error.status
    if status == HTTPStatus.UNPROCESSABLE_ENTITY:
        status = HTTPStatus.BAD_REQUEST
    wait = error.retry_after_s
    headers = None if wait is None else {"Retry-After": str(wait)}
    return PlainTextResponse(error.detail, status, headers)


def _paths(route: GorseRoute) -> Iterator[_Path]:
    """Yield the path of a route with and without what is optional, the plain one first."""
    plain = _OPTIONAL.sub("", route.path)
    for path in dict.fromkeys([plain, _OPTIONAL.sub(r"\1", route.path)]):
        words = _SEGMENT.split(path)
        pattern = "([^/]+)".join(re.escape(word) for word in words[::2])
        yield _Path(re.compile(pattern), words[1::2], route)


def _asks(route: GorseRoute, scope: Scope) -> tuple[Need, bool]:
    """Return the role that a request needs, and whether it appends feedback."""
    given = parse_qs(scope["query_string"].decode("latin-1"))
    writes = bool(route.writes_with) and route.writes_with in given
    return ("write", True) if writes else (route.need, route.appends)


def _decoded(path: dict[str, str]) -> dict[str, str]:
    decoded = {}
    for name, segment in path.items():
        try:
            text = unquote_to_bytes(segment.encode("latin-1")).decode()
        except UnicodeDecodeError:
            raise Refused(f"{name} in the path is not UTF-8 once it is percent-decoded") from None
        decoded[name] = checked_id(name, text) if name in IDS else text
    return decoded


def _with_bearer(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers in which the key of ``X-API-Key`` stands where ours look for it."""
    names = {name for name, _ in headers}
    if b"authorization" in names:
        return [*headers]
    keys = [value for name, value in headers if name == b"x-api-key" and value.strip()]
    return [*headers, *[(b"authorization", b"Bearer " + key.strip()) for key in keys[:1]]]


def _json(answer: Any) -> Response:
    return Response(msgspec.json.encode(answer), media_type="application/json")
