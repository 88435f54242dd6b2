"""One request to a route of Gorse: its path, query and body as handlers read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qs

import msgspec
from starlette.requests import Request

from service.api.feedback.intake import Intake
from service.errors import ServiceError
from service.http.routing import media_type, read_body
from service.ids import id_fault, is_id
from service.runtime.api import ApiRuntime

DEFAULT_N, MOST_N = 10, 1_000
MOST_OFFSET = 10_000


Success = dict[str, int]


def success(rows: int) -> Success:
    """Return what Gorse says of a write."""
    return {"RowAffected": rows}


class Refused(ServiceError):
    """A request that is wrong in itself."""

    status, code = 400, "invalid_request"


class Missing(ServiceError):
    """What a path names is not there."""

    status, code = 404, "not_found"


@dataclass(frozen=True)
class Call:
    """A request whose caller was let in."""

    request: Request
    path: dict[str, str]
    """The segments of the path that are no words of the route, percent-decoded."""

    @property
    def runtime(self) -> ApiRuntime:
        runtime: ApiRuntime = self.request.app.state.runtime
        return runtime

    @property
    def intake(self) -> Intake:
        intake: Intake = self.request.app.state.intake
        return intake

    @property
    def user(self) -> str:
        """The user of the path."""
        return self.path["user-id"]

    @property
    def item(self) -> str:
        """The item of the path."""
        return self.path["item-id"]

    @property
    def n(self) -> int:
        """How many entries are wanted; for zero and less, the most that there can be."""
        n = self._number("n", DEFAULT_N)
        return min(n, MOST_N) if n > 0 else MOST_N

    @property
    def offset(self) -> int:
        """How many entries to skip."""
        offset = self._number("offset", 0)
        if offset > MOST_OFFSET:
            raise Refused(f"offset is {offset}: it can be at most {MOST_OFFSET}")
        return max(offset, 0)

    @property
    def categories(self) -> list[str]:
        """The categories that each item must have: that of the path wins over the query."""
        in_path = self.path.get("category")
        return [in_path] if in_path else [name for name in self.values("category") if name]

    def value(self, name: str) -> str:
        """Return a parameter of the query, "" without it."""
        return next(iter(self.values(name)), "")

    def values(self, name: str) -> Sequence[str]:
        """Return all values of a parameter of the query."""
        query = self.request.scope["query_string"].decode("latin-1")
        return parse_qs(query).get(name, [])

    def header(self, name: str) -> str:
        """Return a header, without blanks around it; "" without it."""
        return self.request.headers.get(name, "").strip()

    async def object(self) -> dict[str, Any]:
        """Return the body, a JSON object, with its names in lower case as Go reads them."""
        return _members(await self._json())

    async def objects(self) -> list[dict[str, Any]]:
        """Return the body, a list of JSON objects; ``null`` is an empty one."""
        rows = await self._json()
        if rows is None:
            return []
        if not isinstance(rows, list):
            raise Refused("the body must be a list of objects")
        most = self.runtime.settings.max_array
        if len(rows) > most:
            raise Refused(f"the list has more than {most} entries: send it in parts")
        return [_members(row) for row in rows]

    async def _json(self) -> Any:
        media_type(self.request, "application/json")
        body = await read_body(self.request.receive)
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refused(f"the body is not JSON: {error}") from None

    def _number(self, name: str, default: int) -> int:
        text = self.value(name)
        try:
            return int(text) if text else default
        except ValueError:
            raise Refused(f"{name} must be a whole number") from None


def _members(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise Refused("the body must hold objects")
    return {name.lower(): value for name, value in cast("dict[str, Any]", given).items()}


def text_of(body: dict[str, Any], name: str) -> str:
    """Return a member that is a text, "" if it is missing or null."""
    value = body.get(name.lower())
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Refused(f"{name} must be a text")
    return value


def id_of(body: dict[str, Any], name: str) -> str:
    """Return a member that is an id."""
    return checked_id(name, text_of(body, name))


def checked_id(name: str, text: str) -> str:
    """Return an id; Refused for a text that cannot be one."""
    if not is_id(text):
        raise Refused(id_fault(name, text))
    return text
