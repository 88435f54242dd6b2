"""Find items similar to an item, and users similar to a user."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from service.api.figures import figure
from service.api.routing import QueryRoute, runtime_of
from service.api.slates.answers import SimilarUser, SimilarUsers, response, slate_of
from service.api.slates.cursors import position
from service.api.slates.reading import checked_ids, names, parameters, path_parameter, read_query
from service.api.slates.requests import (
    SimilarQuery,
    SimilarUsersQuery,
    field_names,
    list_name,
    shape_of,
)
from service.api.waiting import reached
from service.http.documentation import answers
from service.ids import path_id, sequence_token
from service.ranking.slates.wanted import Wanted
from service.rec_ids import model_prefix
from service.serving.asked import Asked

router = APIRouter(route_class=QueryRoute, tags=["recommendations"])


@router.get(
    "/v1/items/{item:id}/similar",  # noqa: FAST003 - a raw route reads its own path
    summary="Find similar items",
    openapi_extra={
        "parameters": [path_parameter("item", "tt0111161"), *parameters(SimilarQuery)],
        "responses": answers(
            {200: "Slate"},
            {200: "The items, the most similar first."},
            *("not_found", "cursor_expired"),
        ),
    },
)
async def find_similar_items(request: Request) -> Response:
    """Items liked by the users who like this one. Compare scores only within one answer."""
    scope, runtime = request.scope, runtime_of(request)
    item = path_id("item", scope["path_params"]["item"])
    query = read_query(scope["query_string"], SimilarQuery)
    of = list_name("similar", item, shape_of(query))
    user = query.reader
    await reached(runtime, query.min_sequence, () if user is None else (user,))
    asked = Asked(
        Wanted(k=query.k, offset=query.offset, model=query.model),
        user=user,
        seen_by="user",
        exclude=checked_ids("exclude", names(query.exclude)),
        category=query.category,
        filter=query.filter,
        after=position(of, query),
    )
    answer = await runtime.recommender.similar(item, asked)
    fields = field_names(query.fields)
    return response(await slate_of(runtime, answer, user=user, of=of, fields=fields))


@router.get(
    "/v1/users/{user:id}/similar",  # noqa: FAST003 - a raw route reads its own path
    summary="Find similar users",
    openapi_extra={
        "parameters": [path_parameter("user", "ada"), *parameters(SimilarUsersQuery)],
        "responses": answers(
            {200: "SimilarUsers"}, {200: "The users, the most similar first."}, "not_ready"
        ),
    },
)
async def find_similar_users(request: Request) -> Response:
    """Users with a similar vector, among a sample of up to 20 000.

    A user unknown to all active models has none; `reason` says so. The first request after a new
    model may take some seconds.
    """
    scope = request.scope
    user = path_id("user", scope["path_params"]["user"])
    query = read_query(scope["query_string"], SimilarUsersQuery)
    found = await runtime_of(request).recommender.similar_users(user, query.k, query.model)
    model = found.model
    return response(
        SimilarUsers(
            user=user,
            users=[SimilarUser(name, figure(score)) for name, score in found.users],
            model_version=model.version if model else None,
            short_version=model_prefix(model.version) or None if model else None,
            strategy=model.strategy if model else None,
            trained_through=sequence_token(model.trained_through) if model else None,
            seen_through=found.seen_through,
            reason=found.reason,
        )
    )
