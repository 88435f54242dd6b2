"""FastAPI routes with a role each, bounded bodies and no unknown parameters.

``Route`` serves ordinary handlers. ``RawRoute`` passes the request to its handler unparsed, without
pydantic: for writes and slates, where each microsecond counts and msgspec is the parser. An
application derives its own classes from these and gives them its table of roles.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from service.errors import Unauthorised
from service.http.auth import Need, Roles
from service.http.body_budget import Held


class Route(APIRoute):
    """A route that has a role, bounds its body and refuses parameters that it does not declare."""

    roles: ClassVar[Roles] = {}
    """The role of each (method, path); a route without a role cannot be built."""
    streams = False
    """Whether the handler itself reads a body of any length."""
    appends: ClassVar[bool] = False
    """Whether the handler appends to the log by the keys that ``KeyCheck`` has noted."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **kwargs: Any) -> None:
        # generated clients name their functions as we name ours
        kwargs["operation_id"] = kwargs.get("operation_id") or camel_case(endpoint.__name__)
        super().__init__(path, endpoint, **kwargs)
        self.needs = {method: self.roles[method, self.path_format] for method in self.methods or ()}
        self.parameters = frozenset(field.alias for field in self.dependant.query_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        need = self.needs.get(scope["method"])
        if need is not None:
            state = scope["app"].state
            await check_caller(scope, need, appends=self.appends)
            if scope["query_string"]:
                self._check_parameters(scope["query_string"])
            if not self.streams and scope["method"] != "GET":
                with state.bodies.holding() as held:
                    most = state.settings.max_body_bytes
                    await self.answer(scope, bounded(receive, most, held), send)
            else:
                await self.answer(scope, receive, send)
        else:
            # the framework would name the methods of this route alone
            allowed = sorted(m for m, path in self.roles if path == self.path_format)
            raise HTTPException(405, headers={"Allow": ", ".join(allowed)})

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose method and caller have been checked."""
        await super().handle(scope, receive, send)

    def _check_parameters(self, query: bytes) -> None:
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        names = Counter(name for name, _ in pairs)
        unknown = sorted(names.keys() - self.parameters)
        twice = sorted(name for name, n in names.items() if n > 1)
        known = ", ".join(sorted(self.parameters)) or "none"
        if unknown:
            _refuse(unknown[0], f"this route has no such parameter; allowed are: {known}")
        if twice:
            _refuse(twice[0], "give the parameter once")


def camel_case(name: str) -> str:
    """Return a name as the document writes it.

    >>> camel_case("list_items")
    'listItems'
    """
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


async def check_caller(scope: Scope, need: Need, *, appends: bool) -> None:
    """Raise unless the caller may use the route, and has not sent too many requests."""
    state = scope["app"].state
    try:
        key_id = await state.key_check.check(scope, need, appends=appends)
    except Unauthorised:
        state.rates.count_address(scope)
        raise
    if key_id is None:
        state.rates.count_address(scope)
    else:
        state.rates.count_key(scope, key_id)


def _refuse(name: str, detail: str) -> None:
    fault = {"type": "value_error", "loc": ("query", name), "msg": detail}
    raise RequestValidationError([fault])


class RawRoute(Route):
    """A route whose endpoint is ``async (Request) -> Response``.

    Its parameters are those that ``openapi_extra`` names.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **kwargs: Any) -> None:
        super().__init__(path, endpoint, **kwargs)
        extra = self.openapi_extra or {}
        named = (p["name"] for p in extra.get("parameters", ()) if p["in"] == "query")
        self.parameters = frozenset(named)
        self.streams = bool(extra.get("x-streams"))
        self.app = _direct(self.endpoint)

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        # the framework's handler would repeat the lookup of the endpoint
        await self.app(scope, receive, send)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        return self.endpoint


class QueryRoute(RawRoute):
    """A raw route whose GET reads the query itself and refuses unknown and repeated parameters."""

    def _check_parameters(self, query: bytes) -> None:
        # a GET parses its query once, in its handler
        if "GET" not in self.needs:
            super()._check_parameters(query)


def _direct(endpoint: Callable[[Request], Awaitable[Response]]) -> Any:
    # same as FastAPI's request_response without its exit stacks: there are no dependencies to close
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        response = await endpoint(Request(scope, receive, send))
        await response(scope, receive, send)

    return app


def bounded(receive: Receive, limit: int, held: Held) -> Receive:
    """Return ``receive`` that refuses a body of more than ``limit`` bytes, and counts its bytes."""
    left = limit

    async def receive_bounded() -> Message:
        nonlocal left
        message = await receive()
        if message["type"] == "http.request":
            n = len(message.get("body", b""))
            left -= n
            if left < 0:
                raise HTTPException(413, f"the body is longer than {limit} bytes: send it in parts")
            held.add(n)
        return message

    return receive_bounded


async def read_body(receive: Receive) -> bytes:
    """Return the whole body; raise ClientDisconnect if the client leaves before its end."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        if body := message.get("body", b""):
            parts.append(body)
        if not message.get("more_body"):
            return parts[0] if len(parts) == 1 else b"".join(parts)


def media_type(request: Request, *allowed: str) -> str:
    """Return the content type if it is allowed: no web page can write without a CORS preflight."""
    for name, value in request.scope["headers"]:
        if name == b"content-type":
            given: str = value.partition(b";")[0].strip().lower().decode("latin-1")
            if given in allowed:
                return given
            break
    also = " or application/json" if "application/json" in allowed[1:] else ""
    raise HTTPException(415, f"send the body with Content-Type: {allowed[0]}{also}")
