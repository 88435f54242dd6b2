"""Recommend to many users by one request; the lists leave as they are made, one a line."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from service.api.routing import QueryRoute, runtime_of
from service.api.slates.answers import FailedSlate, Failure, Slate, line, slate_of
from service.api.slates.asking import wanted_of
from service.api.slates.reading import checked_ids, read_json, refuse
from service.api.slates.requests import (
    BatchBody,
    RecommendationBody,
    check_variety,
    context_in,
    list_name,
    shape_of,
)
from service.api.slates.treating import treated
from service.api.waiting import reached
from service.errors import InvalidId, NotReady, ServiceError
from service.http.documentation import ITEM_SCHEMA, json_body, problems, reference
from service.http.routing import media_type, read_body
from service.ids import id_fault, is_id
from service.runtime.api import ApiRuntime
from service.serving.asked import Asked
from service.telemetry import logger

NDJSON = "application/x-ndjson"
AT_ONCE = 16
"""Users who are read together and ranked before other requests get their turn."""

router = APIRouter(route_class=QueryRoute, tags=["recommendations"])


class NdjsonResponse(StreamingResponse):
    """Lines of JSON that leave as they are made."""

    media_type = NDJSON


_LINES = {
    "200": {
        "description": "A line for each of `users`, in their order.",
        "content": {
            NDJSON: {
                "schema": {"type": "string"},
                ITEM_SCHEMA: {"oneOf": [reference("Slate"), reference("FailedSlate")]},
            }
        },
    }
}
_PROBLEMS = problems(
    *("not_ready", "sequence_not_reached", "invalid_sequence", "invalid_filter", "invalid_id")
)


@router.post(
    "/v1/recommendations/batch",
    summary="Recommend to many users",
    response_class=NdjsonResponse,
    openapi_extra={
        "requestBody": json_body(
            reference("BatchBody"), two={"users": ["ada", "grace"], "k": 20, "category": "film"}
        ),
        "responses": _LINES | {str(status): one for status, one in _PROBLEMS.items()},
    },
)
async def recommend_to_many(request: Request) -> Response:
    """The best items for each of up to 1 000 users, as lines of NDJSON in the order of `users`.

    A line is what POST /v1/recommendations answers for the user, or has `error`: a fault of one
    user does not stop the others.
    """
    media_type(request, "application/json")
    body = read_json(await read_body(request.receive), BatchBody)
    if body.cursor is not None:
        says = "go on with POST /v1/recommendations: the `next_cursor` of a line is for its `user`"
        refuse("body", "cursor", says)
    check_variety("body", body, body.candidates)
    runtime = runtime_of(request)
    if body.filter is not None:
        # a filter that cannot be read is a fault of the whole request
        await runtime.view.covering(body.filter)
    await reached(runtime, body.min_sequence, filter(is_id, body.users))
    batch = _Batch(runtime, body, request.scope["request_id"])
    groups = (body.users[at : at + AT_ONCE] for at in range(0, len(body.users), AT_ONCE))
    # the first group is made before the answer begins, so that an outage is not told line by line
    first = await batch.lines(next(groups))
    return NdjsonResponse(_streamed(batch, first, groups))


async def _streamed(
    batch: "_Batch", first: bytes, groups: Iterator[Sequence[str]]
) -> AsyncIterator[bytes]:
    yield first
    for users in groups:
        yield await batch.lines(users)


class _Batch:
    """The lists of one request."""

    def __init__(self, runtime: ApiRuntime, body: BatchBody, request_id: str) -> None:
        self._runtime, self._body, self._request_id = runtime, body, request_id
        self._asking = _asking(body)
        self._context = context_in("body", body.context)
        self._begun = False

    async def lines(self, users: Sequence[str]) -> bytes:
        """Return the lines of some users; raise NotReady if these are the first and get none."""
        made = await asyncio.gather(*map(self._made, users))
        failed = [one.error for one in made if isinstance(one, FailedSlate)]
        if not self._begun and len(failed) == len(made) and failed[0].status == 503:
            raise NotReady(failed[0].detail, code=failed[0].code)
        self._begun = True
        return b"".join(map(line, made))

    async def _made(self, user: str) -> Slate | FailedSlate:
        try:
            asked, of = self._asking(user)
            treatment = self._runtime.experiments.treatment(user)
            n_candidates = None if asked.candidates is None else len(asked.candidates)
            wanted, holds = treated(self._body, asked.wanted, treatment, n_candidates)
            asked = msgspec.structs.replace(asked, wanted=wanted)
            answer = await self._runtime.recommender.recommend(asked)
            fields = self._body.fields
            slate = await slate_of(self._runtime, answer, user=user, of=of, fields=fields)
            slate.take_part(holds, self._context)
            return slate
        except ServiceError as error:
            return FailedSlate(user, Failure(error.status, error.code, error.detail))
        except Exception:  # noqa: BLE001 - a bug that one user meets may not cost the others
            logger().exception("request_failed", request_id=self._request_id)
            says = "an unexpected error occurred; the service's log has it under the request id"
            return FailedSlate(user, Failure(500, "internal", says))


def _asking(body: BatchBody) -> Callable[[str], tuple[Asked, bytes]]:
    """Return what is asked for a user, and the name of the list, which its cursor is bound to."""
    exclude = checked_ids("exclude", body.exclude)
    candidates = None if body.candidates is None else checked_ids("candidates", body.candidates)
    wanted = wanted_of(body)
    given = msgspec.structs.asdict(body)
    alone = RecommendationBody(**{name: given[name] for name in given if name != "users"})

    def asked_by(user: str) -> tuple[Asked, bytes]:
        if not is_id(user):
            raise InvalidId(id_fault("user", user))
        asked = Asked(
            wanted,
            user=user,
            exclude=exclude,
            candidates=candidates,
            exclude_seen=body.exclude_seen,
            category=body.category,
            filter=body.filter,
            context=body.context,
        )
        shape = shape_of(msgspec.structs.replace(alone, user=user))
        return asked, list_name("recommendations", user, shape)

    return asked_by
