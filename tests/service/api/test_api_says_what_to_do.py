"""Impossible requests: an answer with a reason, or a problem that says what is possible."""

import pytest

from tests.api import Api, check_problem
from tests.server import wait_until
from tests.service.shop import (
    RECOMMENDATIONS,
    SEEN,
    N,
    activate,
    get,
    items,
)

PERSONAL = (RECOMMENDATIONS, "/v1/items/i1/similar", "/v1/users/ada/similar")
EVERYBODYS = ("/v1/popular", "/v1/trending")


@pytest.mark.parametrize("path", [*PERSONAL, *EVERYBODYS])
def test_a_wrong_k_names_its_bounds(api: Api, path: str) -> None:
    for k in (0, -1, 10_000, 10**30):
        problem = check_problem(api("GET", path, params={"k": k}), 422, "invalid_request")
        assert problem["errors"] == [{"field": "query.k", "detail": "must be from 1 to 1000"}]
    for wrong in ("ten", "1.5", ""):
        problem = check_problem(api("GET", path, params={"k": wrong}), 422, "invalid_request")
        assert problem["detail"] == "query.k: must be a whole number"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/v1/ratings", '{"user": "ada"'),
        ("/v1/ratings", ""),
        ("/v1/recommendations", '{"user": "ada'),
        ("/v1/predictions", '{"pairs": ['),
    ],
)
def test_a_body_that_ends_too_early_says_what_is_missing(api: Api, path: str, text: str) -> None:
    answer = api("POST", path, content=text, headers={"content-type": "application/json"})
    problem = check_problem(answer, 422, "malformed_json")
    assert "send one complete value, with all its brackets and quotes closed" in problem["detail"]


def test_a_parameter_that_is_not_true_or_false_is_refused(api: Api) -> None:
    answer = api("GET", RECOMMENDATIONS, params={"exclude_seen": "no"})
    problem = check_problem(answer, 422, "invalid_request")
    assert problem["detail"] == "query.exclude_seen: must be true or false (1 or 0)"
    for truth in ("true", "1", "false", "0"):
        assert api("GET", RECOMMENDATIONS, params={"explain": truth}).status_code == 200


def test_the_word_null_in_a_query_is_a_text(shop: Api) -> None:
    assert shop("PUT", "/v1/items/i3", json={"categories": ["null"]}).is_success
    wait_until(lambda: items(get(shop, "/v1/popular", category="null", k=2)) == ["i3"])
    for parameter in ("model", "max_per_category", "min_sequence"):
        answer = shop("GET", RECOMMENDATIONS, params={parameter: "null"})
        assert answer.status_code == 422, parameter


def test_a_parameter_that_is_no_number_is_shown_one(api: Api) -> None:
    for wrong in (".5", "half"):
        answer = api("GET", RECOMMENDATIONS, params={"diversity": wrong})
        problem = check_problem(answer, 422, "invalid_request")
        assert problem["detail"] == "query.diversity: must be a number, such as 0.5"


@pytest.mark.parametrize("path", ["/v1/recommendations", "/v1/rank"])
def test_a_fault_of_a_body_is_located_in_the_body(api: Api, path: str) -> None:
    body = {"candidates": ["a"], "cursor": "abc", "offset": 3}
    problem = check_problem(api("POST", path, json=body), 422, "invalid_request")
    assert [fault["field"] for fault in problem["errors"]] == ["body.offset"]


@pytest.mark.parametrize("varied", [{"diversity": 0.5}, {"max_per_category": 2}])
def test_variety_is_for_the_first_thousand_items(api: Api, varied: dict[str, float]) -> None:
    for offset, k in ((10_000, 10), (1, 1_000)):
        answer = api("GET", RECOMMENDATIONS, params={**varied, "offset": offset, "k": k})
        problem = check_problem(answer, 422, "invalid_request")
        assert [one["field"] for one in problem["errors"]] == ["query.offset"]
        assert "go on with `cursor` instead of `offset`" in problem["detail"]
    assert api("GET", RECOMMENDATIONS, params={**varied, "k": 1_000}).is_success
    assert api("GET", RECOMMENDATIONS, params={"offset": 10_000, "k": 1_000}).is_success
    for n, status in ((1_000, 200), (1_001, 422)):
        body = {"candidates": [f"i{item}" for item in range(n)], **varied}
        assert api("POST", "/v1/rank", json=body).status_code == status
    problem = check_problem(api("POST", "/v1/rank", json=body), 422, "invalid_request")
    assert [one["field"] for one in problem["errors"]] == ["body.candidates"]
    assert "give at most 1000 `candidates`, or a lower `k`" in problem["detail"]
    assert api("POST", "/v1/rank", json={**body, "k": 1_000}).is_success
    problem = check_problem(
        api("POST", "/v1/rank", json={**body, "candidates": ["a"] * 2_000, "k": 1_001}),
        422,
        "invalid_request",
    )
    assert [one["field"] for one in problem["errors"]] == ["body.k"]


