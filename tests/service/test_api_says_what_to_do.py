"""Asking for the impossible: an answer with its reason, or a problem that says what would have been possible."""

import pytest

from tests.api import Api
from tests.service.test_api_errors import check_problem
from tests.service.test_api_recommendations import (
    RECOMMENDATIONS,
    SEEN,
    N,
    activate,
    get,
    items,
    shop,
)

__all__ = ["shop"]

PERSONAL = (RECOMMENDATIONS, "/v1/items/i1/similar", "/v1/users/ada/similar")
EVERYBODYS = ("/v1/popular", "/v1/trending")


@pytest.mark.parametrize("path", [*PERSONAL, *EVERYBODYS])
def test_a_wrong_k_names_its_bounds(api: Api, path: str) -> None:
    for k in (0, -1, 10_000, 10**30):
        problem = check_problem(api("GET", path, params={"k": k}), 422, "invalid_request")
        assert problem["errors"] == [{"field": "query.k", "detail": "must be from 1 to 1000"}]
    for wrong in ("ten", "1.5", ""):
        problem = check_problem(api("GET", path, params={"k": wrong}), 422, "invalid_request")
        assert problem["detail"] == "query.k: must be a whole number, not a string"


@pytest.mark.parametrize(("path", "most"), [("/v1/recommendations", 1000), ("/v1/rank", 10_000)])
def test_a_wrong_k_in_a_body_names_its_bounds(api: Api, path: str, most: int) -> None:
    for k, says in (
        (0, f"from 1 to {most}"),
        (most + 1, f"from 1 to {most}"),
        (1.5, "not a number"),
        (True, "not true or false"),
        (None, "not null"),
    ):
        answer = api("POST", path, json={"user": "ada", "candidates": ["i1"], "k": k})
        problem = check_problem(answer, 422, "invalid_request")
        assert problem["errors"][0]["field"] == "body.k"
        assert says in problem["detail"]


@pytest.mark.parametrize("path", PERSONAL)
def test_an_unknown_model_is_told_which_there_are(api: Api, path: str) -> None:
    problem = check_problem(api("GET", path, params={"model": "magic"}), 422, "invalid_request")
    assert "query.model: must be one of fbgd, ocmf" in problem["detail"]


@pytest.mark.parametrize("path", [*PERSONAL, *EVERYBODYS])
def test_an_unknown_parameter_is_told_which_there_are(api: Api, path: str) -> None:
    problem = check_problem(api("GET", path, params={"flavour": 1}), 422, "invalid_request")
    assert "query.flavour: this route has no such parameter; it knows:" in problem["detail"]


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("year >=", 8, "a number or a string"),
        ("year", 5, "one of = != < <= > >= in has"),
        ("((", 3, "a feature, `not` or `(`"),
        ("year = 'open", 8, "strings stand between single quotes"),
        ("1 = year", 1, "a feature"),
        ("a = 1 b", 7, "`and`, `or` or the end"),
        ("a in ()", 7, "a number, a string"),
        (" and ".join(["a = 1"] * 51), 501, "at most 50 comparisons"),
    ],
)
def test_a_filter_that_cannot_be_read_says_where_and_what(
    api: Api, text: str, at: int, expected: str
) -> None:
    answers = [
        api("GET", RECOMMENDATIONS, params={"filter": text}),
        api("GET", "/v1/popular", params={"filter": text}),
        api("POST", "/v1/recommendations", json={"filter": text}),
    ]
    for answer in answers:
        problem = check_problem(answer, 422, "invalid_filter")
        assert problem["detail"].startswith(f"at character {at} of the filter: expected ")
        assert expected in problem["detail"]


def test_a_filter_of_a_feature_that_nobody_has_leaves_nothing(shop: Api) -> None:
    slate = get(shop, RECOMMENDATIONS, filter="colour = 'red'")
    assert (items(slate), slate["removed"]) == ([], N - len(SEEN))


def test_nobody_known_gets_what_is_popular_and_the_reason(shop: Api, redis_url: str) -> None:
    path = "/v1/users/nobody/recommendations"
    assert "train one (POST /v1/retrain)" in get(shop, path)["reason"]
    activate(shop, redis_url)
    for more in ({}, {"model": "fbgd"}):
        slate = get(shop, path, **more)
        assert (slate["strategy"], items(slate)[0]) == ("popular", "i0")
        assert "of this user" in slate["reason"]
    slate = get(shop, path, model="ocmf")
    assert (
        slate["reason"] == "no model of the strategy ocmf is active: train one (POST /v1/retrain)"
    )


def test_an_empty_world_says_why_there_is_nothing(api: Api) -> None:
    slate = get(api, RECOMMENDATIONS)
    assert (items(slate), slate["next_cursor"]) == ([], None)
    assert "train one" in slate["reason"]
    ranked = api("POST", "/v1/rank", json={"user": "ada", "candidates": ["never"]})
    assert (ranked.status_code, ranked.json()["items"]) == (200, [])
    problem = check_problem(api("GET", "/v1/items/never/similar"), 404, "not_found")
    assert "nothing was ever said of it" in problem["detail"]


def test_a_cursor_that_cannot_go_on_says_how_to(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    cursor = get(shop, RECOMMENDATIONS, model="fbgd")["next_cursor"]

    def asked(**more: str) -> dict[str, str]:
        return {"model": "fbgd", "cursor": cursor} | more

    for wrong in (asked(cursor=cursor[:-4] + "AAAA"), asked(filter="year = 1"), asked(model="ocmf")):
        problem = check_problem(shop("GET", RECOMMENDATIONS, params=wrong), 422, "invalid_cursor")
        assert "hand back `next_cursor` of the same list" in problem["detail"]
    for seed in range(1, 10):
        activate(shop, redis_url, seed=seed)
        get(shop, RECOMMENDATIONS, model="fbgd")
    gone = check_problem(shop("GET", RECOMMENDATIONS, params=asked()), 410, "cursor_expired")
    assert "begin again, without the cursor" in gone["detail"]
