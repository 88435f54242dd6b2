"""Recommend items to a user or to an anonymous asker, or put candidates in order."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from fastapi import APIRouter
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from service.api.routing import QueryRoute, runtime_of
from service.api.slates.answers import JsonResponse, Slate, encoded, response, slate_of
from service.api.slates.asking import posted_history, wanted_of
from service.api.slates.cursors import position
from service.api.slates.kept_body import KeptBody
from service.api.slates.reading import (
    checked_features,
    checked_ids,
    names,
    parameters,
    path_parameter,
    read_json,
    read_query,
    refuse,
)
from service.api.slates.requests import (
    RankBody,
    Ranking,
    RecommendationBody,
    RecommendationQuery,
    check_variety,
    context_in,
    context_in_query,
    field_names,
    list_name,
    shape_of,
)
from service.api.slates.treating import treated
from service.api.waiting import reached
from service.errors import InvalidId
from service.http.documentation import answers, json_body, reference
from service.http.routing import media_type, read_body
from service.ids import id_fault, is_id, path_id
from service.ranking.slates.wanted import Wanted
from service.serving.asked import Answer, Asked

router = APIRouter(route_class=QueryRoute, tags=["recommendations"])

PARSED, LONGEST = 1_000, 200
"""Parsed queries that are cached: most differ only in the user. Longest query, in bytes, that is
cached or whose answers are kept: any number of `&` is a query, too."""

_BEST_FIRST = {200: "The items, the best first."}
_ANSWER = answers({200: "Slate"}, _BEST_FIRST, "cursor_expired", "not_ready")
_ANSWER_TO_BODY = answers(
    {200: "Slate"},
    _BEST_FIRST,
    *("cursor_expired", "not_ready", "sequence_not_reached", "invalid_sequence"),
    *("invalid_cursor", "invalid_filter", "invalid_id"),
    *("invalid_event", "out_of_scale", "unknown_kind"),
)


@router.get(
    "/v1/users/{user:id}/recommendations",  # noqa: FAST003 - a raw route reads its own path
    summary="Recommend to a user",
    openapi_extra={
        "parameters": [path_parameter("user", "ada"), *parameters(RecommendationQuery)],
        "responses": _ANSWER,
    },
)
async def recommend(request: Request) -> Response:
    """The best items for this user as of now; an unknown user gets popular items, with a `reason`.

    Asking stores nothing. `next_cursor` leads to the next page; no item comes twice, whatever
    happens meanwhile.
    """
    scope, runtime = request.scope, runtime_of(request)
    user, given = path_id("user", scope["path_params"]["user"]), scope["query_string"]
    treatment = runtime.experiments.treatment(user)
    name = given if treatment is None else given + treatment.key
    kept = runtime.kept_answers.get(user, name)
    hits, misses = scope["app"].state.kept_counts
    if kept is not None:
        hits.add()
        return JsonResponse(kept)
    misses.add()
    read = _read(given)
    query, of = read.query, list_name("recommendations", user, read.shape)
    wanted, holds = treated(query, read.wanted, treatment)
    asked = Asked(
        wanted,
        user=user,
        exclude=read.exclude,
        exclude_seen=query.exclude_seen,
        category=query.category,
        filter=query.filter,
        context=read.context,
        after=position(of, query),
    )
    answer, slate = await _slate(request, asked, of, query, read.fields)
    slate.take_part(holds, read.packed_context)
    body = encoded(slate)
    plain = query.min_sequence is None and not read.fields
    if answer.standing is not None and plain and len(given) <= LONGEST:
        runtime.kept_answers.keep(user, name, answer, KeptBody.of(body, slate.rec_id))
    return JsonResponse(body)


@router.post(
    "/v1/recommendations",
    summary="Recommend to somebody",
    openapi_extra={
        "requestBody": json_body(
            reference("RecommendationBody"),
            anonymous={"history": [{"item": "tt0111161", "rating": 5}], "k": 10},
            cold={"features": {"age": 31, "country": "NO"}},
        ),
        "responses": _ANSWER_TO_BODY,
    },
)
async def recommend_to_anyone(request: Request) -> Response:
    """The best items, or the best of these `candidates`, for a user, a `history` or `features`.

    Asking stores nothing.
    """
    return await _post(request, "recommendations", RecommendationBody)


@router.post(
    "/v1/rank",
    summary="Put candidates in order",
    openapi_extra={
        "requestBody": json_body(
            reference("RankBody"),
            one={"user": "ada", "candidates": ["tt0111161", "tt0068646"]},
        ),
        "responses": _ANSWER_TO_BODY,
    },
)
async def rank(request: Request) -> Response:
    """The candidates in the best order for this user, without hidden, expired and unknown ones.

    Candidates that the model does not know come last, the popular ones first.
    """
    return await _post(request, "rank", RankBody)


class _Query(Struct, frozen=True):
    """A parsed query with what follows from it; equal queries of many users share one."""

    query: RecommendationQuery
    wanted: Wanted
    exclude: Sequence[str]
    fields: Sequence[str]
    shape: bytes
    context: Mapping[str, str]
    packed_context: bytes


def _read(query: bytes) -> _Query:
    return _parsed(query) if len(query) <= LONGEST else _parsed.__wrapped__(query)


@lru_cache(PARSED)
def _parsed(given: bytes) -> _Query:
    query = read_query(given, RecommendationQuery)
    check_variety("query", query, None)
    exclude = checked_ids("exclude", names(query.exclude))
    context = context_in_query(query.context)
    return _Query(
        query=query,
        wanted=wanted_of(query),
        exclude=exclude,
        fields=field_names(query.fields),
        shape=shape_of(query),
        context=context,
        packed_context=context_in("query", context),
    )


async def _post(request: Request, name: str, schema: type[RecommendationBody]) -> Response:
    media_type(request, "application/json")
    body = read_json(await read_body(request.receive), schema)
    if body.user is not None:
        if not is_id(body.user):
            raise InvalidId(id_fault("user", body.user))
        if body.history is not None:
            refuse("body", "history", "give `user` or `history`, not both")
    check_variety("body", body, body.candidates)
    context = context_in("body", body.context)
    of = list_name(name, body.user, shape_of(body))
    history, unknown = await posted_history(request, body)
    treatment = runtime_of(request).experiments.treatment(body.user)
    n_candidates = None if body.candidates is None else len(body.candidates)
    wanted, holds = treated(body, wanted_of(body), treatment, n_candidates)
    asked = Asked(
        wanted,
        user=body.user,
        history=history,
        unknown=unknown,
        features=checked_features(body.features),
        exclude=checked_ids("exclude", body.exclude),
        candidates=None if body.candidates is None else checked_ids("candidates", body.candidates),
        exclude_seen=body.exclude_seen,
        category=body.category,
        filter=body.filter,
        context=body.context,
        after=position(of, body, "body"),
    )
    _, slate = await _slate(request, asked, of, body, body.fields)
    slate.take_part(holds, context)
    return response(slate)


async def _slate(
    request: Request, asked: Asked, of: bytes, ranking: Ranking, fields: Sequence[str]
) -> tuple[Answer, Slate]:
    runtime = runtime_of(request)
    if ranking.min_sequence is not None:
        await reached(runtime, ranking.min_sequence, () if asked.user is None else (asked.user,))
    answer = await runtime.recommender.recommend(asked)
    return answer, await slate_of(runtime, answer, user=asked.user, of=of, fields=fields)