def test_the_limit_of_diversity_is_documented_in_openapi(api: Api) -> None:
    document = api("GET", "/openapi.json").json()
    schemas = document["components"]["schemas"]
    described = [schemas[name]["properties"] for name in ("RecommendationBody", "RankBody")]
    operation = document["paths"]["/v1/users/{user}/recommendations"]["get"]
    described.append({one["name"]: one for one in operation["parameters"]})
    for one in described:
        for name in ("diversity", "max_per_category", "offset", "k"):
            assert "at most 1000 together" in one[name]["description"]


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
def test_the_error_of_an_unknown_model_lists_the_known_ones(api: Api, path: str) -> None:
    problem = check_problem(api("GET", path, params={"model": "magic"}), 422, "invalid_request")
    assert "query.model: must be one of fbgd, ocmf" in problem["detail"]


@pytest.mark.parametrize("path", [*PERSONAL, *EVERYBODYS])
def test_the_error_of_an_unknown_parameter_lists_the_known_ones(api: Api, path: str) -> None:
    problem = check_problem(api("GET", path, params={"flavour": 1}), 422, "invalid_request")
    assert "query.flavour: this route has no such parameter; allowed are:" in problem["detail"]


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


def test_a_filter_of_an_absent_feature_leaves_nothing(shop: Api) -> None:
    slate = get(shop, RECOMMENDATIONS, filter="colour = 'red'")
    assert (items(slate), slate["removed"]) == ([], N - len(SEEN))
    assert (
        "no item that may be shown fits `filter`; no item has a feature `colour`" in slate["reason"]
    )
    assert shop("PUT", "/v1/items/i9", json={"features": {"year": 2001}}).is_success
    wait_until(lambda: items(get(shop, "/v1/popular", filter="year = 2001")) == ["i9"])
    slate = get(shop, RECOMMENDATIONS, filter="year > 3000 and yeer > 1 and category = 'a'")
    assert slate["reason"].endswith("no item has a feature `yeer`")
    slate = get(shop, RECOMMENDATIONS, category="shelves", filter="year > 1")
    assert "fits `category` and `filter`" in slate["reason"]
    assert shop("DELETE", "/v1/items/i9").is_success
    wait_until(lambda: not items(get(shop, "/v1/popular", filter="year = 2001")))
    assert all("no item has a feature `year`" in one for one in reasons_of(shop, "year = 2001"))


def reasons_of(api: Api, text: str) -> list[str]:
    """Return why lists of all kinds are empty under a filter."""
    candidates = {"candidates": ["i1", "i2"]}
    answers = [
        *[api("GET", path, params={"filter": text}) for path in (*PERSONAL[:2], *EVERYBODYS)],
        api("POST", "/v1/recommendations", json={"filter": text}),
        api("POST", "/v1/rank", json={"user": "ada", "filter": text} | candidates),
    ]
    assert [items(answer.json()) for answer in answers] == [[]] * len(answers)
    return [answer.json()["reason"] for answer in answers]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("year = '1999'", "`year` is compared with strings in quotes, but its values are numbers"),
        ("tags has 3", "`tags` is compared with numbers, but its values are strings in quotes"),
        (
            "tags in (3, true)",
            (
                "`tags` is compared with numbers and true or false, "
                "but its values are strings in quotes"
            ),
        ),
        ("new > 0", "`new` is compared with numbers, but its values are true or false"),
        (
            "plan = true",
            (
                "`plan` is compared with true or false, "
                "but its values are numbers and strings in quotes"
            ),
        ),
        (
            "category = 3",
            "`category` is compared with numbers, but its values are strings in quotes",
        ),
        (
            "categories has 'film'",
            "no item has a feature `categories`; an item's categories are `category`",
        ),
        (
            "yeer = 1 and new = 2 and year = 1999",
            (
                "no item has a feature `yeer`; `new` is compared with numbers, "
                "but its values are true or false"
            ),
        ),
    ],
)
def test_a_filter_that_compares_values_of_another_type_says_which_there_are(
    shop: Api, text: str, says: str
) -> None:
    old = {"year": 1999, "tags": ["slow", "long"], "new": False, "plan": "b"}
    assert shop("PUT", "/v1/items/i8", json={"features": old, "categories": ["film"]}).is_success
    assert shop("PUT", "/v1/items/i9", json={"features": {"plan": 1}}).is_success
    wait_until(lambda: items(get(shop, "/v1/popular", filter="plan = 1")) == ["i9"])
    assert all(reason.endswith(says) for reason in reasons_of(shop, text))
    fitting = reasons_of(shop, "year > 3000 and tags has 'new' and plan in (7, 'c') or new = true")
    assert not any("its values are" in reason for reason in fitting)


