"""Recommendations over HTTP: for users and histories, in pages, with and without a model."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from redis import Redis

from core.batch.ocmf.users import StructuredUsers
from core.batch.snapshot import of_objective, of_users
from core.features import Column, FeatureEncoder
from core.snapshot import Snapshot
from service.ranking.families import FAMILIES
from service.rec_ids import STRATEGIES, decode, hashed
from service.settings import Settings
from service.store.models.registry import Registry
from tests.api import Api, learning
from tests.models import activated, objective
from tests.server import wait_until
from tests.service.shop import (
    ADA,
    RECOMMENDATIONS,
    SEEN,
    N,
    activate,
    expected,
    fault,
    get,
    items,
    post,
)


def test_without_a_model_popular_items_are_returned_with_a_reason(shop: Api) -> None:
    slate = get(shop, RECOMMENDATIONS, k=3)
    assert items(slate) == ["i0", "i1", "i2"]
    assert slate["strategy"] == slate["model_version"] == "popular"
    # the second, once the first snapshot of the online model is read, which has no items
    assert "retrain" in slate["reason"] or "online has learned none" in slate["reason"]
    assert slate["user"] == "ada"
    assert slate["seen_through"] == slate["trained_through"]


def test_a_slate_is_the_fold_in_of_the_history_as_it_is_now(shop: Api, redis_url: str) -> None:
    version = activate(shop, redis_url)
    slate = get(shop, RECOMMENDATIONS, k=20, model="fbgd")
    assert items(slate) == expected(N, ADA, SEEN)[:20]
    assert (slate["model_version"], slate["strategy"]) == (version, "fbgd")
    assert (slate["trained_through"], slate["reason"]) == ("0:7", None)
    assert slate["models"] == {"fbgd": version}
    assert {entry["strategy"] for entry in slate["items"]} == {"fbgd"}
    said = decode(slate["rec_id"])
    assert said is not None
    assert said.user == hashed("ada")


def test_a_rating_counts_in_the_next_request(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    first = items(get(shop, RECOMMENDATIONS, model="fbgd"))[0]
    token = shop.rate("ada", first, 5)
    slate = get(shop, RECOMMENDATIONS, k=N, model="fbgd", min_sequence=token)
    number = int(first[1:])
    assert items(slate)[: N - 4] == expected(N, ADA | {number: 1.0}, SEEN | {number})
    assert int(slate["seen_through"].split(":")[1]) >= int(token.split(":")[1])


def test_a_new_user_is_answered_after_one_event(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    assert get(shop, "/v1/users/new/recommendations")["strategy"] == "popular"
    token = shop.rate("new", "i9", 5)
    slate = get(shop, "/v1/users/new/recommendations", min_sequence=token, model="fbgd")
    assert slate["strategy"] == "fbgd"
    assert items(slate) == expected(N, {9: 1.0}, {9})[:10]


def test_a_new_user_is_shrunk_to_the_mean_user_of_the_model(shop: Api, redis_url: str) -> None:
    mean_row = np.random.default_rng(9).normal(size=8).astype(np.float32)
    model = replace(objective(N, 8), mean_row=mean_row, shrinkage=4.0)
    through = {"trained_through": {"0": 7}}
    made = of_objective("fbgd", model, settings={}, metrics={}, cuts=through)
    with Redis.from_url(redis_url) as client:
        activated(Registry(client, shop.settings.namespace), made=made)
    shop.follow_models()
    token = shop.rate("fresh", "i4", 5)
    slate = get(shop, "/v1/users/fresh/recommendations", k=N, min_sequence=token, model="fbgd")
    score = model.item_factors @ model.vector(np.array([4], np.int32))
    order = sorted(set(range(N)) - {4}, key=lambda y: (-score[y], y))
    assert slate["strategy"] == "fbgd"
    assert items(slate)[: len(order)] == [f"i{item}" for item in order]
    assert items(slate) != expected(N, {4: 1.0}, {4})


def test_a_deleted_rating_no_longer_counts(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    get(shop, RECOMMENDATIONS)
    receipt = shop("DELETE", "/v1/users/ada/ratings/i7").json()
    slate = get(shop, RECOMMENDATIONS, k=N, model="fbgd", min_sequence=receipt["sequence"])
    assert items(slate) == expected(N, {3: 1.0, 5: 1.0}, {3, 5})


def test_items_that_the_model_does_not_know_follow(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url, n_items=20)
    slate = get(shop, RECOMMENDATIONS, k=N, model="fbgd")
    assert items(slate)[:17] == expected(20, ADA, SEEN)
    assert {entry["strategy"] for entry in slate["items"][17:]} == {"popular"}
    assert len(set(items(slate))) == N - 3


def test_hidden_items_categories_and_filters_leave_items_out(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    for n in range(N):
        body = {"categories": ["even" if n % 2 == 0 else "odd"], "features": {"year": 2000 + n}}
        shop("PUT", f"/v1/items/i{n}", json=body | {"hidden": n == 10})
    wait_until(
        lambda: "i10" not in items(get(shop, RECOMMENDATIONS, k=N, category="even", model="fbgd"))
    )
    whole = [item for item in expected(N, ADA, SEEN) if item != "i10"]
    wait_until(
        lambda: (
            items(get(shop, RECOMMENDATIONS, k=N, category="odd", model="fbgd"))
            == [item for item in whole if int(item[1:]) % 2]
        )
    )
    slate = get(shop, RECOMMENDATIONS, k=N, filter="year >= 2020 and not year = 2033", model="fbgd")
    assert items(slate) == [i for i in whole if int(i[1:]) >= 20 and i != "i33"]
    assert slate["removed"] == len(whole) - len(items(slate))
    slate = get(shop, RECOMMENDATIONS, k=N, exclude="i20,i21,nothing", model="fbgd")
    assert items(slate) == [item for item in whole if item not in {"i20", "i21"}]
    slate = get(shop, RECOMMENDATIONS, k=N, exclude_seen="false", model="fbgd")
    assert len(items(slate)) == N - 1
    slate = get(shop, RECOMMENDATIONS, k=10, max_per_category=2, model="fbgd")
    assert len(items(slate)) == 4
    slate = get(shop, RECOMMENDATIONS, k=1, fields="categories,year,colour", model="fbgd")
    number = int(items(slate)[0][1:])
    categories = ["even" if number % 2 == 0 else "odd"]
    assert slate["items"][0]["fields"] == {
        "categories": categories,
        "year": 2000 + number,
        "colour": None,
    }


@pytest.mark.parametrize("model", ["fbgd", "popular", "trending"])
def test_pages_neither_repeat_nor_skip_whatever_happens_meanwhile(
    shop: Api, redis_url: str, model: str
) -> None:
    activate(shop, redis_url)
    whole = items(get(shop, RECOMMENDATIONS, k=N, model=model))
    page = get(shop, RECOMMENDATIONS, k=7, model=model)
    found, cursor = items(page), page["next_cursor"]
    rated = whole[20]
    token = shop.rate("ada", rated, 5)
    activate(shop, redis_url, seed=1)
    get(shop, RECOMMENDATIONS, min_sequence=token)
    while cursor is not None:
        page = get(shop, RECOMMENDATIONS, k=7, model=model, cursor=cursor)
        found, cursor = found + items(page), page["next_cursor"]
    assert found == [item for item in whole if item != rated]


def test_a_model_that_serves_later_takes_no_part_in_a_list_that_goes_on(
    shop: Api, redis_url: str
) -> None:
    version = activate(shop, redis_url, strategy="ocmf", seed=3)
    paths = (RECOMMENDATIONS, "/v1/items/i4/similar")
    whole = [items(get(shop, path, k=N)) for path in paths]
    cursors = [get(shop, path, k=5)["next_cursor"] for path in paths]
    activate(shop, redis_url)
    for path, all_of_them, cursor in zip(paths, whole, cursors, strict=True):
        page = get(shop, path, k=N, cursor=cursor)
        assert items(page) == all_of_them[5:]
        assert page["models"] == {"ocmf": version}


def test_a_cursor_of_another_list_or_a_dropped_model_is_refused(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    cursor = get(shop, RECOMMENDATIONS, model="fbgd")["next_cursor"]
    for other in ({"model": "popular"}, {"model": "fbgd", "exclude": "i1"}):
        assert fault(shop, RECOMMENDATIONS, cursor=cursor, **other) == (422, "invalid_cursor")
    path = "/v1/users/bob/recommendations"
    assert fault(shop, path, model="fbgd", cursor=cursor) == (422, "invalid_cursor")
    for broken in ("x", cursor[:-4], "é", cursor[::-1]):
        assert fault(shop, RECOMMENDATIONS, model="fbgd", cursor=broken) == (422, "invalid_cursor")
    both = fault(shop, RECOMMENDATIONS, model="fbgd", cursor=cursor, offset=3)
    assert both == (422, "invalid_request")
    for seed in range(1, 10):
        activate(shop, redis_url, seed=seed)
        get(shop, RECOMMENDATIONS, model="fbgd")
    assert fault(shop, RECOMMENDATIONS, model="fbgd", cursor=cursor) == (410, "cursor_expired")


def test_an_offset_skips_and_pages_go_on_from_there(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    whole = items(get(shop, RECOMMENDATIONS, k=N, model="fbgd"))
    page = get(shop, RECOMMENDATIONS, k=5, offset=10, model="fbgd")
    assert items(page) == whole[10:15]
    page = get(shop, RECOMMENDATIONS, k=5, model="fbgd", cursor=page["next_cursor"])
    assert items(page) == whole[15:20]


def test_reasons_name_past_items(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    slate = get(shop, RECOMMENDATIONS, k=3, model="fbgd", explain="true")
    named = {reason["item"] for entry in slate["items"] for reason in entry["because"]}
    assert named
    assert named <= {"i3", "i5", "i7"}
    assert "because" not in get(shop, RECOMMENDATIONS, k=1)["items"][0]


def test_a_history_in_the_request_is_answered_like_a_user_with_it(
    shop: Api, redis_url: str
) -> None:
    activate(shop, redis_url)
    history = [{"item": "i3", "rating": 5}, {"item": "i5", "kind": "like"}, {"item": "no"}]
    answer = shop("POST", "/v1/recommendations", json={"history": history})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_event")
    history[2] = {"item": "i7", "rating": 1}
    slate = post(shop, "/v1/recommendations", history=history, k=N, model="fbgd")
    assert slate["user"] is None
    assert items(slate) == expected(N, ADA, SEEN)
    page = post(shop, "/v1/recommendations", history=history, k=5, model="fbgd")
    page = post(
        shop, "/v1/recommendations", history=history, k=5, model="fbgd", cursor=page["next_cursor"]
    )
    assert items(page) == expected(N, ADA, SEEN)[5:10]
    unknown = post(shop, "/v1/recommendations", history=[{"item": "never seen", "rating": 5}])
    assert unknown["strategy"] == "popular"
    stored = get(shop, "/v1/users/ada/ratings")
    assert len(stored["items"]) == 3


def test_candidates_are_put_in_order(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url, n_items=30)
    order = expected(30, ADA, set())
    wanted = ["i3", "i20", "i4", "i39", "nobody knows it", "i35", "i4"]
    slate = post(shop, "/v1/rank", user="ada", candidates=wanted, model="fbgd")
    assert items(slate)[:3] == sorted(["i3", "i20", "i4"], key=order.index)
    assert set(items(slate)[3:]) == {"i35", "i39"}
    slate = post(shop, "/v1/rank", user="ada", candidates=wanted, exclude_seen=True, k=1)
    assert len(items(slate)) == 1
    chosen = post(shop, "/v1/recommendations", user="ada", candidates=wanted, model="fbgd")
    assert "i3" not in items(chosen)


def test_similar_items_and_everybodys_lists(shop: Api, redis_url: str) -> None:
    assert items(get(shop, "/v1/popular", k=3)) == ["i0", "i1", "i2"]
    trending = get(shop, "/v1/trending", k=2)
    assert (trending["strategy"], trending["user"]) == ("trending", None)
    activate(shop, redis_url)
    q = objective(N, 8).item_factors
    unit = q / np.linalg.norm(q, axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit[4]), kind="stable")[1:6]
    slate = get(shop, "/v1/items/i4/similar", k=5)
    assert items(slate) == [f"i{n}" for n in order]
    rest = get(shop, "/v1/items/i4/similar", k=N, cursor=slate["next_cursor"])
    assert set(items(rest)) == {f"i{n}" for n in range(N)} - {"i4"} - set(items(slate))
    assert fault(shop, "/v1/items/never/similar") == (404, "not_found")


def test_ids_are_those_of_the_path(shop: Api) -> None:
    name = "a/b ü"
    slate = get(shop, f"/v1/users/{quote(name, safe='')}/recommendations", k=1)
    assert slate["user"] == name


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"k": 0}, "invalid_request"),
        ({"k": 10_000}, "invalid_request"),
        ({"k": "ten"}, "invalid_request"),
        ({"model": "magic"}, "invalid_request"),
        ({"diversity": "nan"}, "invalid_request"),
        ({"blend": 2}, "invalid_request"),
        ({"flavour": 1}, "invalid_request"),
        ({"filter": "year >="}, "invalid_filter"),
        ({"exclude": "a,,b"}, "invalid_id"),
        ({"min_sequence": "yesterday"}, "invalid_sequence"),
        ({"cursor": "never given"}, "invalid_cursor"),
        ({"fields": ",".join(["year"] * 21)}, "invalid_request"),
    ],
)
def test_unanswerable_requests_are_problems(
    api: Api, parameters: dict[str, Any], code: str
) -> None:
    assert fault(api, RECOMMENDATIONS, **parameters) == (422, code)


@pytest.mark.parametrize(
    "body",
    [
        b'{"user": "ada", "history": []}',
        b'{"user": ""}',
        b'{"k": 0}',
        b'{"candidates": "i1"}',
        b'{"colour": 1}',
        b'{"history": [{"item": "a", "rating": true}]}',
        b'{"diversity": NaN}',
        b'{"user": "\\ud800"}',
        b"[]",
        b"",
    ],
)
def test_a_body_that_cannot_be_read_is_a_problem(api: Api, body: bytes) -> None:
    for path in ("/v1/recommendations", "/v1/rank"):
        answer = api("POST", path, content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 422, answer.text


def test_an_empty_catalogue_has_an_empty_slate(api: Api) -> None:
    for path in ("/v1/users/nobody/recommendations", "/v1/popular", "/v1/trending"):
        slate = get(api, path)
        assert (slate["items"], slate["next_cursor"]) == ([], None)


def test_an_item_without_ratings_is_recommended_last(api: Api) -> None:
    api("PUT", "/v1/items/fresh", json={})
    assert items(get(api, "/v1/users/nobody/recommendations")) == ["fresh"]


def test_an_answer_says_that_events_were_not_learned_in_time(api: Api) -> None:
    token = api.rate("ada", "i1", 5)
    assert fault(api, RECOMMENDATIONS, min_sequence=token) == (503, "sequence_not_reached")


@pytest.fixture
def online_shop(redis_url: str, namespace: str, tmp_path: Path) -> Iterator[Api]:
    """A service that publishes online snapshots often; fans rate even items high, odd ones low."""
    settings = Settings(
        namespace=namespace,
        data_dir=tmp_path,
        online_snapshot_s=0.05,
        min_sequence_wait_ms=60_000,
    )
    with learning(settings, redis_url), Api(settings, redis_url) as api:
        token = ""
        for fan in range(8):
            for n in range(fan, 20):
                token = api.rate(f"fan{fan}", f"i{n}", 5 if n % 2 == 0 else 2)
        get(api, "/v1/users/fan7/recommendations", min_sequence=token)

        def published() -> bool:
            api.run(api.runtime.online_items.refresh())
            found = api.runtime.online_items.current.online.get(0)
            return found is not None and f"0:{found.seen_through}" == token

        wait_until(published)
        yield api


def test_items_without_a_trained_model_are_similar_by_what_comes_close(online_shop: Api) -> None:
    for model in ({}, {"model": "next"}):
        slate = get(online_shop, "/v1/items/i2/similar", k=3, **model)
        assert (slate["strategy"], slate["reason"]) == ("next", None)
        assert len(items(slate)) == 3
        assert "i2" not in items(slate)


def test_the_online_model_ranks_by_what_it_predicts(online_shop: Api) -> None:
    slate = get(online_shop, "/v1/users/fan7/recommendations", k=20, model="online")
    assert (slate["strategy"], slate["reason"]) == ("online", None)
    assert slate["trained_through"] == slate["seen_through"]
    pairs = [{"user": "fan7", "item": item} for item in items(slate)]
    predicted = post(online_shop, "/v1/predictions", pairs=pairs)["predictions"]
    ratings = [entry["rating"] for entry in predicted]
    assert ratings == sorted(ratings, reverse=True)
    assert len(ratings) == 7
    nobody = get(online_shop, "/v1/users/nobody/recommendations", model="online")
    assert nobody["strategy"] == "popular"
    assert nobody["reason"].startswith("online knows users by the ratings that it has learned")
    for strategy, body in (
        ("popular", {}),
        ("next", {"history": [{"item": "i2", "rating": 5}]}),
    ):
        slate = post(online_shop, "/v1/recommendations", model="online", **body)
        assert (slate["strategy"], slate["reason"]) == (
            strategy,
            FAMILIES["online"].reasons.no_user,
        )


def test_without_a_trained_model_the_learned_weights_mix_the_online_one_with_everybodys_lists(
    online_shop: Api,
) -> None:
    path, runtime = "/v1/users/fan7/recommendations", online_shop.runtime
    tokens: list[str] = []

    def judged() -> bool:
        for item in ("i2", "i4"):
            tokens.append(online_shop.rate(f"new{len(tokens) // 2}", item, 5))
        online_shop.run(runtime.mixture_weights.refresh())
        return bool(runtime.mixture_weights.current.by_length)

    wait_until(judged)
    online_shop.run(runtime.popularity.refresh())
    for model in ({}, {"model": "mixture"}):
        slate = get(online_shop, path, k=20, min_sequence=tokens[-1], **model)
        assert (slate["strategy"], slate["reason"], slate["models"]) == ("mixture", None, {})
    page = get(online_shop, path, k=3)
    rest = get(online_shop, path, k=20, cursor=page["next_cursor"])
    assert sorted(items(page) + items(rest)) == sorted(items(get(online_shop, path, k=20)))


def test_a_blend_of_one_is_the_order_of_the_online_model(online_shop: Api, redis_url: str) -> None:
    path = "/v1/users/fan7/recommendations"
    online = items(get(online_shop, path, k=20, model="online"))
    version = activate(online_shop, redis_url, n_items=20)
    plain = items(get(online_shop, path, k=20, model="fbgd"))
    blend = get(online_shop, path, k=20, model="fbgd", blend=1)
    assert items(blend) == online
    assert blend["blend"]["share"] == 1.0
    assert blend["blend"]["model_version"].startswith("online-")
    assert blend["model_version"].startswith("blend-")
    assert blend["models"] == {"fbgd": version}
    page = get(online_shop, path, k=3, model="fbgd", blend=1)
    rest = get(online_shop, path, k=9, model="fbgd", blend=1, cursor=page["next_cursor"])
    assert items(page) + items(rest) == online
    said = [decode(slate["rec_id"]) for slate in (blend, rest, get(online_shop, path, k=3))]
    assert said[0] is not None
    assert [one is not None and one.source == said[0].source for one in said] == [True, True, False]
    assert items(get(online_shop, path, k=20, model="fbgd", blend=0)) == plain
    assert plain != online


def test_several_rankers_are_mixed_by_default(online_shop: Api, redis_url: str) -> None:
    versions = {
        strategy: activate(online_shop, redis_url, n_items=20, strategy=strategy, seed=seed)
        for seed, strategy in enumerate(("fbgd", "ocmf"))
    }
    slate = get(online_shop, "/v1/users/fan7/recommendations", k=20)
    assert (slate["strategy"], slate["reason"]) == ("mixture", None)
    assert slate["model_version"].startswith("mixture-")
    assert slate["models"] == versions
    # the weights of this moment decide which ranker contributes most to an item
    assert {entry["strategy"] for entry in slate["items"]} <= set(STRATEGIES) - {"mixture"}
    assert len(items(slate)) == 7
    page = get(online_shop, "/v1/users/fan7/recommendations", k=3)
    activate(online_shop, redis_url, n_items=20, seed=2)
    rest = get(online_shop, "/v1/users/fan7/recommendations", k=9, cursor=page["next_cursor"])
    assert rest["models"] == page["models"]
    assert sorted(items(page) + items(rest)) == sorted(items(slate))


def test_the_reason_says_that_the_requested_model_does_not_know_the_user(
    online_shop: Api, redis_url: str
) -> None:
    activate(online_shop, redis_url, n_items=10)
    online_shop.rate("eva", "i15", 5)
    token = online_shop.rate("bob", "i3", 3)
    usual = get(online_shop, "/v1/users/eva/recommendations", min_sequence=token)
    assert usual["strategy"] in {"online", "mixture"}
    assert usual["reason"] is None
    retrain = 'POST /v1/retrain {"model": "fbgd"}'
    for user, model, says in (
        ("eva", "fbgd", f"fbgd knows no item of this history: train it with {retrain}"),
        ("bob", "fbgd", "nothing in this history says what is liked or disliked"),
        ("nobody", "fbgd", "nothing is known of this user yet"),
        ("nobody", "online", "online knows users by the ratings that it has learned of them"),
    ):
        path = f"/v1/users/{user}/recommendations"
        slate = get(online_shop, path, model=model, min_sequence=token)
        assert slate["reason"].startswith(says)
        assert slate["strategy"] in ({"popular"} if user == "nobody" else {"online", "mixture"})


def featured(n_items: int) -> Snapshot:
    """A model that knows two countries of users, and likes an item in each best."""
    row = objective(n_items, 8)
    likes = row.item_factors[[2, 9]]
    # the map makes rows of length 1 and a constant: no weight for that
    weights = np.vstack([likes, np.zeros((1, 8), np.float32)])
    users = StructuredUsers(row, weights)
    made = of_users("ocmf-lr-wsq", users, settings={}, metrics={}, cuts={})
    encoder = FeatureEncoder((Column("country", ("NO", "SE")),))
    return replace(made, parameters={**made.parameters, "encoder": encoder.to_json()})


def test_a_cold_user_is_ranked_by_features(shop: Api, redis_url: str) -> None:
    snapshot = featured(N)
    with Redis.from_url(redis_url) as client:
        activated(Registry(client, shop.settings.namespace), made=snapshot, strategy="ocmf")
    shop.follow_models()
    q = objective(N, 8).item_factors

    def best(item: int) -> list[str]:
        return [f"i{n}" for n in np.argsort(-(q @ q[item]), kind="stable")[:10]]

    slate = post(shop, "/v1/recommendations", features={"country": "NO", "age": 31})
    assert (items(slate), slate["strategy"], slate["reason"]) == (best(2), "ocmf", None)
    shop("PUT", "/v1/users/eva", json={"features": {"country": "SE"}})
    assert items(get(shop, "/v1/users/eva/recommendations")) == best(9)
    said = post(shop, "/v1/recommendations", user="eva", features={"country": "NO"})
    assert items(said) == best(2)
    unknown = post(shop, "/v1/recommendations", features={"country": "FR"})
    assert (unknown["strategy"], unknown["reason"] is None) == ("popular", False)
    personal = get(shop, RECOMMENDATIONS, model="ocmf")
    assert personal["strategy"] == "ocmf"
    # a cached vector does not hide features that are written later
    told = post(shop, "/v1/recommendations", user="ada", model="ocmf", features={"country": "NO"})
    assert told["items"] != personal["items"]
    shop("PUT", "/v1/users/ada", json={"features": {"country": "NO"}})
    assert get(shop, RECOMMENDATIONS, model="ocmf")["items"] == told["items"]


def test_similar_users_are_those_of_like_vectors(shop: Api, redis_url: str) -> None:
    path = "/v1/users/ada/similar"
    none = get(shop, path)
    assert (none["users"], none["strategy"]) == ([], None)
    assert none["reason"] is not None
    version = activate(shop, redis_url)
    shop.rate("twin", "i3", 5)
    shop.rate("twin", "i5", 5)
    get(shop, RECOMMENDATIONS, min_sequence=shop.rate("twin", "i7", 1))
    found = get(shop, path, k=3)
    assert (found["model_version"], found["reason"]) == (version, None)
    assert found["users"][0]["user"] == "twin"
    assert found["users"][0]["score"] == pytest.approx(1.0, abs=1e-5)
    scores = [entry["score"] for entry in found["users"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 3
    cold = get(shop, "/v1/users/nobody/similar")
    assert cold["users"] == []
    second = activate(shop, redis_url, seed=1)
    assert get(shop, path)["model_version"] == second
    # requests to two models in turn keep both samples
    samples = dict(shop.runtime.recommender._neighbours._samples)
    assert samples.keys() == {version, second}
    activate(shop, redis_url)
    assert get(shop, path, k=3) == found
    assert dict(shop.runtime.recommender._neighbours._samples) == samples


def test_a_deleted_user_is_no_longer_similar_to_others(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    shop.rate("twin", "i3", 5)
    shop.rate("twin", "i5", 5)
    get(shop, RECOMMENDATIONS, min_sequence=shop.rate("twin", "i7", 1))
    before = [one["user"] for one in get(shop, "/v1/users/ada/similar", k=8)["users"]]
    assert before[0] == "twin"
    assert shop("DELETE", "/v1/users/twin").json()["learned"]
    # the sample was made before; this process hears of the deletion within milliseconds
    wait_until(
        lambda: (
            [one["user"] for one in get(shop, "/v1/users/ada/similar", k=8)["users"]] == before[1:]
        )
    )
    assert [one["user"] for one in get(shop, "/v1/users/ada/similar", k=1)["users"]] == before[1:2]
