"""Computed numbers have seven digits in answers; versions are shown short beside long."""

import re
from typing import Any

from tests.api import Api
from tests.service.shop import RECOMMENDATIONS, activate, get


def fractions(value: Any) -> list[float]:
    """Return all fractions in an answer."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [one for inner in value for one in fractions(inner)]
    return [value] if isinstance(value, float) else []


def digits(number: float) -> int:
    return len(re.sub(r"e.*|[.-]", "", repr(number)).strip("0"))


def test_computed_numbers_have_seven_digits(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    answers = [
        get(shop, RECOMMENDATIONS, explain="true", k=20),
        get(shop, RECOMMENDATIONS, model="fbgd", blend=0.3, explain="true", k=20),
        get(shop, "/v1/items/i1/similar"),
        get(shop, "/v1/users/ada/similar"),
        get(shop, "/v1/users/ada/predictions/i1"),
        get(shop, "/v1/experts"),
        get(shop, "/v1/rankers"),
    ]
    for answer in answers:
        found = fractions(answer)
        assert found
        assert max(map(digits, found)) <= 7, answer
    scores = [one["score"] for one in answers[0]["items"]]
    assert scores == sorted(scores, reverse=True)


def test_what_was_sent_keeps_its_digits(shop: Api) -> None:
    features = {"pi": 3.141592653589793, "big": 12345678.9}
    assert shop("PUT", "/v1/items/i1", json={"features": features}).json()["features"] == features
    assert get(shop, "/v1/items/i1")["features"] == features


def test_short_versions_are_beside_the_long_ones_and_name_them(shop: Api, redis_url: str) -> None:
    version = activate(shop, redis_url)
    slate = get(shop, RECOMMENDATIONS, model="fbgd")
    assert (slate["model_version"], slate["short_version"]) == (version, version[:12])
    assert get(shop, "/v1/popular")["short_version"] is None
    mixture = get(shop, RECOMMENDATIONS, model="mixture")
    assert mixture["short_version"] in mixture["model_version"]
    models = get(shop, "/v1/models")
    assert [one["short_version"] for one in models["items"]] == [version[:12]]
    assert [one["short_version"] for one in models["served"]] == [version[:12]]
    short = models["items"][0]["short_version"]
    pinned = shop("PUT", f"/v1/models/{short}/pin", json={})
    assert (pinned.json()["version"], pinned.json()["pinned"]) == (version, True)
    changes = get(shop, "/v1/models/changes")["items"]
    assert {one["short_version"] for one in changes} == {short}
