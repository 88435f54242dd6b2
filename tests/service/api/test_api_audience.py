"""Label models over HTTP: audiences, recommendations by features alone, similar items."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
import numpy as np
import pytest
from redis import Redis

from core.features import Column, FeatureEncoder
from core.labels.config import ItemsConfig
from core.labels.items import fit_items
from core.labels.snapshot import of_items
from service.api.slates.audience import AudienceBody
from service.http.cursors import seal, unseal
from service.serving.audience import Audience
from service.serving.sources import Sources
from service.store.models.registry import Registry
from tests.api import Api
from tests.core.liked import item_kinds, world
from tests.models import activated

N_USERS, N_ITEMS = 40, 24
KINDS = FeatureEncoder((Column("kind", ("k0", "k1", "k2", "k3")),))
SHELVES = FeatureEncoder((Column("categories", ("s0", "s1", "s2", "s3")),))
AUDIENCE = "/v1/items/audience"


@pytest.fixture
def shop(learned_api: Api) -> Api:
    """Users of four kinds and items on four shelves, the last one unpopular; no model yet."""
    api = learned_api
    for n in range(N_USERS):
        body = {"features": {"kind": f"k{n % 4}", "size": n}}
        assert api("PUT", f"/v1/users/u{n:02d}", json=body).is_success
    for n in range(N_ITEMS):
        assert api("PUT", f"/v1/items/i{n}", json={"categories": [f"s{n % 4}"]}).is_success
    return api


def activate(api: Api, redis_url: str) -> str:
    made = of_items(
        "exmlds",
        fit_items(*world(), ItemsConfig(factors=4, neighbours=30), item_kinds()),
        encoder=KINDS,
        item_encoder=SHELVES,
        settings={},
        metrics={},
        cuts={"trained_through": {"0": 7}},
    )
    with Redis.from_url(redis_url) as client:
        record = activated(Registry(client, api.settings.namespace), made=made, strategy="exmlds")
    api.follow_models()
    return record.version


def post(api: Api, path: str, **body: Any) -> Any:
    answer = api("POST", path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def kinds(found: Any) -> set[int]:
    return {int(member["user"][1:]) % 4 for member in found["users"]}


def test_an_item_finds_the_users_of_its_kind(shop: Api, redis_url: str) -> None:
    version = activate(shop, redis_url)
    found = post(shop, AUDIENCE, item="i2")
    assert kinds(found) == {2}
    assert (found["known_by"], found["considered"]) == ("feedback", N_USERS)
    assert (found["model_version"], found["strategy"]) == (version, "exmlds")
    assert (found["trained_through"], found["reason"]) == ("0:7", None)
    [first, *_] = found["users"]
    assert [reason["feature"] for reason in first["because"]] == ["kind"]
    assert first["because"][0]["part"] > 0


def test_a_new_item_is_recognised_by_its_features(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    for wanted in ({"item": "i23"}, {"categories": ["s3", "never seen"]}):
        found = post(shop, AUDIENCE, **wanted)
        assert (found["known_by"], kinds(found)) == ("features", {3})
        assert found["item"] == wanted.get("item")


def test_users_who_have_seen_the_item_are_left_out(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    token = ""
    for n in range(2, 14, 4):
        token = shop.rate(f"u{n:02d}", "i2", 5)
    answer = shop("GET", "/v1/users/u02/recommendations", params={"min_sequence": token})
    assert answer.is_success
    found = post(shop, AUDIENCE, item="i2", k=40)
    assert not {"u02", "u06", "u10"} & {member["user"] for member in found["users"]}
    assert len(found["users"]) == N_USERS - 3
    found = post(shop, AUDIENCE, item="i2", exclude_seen=False)
    assert {"u02", "u06", "u10"} <= {member["user"] for member in found["users"]}


def pages(api: Api, **body: Any) -> Iterator[list[str]]:
    """Yield the users of each page."""
    cursor = None
    while True:
        found = post(api, AUDIENCE, **body, cursor=cursor)
        yield [member["user"] for member in found["users"]]
        cursor = found["next_cursor"]
        if cursor is None:
            return


AudienceT = TypeVar("AudienceT", bound=Audience)
STORED = ("namespace", "numbers", "catalogue", "view", "popularity", "new_items", "changes")
"""The sources of answers that the routes use too."""


def answered_by(shop: Api, kind: type[AudienceT], **limits: int) -> AudienceT:
    """Let an audience of this kind and these limits answer, and return it."""
    runtime = shop.runtime
    beside = runtime.audience
    sources = Sources(
        lineups=beside._lineups,
        users=beside._users,
        **{name: getattr(runtime, name) for name in STORED},
    )
    audience = kind(sources, **limits)
    shop.app.state.runtime = replace(runtime, audience=audience)
    return audience


@pytest.mark.parametrize("k", [3, 100])
@pytest.mark.parametrize("most", [16, 40, 10_000])
def test_pages_hold_every_user_once(shop: Api, redis_url: str, most: int, k: int) -> None:
    activate(shop, redis_url)
    answered_by(shop, Audience, page=8, most_considered=most)
    found = list(pages(shop, item="i1", k=k))
    assert all(len(page) <= k for page in found)
    met = [user for page in found for user in page]
    assert sorted(met) == [f"u{n:02d}" for n in range(N_USERS)]
    if most > N_USERS:
        assert met == [user for page in pages(shop, item="i1", k=1_000) for user in page]


def test_pages_stay_complete_while_users_are_added(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    answered_by(shop, Audience, page=4, most_considered=12)
    met: list[str] = []
    for n, page in enumerate(pages(shop, categories=["s1"], k=3)):
        met += page
        # one between the users that were considered, one behind them
        for name in (f"u{n:02d}-new", f"u{n + 20:02d}-new"):
            shop("PUT", f"/v1/users/{name}", json={"features": {"kind": f"k{n % 4}"}})
    assert len(met) == len(set(met))
    assert set(met) >= {f"u{n:02d}" for n in range(N_USERS)}


def test_a_page_leaves_out_who_has_seen_the_item_and_goes_on(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    token = [shop.rate(f"u{n:02d}", "i2", 5) for n in range(0, N_USERS, 2)][-1]
    assert shop("GET", "/v1/users/u02/recommendations", params={"min_sequence": token}).is_success
    met = [user for page in pages(shop, item="i2", k=3) for user in page]
    assert sorted(met) == [f"u{n:02d}" for n in range(1, N_USERS, 2)]


class CountedAudience(Audience):
    """An audience that counts how often it reads users."""

    reads = 0

    async def _users_with_features(self, model: Any, at: Any) -> Any:
        self.reads += 1
        return await super()._users_with_features(model, at)


def test_pages_of_a_part_are_ranked_once_and_leave_out_deleted_users(
    shop: Api, redis_url: str
) -> None:
    activate(shop, redis_url)
    audience = answered_by(shop, CountedAudience)
    whole = post(shop, AUDIENCE, item="i1", k=1_000)["users"]
    first = post(shop, AUDIENCE, item="i1", k=3)
    assert audience.reads == 2, "the first page of a list reads all users"
    gone = whole[3]["user"]
    assert shop("DELETE", f"/v1/users/{gone}").is_success
    rest = post(shop, AUDIENCE, item="i1", k=1_000, cursor=first["next_cursor"])["users"]
    assert [one["user"] for one in rest] == [one["user"] for one in whole[4:]]
    assert audience.reads == 2
    # a ranking that is no longer kept is made again
    audience._rankings.clear()
    again = post(shop, AUDIENCE, item="i1", k=1_000, cursor=first["next_cursor"])["users"]
    assert [one["user"] for one in again] == [one["user"] for one in rest]
    assert audience.reads == 3


def test_a_cursor_of_before_it_named_a_strategy_goes_on(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    first = post(shop, AUDIENCE, item="i1", k=3)
    name = AudienceBody(item="i1").model_dump_json(exclude={"k", "cursor"})
    of = f"audience {name}".encode()
    *old, strategy = msgspec.msgpack.decode(unseal(of, first["next_cursor"]))
    assert strategy == first["strategy"]
    then = {"item": "i1", "k": 3}
    expected = post(shop, AUDIENCE, **then, cursor=first["next_cursor"])
    assert expected["users"]
    again = post(shop, AUDIENCE, **then, cursor=seal(of, msgspec.msgpack.encode(old)))
    assert again == expected
    for strategy in ("fbgd", "of no family"):
        forged = seal(of, msgspec.msgpack.encode([*old, strategy]))
        assert post(shop, AUDIENCE, **then, cursor=forged)["users"] == []


def test_a_cursor_of_an_audience_belongs_to_what_was_asked(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    cursor = post(shop, AUDIENCE, item="i2", k=2)["next_cursor"]
    for other in ({"item": "i3"}, {"item": "i2", "exclude_seen": False}, {"categories": ["s2"]}):
        answer = shop("POST", AUDIENCE, json=other | {"cursor": cursor})
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_cursor")
    for forged in (b"", b"\x91", b"\xc1"):
        name = AudienceBody(item="i2").model_dump_json(exclude={"k", "cursor"})
        answer = shop(
            "POST",
            AUDIENCE,
            json={"item": "i2", "cursor": seal(f"audience {name}".encode(), forged)},
        )
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_cursor")


def test_without_a_model_the_audience_is_empty_with_a_reason(shop: Api, redis_url: str) -> None:
    found = post(shop, AUDIENCE, item="i2")
    assert (found["users"], found["model_version"]) == ([], None)
    assert "POST /v1/retrain" in found["reason"]
    activate(shop, redis_url)
    found = post(shop, AUDIENCE, features={"colour": "red"})
    assert (found["users"], found["known_by"]) == ([], None)
    assert "describe it" in found["reason"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "invalid_request"),
        ({"item": "i1", "features": {"a": 1}}, 422, "invalid_request"),
        ({"item": "i1", "k": 0}, 422, "invalid_request"),
        ({"item": "i1", "k": 1_001}, 422, "invalid_request"),
        ({"item": "i1", "flavour": 1}, 422, "invalid_request"),
        ({"item": "i1", "cursor": "x"}, 422, "invalid_cursor"),
        ({"item": "never"}, 404, "not_found"),
        ({"item": ""}, 422, "invalid_request"),
    ],
)
def test_contradictory_requests_are_refused(api: Api, body: Any, status: int, code: str) -> None:
    answer = api("POST", AUDIENCE, json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_features_alone_lead_to_recommendations(shop: Api, redis_url: str) -> None:
    version = activate(shop, redis_url)
    for slate in (
        post(shop, "/v1/recommendations", features={"kind": "k1"}, k=3),
        shop("GET", "/v1/users/u01/recommendations", params={"k": 3}).json(),
    ):
        assert {int(entry["item"][1:]) % 4 for entry in slate["items"]} == {1}
        assert (slate["strategy"], slate["model_version"]) == ("exmlds", version)
        assert slate["models"] == {"exmlds": version}
    page = post(shop, "/v1/recommendations", features={"kind": "k1"}, k=20)
    rest = post(
        shop, "/v1/recommendations", features={"kind": "k1"}, k=20, cursor=page["next_cursor"]
    )
    both = [entry["item"] for entry in page["items"] + rest["items"]]
    assert sorted(both) == sorted(f"i{n}" for n in range(N_ITEMS))
    nobody = post(shop, "/v1/recommendations", features={"kind": "other"}, model="exmlds")
    unnamed = post(shop, "/v1/recommendations", features={"kind": "other"})
    for slate in (nobody, unnamed):
        assert slate["strategy"] == "popular"
        assert "these features: exmlds knows `kind`, with the values" in slate["reason"]


def test_a_model_that_compares_no_users_leaves_the_advice_which_one_does(
    shop: Api, redis_url: str
) -> None:
    activate(shop, redis_url)
    alike = shop("GET", "/v1/users/u01/similar").json()
    assert alike["users"] == []
    assert "only fbgd, ocmf and content compare users" in alike["reason"]
    assert 'train one with POST /v1/retrain {"model": "fbgd"}' in alike["reason"]


def test_places_of_items_say_which_are_similar(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    slate = shop("GET", "/v1/items/i6/similar", params={"model": "exmlds", "k": 4}).json()
    assert slate["strategy"] == "exmlds"
    assert {int(entry["item"][1:]) % 4 for entry in slate["items"]} == {2}
    assert "i6" not in {entry["item"] for entry in slate["items"]}
    near = [entry["score"] for entry in slate["items"]]
    assert np.all(np.diff(near) <= 0)
