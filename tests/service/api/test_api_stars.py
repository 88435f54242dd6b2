"""Ordinal models over HTTP: stars of pairs, items without ratings, items added after training."""

import math
from typing import Any

import numpy as np
import pytest
from redis import Redis

from core.features import Column, FeatureEncoder
from core.ordinal.config import StarsConfig
from core.ordinal.fit_stars import fit_stars
from core.ordinal.snapshot import of_stars, stars_of
from core.snapshot import Snapshot
from service.learning.following.catalogue import FollowedCatalogue
from service.ranking.asker import NOBODY, Asker
from service.store.catalogue.reader import CatalogueReader
from service.store.models.registry import Registry
from tests.api import Api
from tests.core.rated import N_ITEMS, world
from tests.models import activated

KINDS = FeatureEncoder((Column("kind", ("k0", "k1", "k2")),))
SHELVES = FeatureEncoder((Column("categories", ("s0", "s1", "s2")),))
PREDICTIONS = "/v1/predictions"


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    config = StarsConfig(labelled=150, unlabelled=40, frequencies=32)
    return of_stars(
        "ordinal",
        fit_stars(*world(), config),
        encoder=KINDS,
        item_encoder=SHELVES,
        settings={},
        metrics={},
        cuts={"trained_through": {"0": 7}},
    )


@pytest.fixture
def shop(learned_api: Api) -> Api:
    """Three users of three kinds and items on three shelves, none of them rated."""
    api = learned_api
    for n in range(3):
        assert api("PUT", f"/v1/users/u{n}", json={"features": {"kind": f"k{n}"}}).is_success
    for n in range(N_ITEMS):
        put_item(api, n)
    return api


def put_item(api: Api, n: int) -> None:
    assert api("PUT", f"/v1/items/i{n}", json={"categories": [f"s{n % 3}"]}).is_success


def activate(api: Api, redis_url: str, snapshot: Snapshot) -> str:
    with Redis.from_url(redis_url) as client:
        registry = Registry(client, api.settings.namespace)
        record = activated(registry, made=snapshot, strategy="ordinal")
    api.follow_models()
    return record.version


