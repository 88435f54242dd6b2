"""The lists that are the same for everybody but for what they have seen: popular, latest, ..."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from service.api.routing import QueryRoute, runtime_of
from service.api.slates.answers import response, slate_of
from service.api.slates.cursors import position
from service.api.slates.reading import checked_ids, names, parameters, read_query
from service.api.slates.requests import Query, field_names, list_name, shape_of
from service.api.waiting import reached
from service.http.documentation import answers
from service.ranking.slates.wanted import Wanted
from service.ranking.strategies import LATEST, POPULAR, TRENDING, Strategy
from service.serving.asked import Asked

router = APIRouter(route_class=QueryRoute, tags=["recommendations"])

_EXTRA = {
    "parameters": parameters(Query),
    "responses": answers(
        {200: "Slate"}, {200: "The items, the most popular first."}, "cursor_expired"
    ),
}


@router.get("/v1/popular", summary="List what is popular", openapi_extra=_EXTRA)
async def list_popular(request: Request) -> Response:
    """The most popular items of all times: the score is the weight of all positives."""
    return await _list(request, POPULAR)


@router.get("/v1/trending", summary="List what is trending", openapi_extra=_EXTRA)
async def list_trending(request: Request) -> Response:
    """The most popular items lately: each positive counts half as much after a half-life."""
    return await _list(request, TRENDING)


@router.get("/v1/latest", summary="List what was added last", openapi_extra=_EXTRA)
async def list_latest(request: Request) -> Response:
    """The latest items: by `available_from`, or else by when they were written for the first time.

    The score is that day, in days since 1970, and 0 where it is not known.
    """
    return await _list(request, LATEST)


async def _list(request: Request, strategy: Strategy) -> Response:
    runtime = runtime_of(request)
    query = read_query(request.scope["query_string"], Query)
    of = list_name(strategy, None, shape_of(query))
    user = query.reader
    await reached(runtime, query.min_sequence, () if user is None else (user,))
    asked = Asked(
        Wanted(k=query.k, offset=query.offset, model=strategy),
        user=user,
        seen_by="user",
        exclude=checked_ids("exclude", names(query.exclude)),
        category=query.category,
        filter=query.filter,
        after=position(of, query),
    )
    answer = await runtime.recommender.recommend(asked)
    fields = field_names(query.fields)
    return response(await slate_of(runtime, answer, user=user, of=of, fields=fields))