def test_rankers_without_explanations_say_so(shop: Api, redis_url: str) -> None:
    untrained = get(shop, RECOMMENDATIONS, model="popular", explain="true", k=3)["reason"]
    # `next` could explain, too, once a first copy of its counts is there
    train = 'train one with POST /v1/retrain {"model": "fbgd"}'
    assert untrained.endswith((train, "none of them ranked by a history"))
    activate(shop, redis_url)
    for model, explains in (("popular", False), ("trending", False), ("fbgd", True)):
        slate = get(shop, RECOMMENDATIONS, model=model, explain="true", k=3)
        assert any(one["because"] for one in slate["items"]) == explains
        assert (
            "only fbgd, ocmf, next, sequence, neighbours and content know"
            in (slate["reason"] or "")
        ) != explains


def test_only_some_models_compare_users_or_items(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    for path, able in (
        (
            "/v1/items/i1/similar",
            "fbgd, ocmf, exmlds, ordinal, next, sequence, neighbours, content",
        ),
        ("/v1/users/ada/similar", "fbgd, ocmf, content"),
    ):
        for model in ("online", "popular", "mixture"):
            problem = check_problem(
                shop("GET", path, params={"model": model}), 422, "invalid_request"
            )
            assert problem["detail"] == f"query.model: must be one of {able}"


def test_nothing_is_like_an_item_that_was_deleted(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    assert shop("DELETE", "/v1/items/i1").is_success
    for answer in (
        shop("GET", "/v1/items/i1"),
        shop("GET", "/v1/items/i1/similar"),
        shop("POST", "/v1/items/audience", json={"item": "i1"}),
    ):
        check_problem(answer, 404, "not_found")
    assert shop("PUT", "/v1/items/i1", json={}).is_success
    assert shop("GET", "/v1/items/i1/similar").is_success


def test_an_invalid_id_of_a_list_is_located_by_its_position(api: Api) -> None:
    for body, says in (
        ({"candidates": ["a", ""]}, "`candidates[1]` is empty: an id has 1 to 256 characters"),
        ({"candidates": ["a"], "exclude": ["b" * 257]}, "`exclude[0]` has 257 characters"),
        ({"candidates": ["a"], "user": ""}, "`user` is empty"),
    ):
        problem = check_problem(api("POST", "/v1/rank", json=body), 422, "invalid_id")
        assert problem["detail"].startswith(says)
    problem = check_problem(api("GET", "/v1/popular", params={"exclude": "a,"}), 422, "invalid_id")
    assert problem["detail"].startswith("`exclude[1]` is empty")


def test_features_of_the_moment_are_those_of_documents(api: Api) -> None:
    for path, more in (("/v1/recommendations", {}), ("/v1/rank", {"candidates": ["a"]})):
        for wrong in ({"age": [1]}, {"a b": 1}, {"age": None}, {"age": {"years": 3}}):
            for who in ({}, {"user": "ada"}):
                answer = api("POST", path, json={"features": wrong} | who | more)
                problem = check_problem(answer, 422, "invalid_request")
                assert problem["errors"][0]["field"].startswith("body.features.a")
        good = {"age": 31, "plan": "family", "tags": ["a"], "new": True, "height": 1.7}
        assert api("POST", path, json={"user": "ada", "features": good} | more).is_success


def test_an_item_that_is_never_available_is_refused(api: Api) -> None:
    early, late = "2026-11-01T00:00:00.000Z", "2026-11-01T00:00:00.500Z"
    for method, first, second in (
        ("PUT", late, early),
        ("PUT", early, early),
        ("PATCH", late, early),
    ):
        body = {"available_from": first, "available_until": second}
        problem = check_problem(api(method, "/v1/items/x", json=body), 422, "invalid_request")
        assert "must be before `available_until`" in problem["detail"]
        assert api("PUT", "/v1/items/x", json={}).is_success
    for since, until in ((early, late), (None, early), (late, None)):
        body = {"available_from": since, "available_until": until}
        assert api("PUT", "/v1/items/x", json=body).is_success
        assert api("GET", "/v1/items/x").json()["available_from"] == since
    problem = check_problem(
        api("PATCH", "/v1/items/x", json={"available_until": early}), 422, "invalid_request"
    )
    assert "never be shown" in problem["detail"]


def test_unknown_users_get_popular_items_and_the_reason(shop: Api, redis_url: str) -> None:
    path = "/v1/users/nobody/recommendations"
    assert "train one (POST /v1/retrain)" in get(shop, path)["reason"]
    activate(shop, redis_url)
    for more in ({}, {"model": "fbgd"}):
        slate = get(shop, path, **more)
        assert (slate["strategy"], items(slate)[0]) == ("popular", "i0")
        assert "of this user" in slate["reason"]


@pytest.mark.parametrize(
    ("strategy", "model"), [("ocmf", "ocmf-lr-wsq"), ("exmlds", "exmlds"), ("ordinal", "ordinal")]
)
def test_a_request_for_an_absent_model_says_which_to_train(
    shop: Api, redis_url: str, strategy: str, model: str
) -> None:
    activate(shop, redis_url)
    reasons = [
        get(shop, path, model=strategy)["reason"]
        for path in (RECOMMENDATIONS, "/v1/items/i1/similar")
    ]
    if strategy == "ocmf":
        reasons.append(get(shop, "/v1/users/ada/similar", model=strategy)["reason"])
    if strategy == "exmlds":
        reasons.append(shop("POST", "/v1/items/audience", json={"item": "i1"}).json()["reason"])
    if strategy == "ordinal":
        path = "/v1/users/ada/predictions/i1"
        answer = shop("GET", path, params={"model": strategy})
        reasons.append(check_problem(answer, 409, "conflict")["detail"])
    for reason in reasons:
        assert f"no model of the strategy {strategy} is active" in reason
        assert f'POST /v1/retrain {{"model": "{model}"}}' in reason


def test_answers_to_unknown_users_say_what_would_help(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    nobody = get(shop, "/v1/users/nobody/recommendations")
    assert nobody["reason"].startswith("nothing is known of this user yet: send feedback")
    assert shop("PUT", "/v1/users/new", json={"features": {"age": 31}}).is_success
    reads = (
        'no active model reads these features: train one with POST /v1/retrain {"model": "exmlds"}'
    )
    assert get(shop, "/v1/users/new/recommendations")["reason"] == reads
    for body, says in (
        ({"features": {"age": 31}}, reads),
        ({"history": [{"item": "misspelt", "rating": 5}]}, "no item of `history` is known here"),
        ({"history": []}, "give a `user`, a `history` or `features`"),
        ({}, "give a `user`, a `history` or `features`"),
    ):
        assert says in shop("POST", "/v1/recommendations", json=body).json()["reason"]


def test_nothing_is_like_an_item_before_something_was_learned_of_it(
    shop: Api, redis_url: str
) -> None:
    assert "no model is active yet" in get(shop, "/v1/items/i1/similar")["reason"]
    activate(shop, redis_url)
    assert shop("PUT", "/v1/items/new", json={}).is_success
    slate = get(shop, "/v1/items/new/similar")
    assert slate["strategy"] == "popular"
    assert "no model has learned this item yet" in slate["reason"]
    assert "its first positive feedback" in slate["reason"]


def test_an_empty_namespace_answers_with_the_reason(api: Api) -> None:
    slate = get(api, RECOMMENDATIONS)
    assert (items(slate), slate["next_cursor"]) == ([], None)
    assert "train one" in slate["reason"]
    for path in (RECOMMENDATIONS, *EVERYBODYS):
        assert "there is no item that may be shown: add items" in get(api, path)["reason"]
    ranked = api("POST", "/v1/rank", json={"user": "ada", "candidates": ["never"]})
    assert (ranked.status_code, ranked.json()["items"]) == (200, [])
    assert "none of `candidates` is known here" in ranked.json()["reason"]
    problem = check_problem(api("GET", "/v1/items/never/similar"), 404, "not_found")
    assert "write its document or send feedback" in problem["detail"]


def test_an_answer_to_a_user_who_has_seen_everything_says_so(learned_api: Api) -> None:
    sequence = learned_api.rate("ada", "a", 5)
    slate = get(learned_api, RECOMMENDATIONS, min_sequence=sequence)
    assert items(slate) == []
    assert (
        "every item that may be shown is left out: seen before (`exclude_seen`)" in slate["reason"]
    )
    beyond = get(learned_api, RECOMMENDATIONS, exclude_seen="false", offset=5)
    assert items(beyond) == []
    assert "`offset` skips all of this answer (items: 1)" in beyond["reason"]


def test_the_reason_names_the_option_that_left_out_all_items(shop: Api, redis_url: str) -> None:
    for n in SEEN:
        assert shop("PUT", f"/v1/items/i{n}", json={"categories": ["film"]}).is_success
    wait_until(lambda: len(items(get(shop, "/v1/popular", category="film"))) == len(SEEN))
    film = {"filter": "category = 'film'"}
    fits = "every item that may be shown and fits `filter` is left out: "
    named = {"exclude": ",".join(f"i{n}" for n in SEEN)}
    for path, more, says in (
        (RECOMMENDATIONS, {}, "seen before (`exclude_seen`)"),
        (RECOMMENDATIONS, named, "seen before (`exclude_seen`) or named in `exclude`"),
        ("/v1/popular", named, "named in `exclude`"),
        ("/v1/items/i3/similar", named, "named in `exclude` or the item itself"),
    ):
        slate = get(shop, path, **film, **more)
        assert items(slate) == []
        assert slate["reason"].endswith(fits + says)
    shares = get(shop, "/v1/users/nobody/recommendations", **film, max_per_category=1, offset=5)
    assert shares["reason"].endswith("`offset` skips all of this answer (items: 1)")
    ranked = {"user": "ada", "candidates": ["i3"], "exclude": ["i3"]}
    reason = shop("POST", "/v1/rank", json=ranked).json()["reason"]
    assert reason.endswith("fits `candidates` is left out: named in `exclude`")
    activate(shop, redis_url)
    assert shop("PUT", "/v1/items/later", json={"categories": ["new"]}).is_success
    wait_until(lambda: items(get(shop, "/v1/popular", category="new")) == ["later"])
    slate = get(shop, "/v1/items/i1/similar", category="new")
    assert slate["reason"] == "fbgd knows no item that may be shown and fits `category`"


def test_the_reason_says_that_no_item_has_categories(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    says = "no item has categories: write them (PUT /v1/items/{item}, or a column `categories`"
    lists = [{"category": "Horror"}, {"max_per_category": 1}]
    for asked in lists:
        assert says in get(shop, RECOMMENDATIONS, **asked)["reason"]
    assert get(shop, RECOMMENDATIONS)["reason"] is None
    assert shop("PUT", "/v1/items/i1", json={"categories": ["Horror"]}).is_success
    wait_until(lambda: items(get(shop, RECOMMENDATIONS, category="Horror")) == ["i1"])
    assert [get(shop, RECOMMENDATIONS, **asked)["reason"] for asked in lists] == [None, None]


def test_a_cursor_that_cannot_go_on_says_how_to(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    cursor = get(shop, RECOMMENDATIONS, model="fbgd")["next_cursor"]

    def asked(**more: str) -> dict[str, str]:
        return {"model": "fbgd", "cursor": cursor} | more

    for wrong in (
        asked(cursor=cursor[:-4] + "AAAA"),
        asked(filter="year = 1"),
        asked(model="ocmf"),
    ):
        problem = check_problem(shop("GET", RECOMMENDATIONS, params=wrong), 422, "invalid_cursor")
        assert "send `next_cursor` of the same list" in problem["detail"]
    for seed in range(1, 10):
        activate(shop, redis_url, seed=seed)
        get(shop, RECOMMENDATIONS, model="fbgd")
    gone = check_problem(shop("GET", RECOMMENDATIONS, params=asked()), 410, "cursor_expired")
    assert "begin again, without the cursor" in gone["detail"]