def get(api: Api, path: str, **parameters: Any) -> Any:
    answer = api("GET", path, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_prediction_has_a_level_and_the_probability_of_each(
    shop: Api, redis_url: str, snapshot: Snapshot
) -> None:
    version = activate(shop, redis_url, snapshot)
    one = get(shop, "/v1/users/u1/predictions/i4", strategy="ordinal")
    assert (one["strategy"], one["model_version"]) == ("ordinal", version)
    assert (one["trained_through"], one["experts"]) == ("0:7", [])
    assert len(one["level_probabilities"]) == 5
    assert sum(one["level_probabilities"]) == pytest.approx(1.0)
    mean = np.dot(one["level_probabilities"], [1, 2, 3, 4, 5])
    assert one["expected"] == one["rating"] == pytest.approx(mean)
    assert one["low"] <= one["expected"] <= one["high"]
    stars = stars_of(snapshot)
    rows = KINDS.transform([{"kind": "k1"}]), SHELVES.transform([{"categories": ["s1"]}])
    assert one["level"] == stars.model.levels.level(stars.of_pairs(*rows))[0]


def test_many_pairs_are_answered_in_their_order(
    shop: Api, redis_url: str, snapshot: Snapshot
) -> None:
    activate(shop, redis_url, snapshot)
    pairs = [{"user": "u2", "item": "i2"}, {"user": "u2", "item": "i1"}, {"user": "?", "item": "?"}]
    answer = shop("POST", PREDICTIONS, json={"pairs": pairs, "strategy": "ordinal"})
    own, other, unknown = answer.json()["predictions"]
    assert own["expected"] > other["expected"] + 0.5
    assert [(one["user"], one["item"]) for one in (own, other, unknown)] == [
        (pair["user"], pair["item"]) for pair in pairs
    ]
    assert 1.0 < unknown["expected"] < 5.0


def test_predictions_for_unknown_users_are_less_certain(
    shop: Api, redis_url: str, snapshot: Snapshot
) -> None:
    activate(shop, redis_url, snapshot)
    shop("PUT", "/v1/users/odd", json={"features": {"kind": "never seen"}})
    users, things = ["u0", "u1", "u2", "nobody", "odd"], ["i0", "i1", "i2", "nothing"]
    pairs = [{"user": user, "item": item} for user in users for item in things]
    answer = shop("POST", PREDICTIONS, json={"pairs": pairs, "model": "ordinal"})
    width: dict[bool, list[float]] = {True: [], False: []}
    for one in answer.json()["predictions"]:
        stranger = one["user"] in {"nobody", "odd"} or one["item"] == "nothing"
        width[stranger].append(one["high"] - one["low"])
        assert (one["reason"] is not None) == stranger
        assert sum(one["level_probabilities"]) == pytest.approx(1.0)
        assert one["low"] <= one["expected"] <= one["high"]
    assert min(width[True]) >= max(width[False])
    one = get(shop, "/v1/users/nobody/predictions/nothing", model="ordinal")
    assert "no feature of this user and this item" in one["reason"]


def test_model_and_strategy_are_two_names_of_one_choice(
    shop: Api, redis_url: str, snapshot: Snapshot
) -> None:
    activate(shop, redis_url, snapshot)
    path = "/v1/users/u1/predictions/i4"
    assert get(shop, path, model="ordinal") == get(shop, path, strategy="ordinal")
    assert get(shop, path, model="online", strategy="online")["strategy"] == "online"
    both = {"model": "online", "strategy": "ordinal"}
    answers = [
        shop("GET", path, params=both),
        shop("POST", PREDICTIONS, json=both | {"pairs": [{"user": "u", "item": "i"}]}),
    ]
    for answer in answers:
        assert answer.status_code == 422
        assert "give one of them" in answer.json()["detail"]


def test_without_being_asked_the_online_model_predicts(
    shop: Api, redis_url: str, snapshot: Snapshot
) -> None:
    activate(shop, redis_url, snapshot)
    one = get(shop, "/v1/users/u1/predictions/i4")
    assert one["strategy"] == "online"
    assert "level" not in one


def test_without_a_model_the_answer_says_what_to_do(shop: Api) -> None:
    answer = shop("GET", "/v1/users/u1/predictions/i4", params={"strategy": "ordinal"})
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert "POST /v1/retrain" in answer.json()["detail"]
    body = {"pairs": [{"user": "u", "item": "i"}], "strategy": "magic"}
    assert shop("POST", PREDICTIONS, json=body).status_code == 422


def kinds(slate: Any, n: int) -> set[int]:
    return {int(entry["item"][1:]) % 3 for entry in slate["items"][:n]}


def test_items_without_ratings_are_ranked(shop: Api, redis_url: str, snapshot: Snapshot) -> None:
    version = activate(shop, redis_url, snapshot)
    slate = get(shop, "/v1/users/u2/recommendations", model="ordinal", k=10)
    assert (slate["strategy"], slate["model_version"]) == ("ordinal", version)
    assert kinds(slate, 10) == {2}
    like = get(shop, "/v1/items/i3/similar", model="ordinal", k=5)
    assert kinds(like, 5) == {0}


def test_items_that_came_after_the_training_are_ranked_too(
    shop: Api, redis_url: str, snapshot: Snapshot
) -> None:
    activate(shop, redis_url, snapshot)
    for n in range(N_ITEMS, N_ITEMS + 3):
        put_item(shop, n)
    shop.run(shop.runtime.later_items.refresh())
    slate = get(shop, "/v1/users/u2/recommendations", model="ordinal", k=N_ITEMS + 3)
    place = {entry["item"]: at for at, entry in enumerate(slate["items"])}
    assert {entry["strategy"] for entry in slate["items"]} == {"ordinal"}
    newest = {n % 3: place[f"i{n}"] for n in range(N_ITEMS, N_ITEMS + 3)}
    assert newest[2] < min(newest[0], newest[1])


def test_the_follower_ranks_the_very_items_that_are_served(
    shop: Api, redis_url: str, snapshot: Snapshot
) -> None:
    version = activate(shop, redis_url, snapshot)
    trained = shop.runtime.active.current.models["ordinal"].ranker
    vector = trained.feature_vector({"kind": "k2"})
    assert vector is not None
    asker = Asker(NOBODY.preferences, features={version: vector})
    with Redis.from_url(redis_url) as client:
        reader = CatalogueReader(client, shop.settings.namespace)
        followed = FollowedCatalogue(reader, share=math.inf)
        for n in range(N_ITEMS, N_ITEMS + 4):
            put_item(shop, n)
            shop.run(shop.runtime.later_items.refresh())
            served = shop.runtime.later_items.current.with_later(trained)
            [judged] = followed.refresh([trained])
            assert judged.n_items == served.n_items == n + 1
            assert judged.scores(asker).tobytes() == served.scores(asker).tobytes()
        assert shop("DELETE", f"/v1/items/i{N_ITEMS}").is_success
        assert followed.refresh([trained])[0].scores(asker)[N_ITEMS] == -np.inf
        # nothing has changed since: nothing is made anew
        assert followed.refresh([trained])[0] is followed.refresh([trained])[0]


def test_stars_alone_do_not_rank_unless_they_are_asked_to(
    shop: Api, redis_url: str, snapshot: Snapshot
) -> None:
    activate(shop, redis_url, snapshot)
    slate = get(shop, "/v1/users/u2/recommendations")
    assert slate["strategy"] == "popular"
    assert slate["reason"] is not None
