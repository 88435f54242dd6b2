"""The basis of every route module: routes with our roles, runtime, caller, ids in paths."""

from typing import Annotated

from fastapi import Depends, Path
from pydantic import BeforeValidator
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from service.api.roles import ACTS, ROLES
from service.http import routing
from service.http.acts import noted
from service.http.auth import caller
from service.ids import ID_LENGTHS, path_id
from service.runtime.api import ApiRuntime


class Route(routing.Route):
    """A route of the api with an ordinary FastAPI handler."""

    roles = ROLES

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (scope["method"], self.path_format) in ACTS:
            await noted(str(self.operation_id), super().answer, scope, receive, send)
        else:
            await super().answer(scope, receive, send)


class RawRoute(routing.RawRoute):
    """A route of the api whose handler gets the unparsed request."""

    roles = ROLES


class FeedbackRoute(RawRoute):
    """A route that appends feedback by the API keys that its ``Sender`` knows."""

    appends = True


class QueryRoute(routing.QueryRoute):
    """A raw route of the api whose handler reads the query itself."""

    roles = ROLES


class _Segment(Convertor[str]):
    """One raw path segment; an empty one matches too, and is answered as a missing id."""

    regex = "[^/]*"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("id", _Segment())

UserId = Annotated[
    str,
    Path(
        description="The user's id, percent-encoded.",
        examples=["ada"],
        json_schema_extra=ID_LENGTHS,
    ),
    BeforeValidator(lambda segment: path_id("user", segment)),
]
ItemId = Annotated[
    str,
    Path(
        description="The item's id, percent-encoded.",
        examples=["tt0111161"],
        json_schema_extra=ID_LENGTHS,
    ),
    BeforeValidator(lambda segment: path_id("item", segment)),
]


def runtime_of(request: Request) -> ApiRuntime:
    """Return what the application's lifespan opened."""
    runtime: ApiRuntime = request.app.state.runtime
    return runtime


async def _runtime(request: Request) -> ApiRuntime:
    # async, because FastAPI sends plain functions through a pool of threads
    return runtime_of(request)


async def _caller(request: Request) -> str:
    return caller(request.scope)


Runtime = Annotated[ApiRuntime, Depends(_runtime)]
Caller = Annotated[str, Depends(_caller)]
"""The name of the caller, for audit records."""
