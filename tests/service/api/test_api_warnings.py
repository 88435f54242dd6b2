"""What a request says in vain is told: in `warnings`, or in the `reason` of an empty list."""

import json
from typing import Any

import pytest

from service.rec_ids import encode
from service.settings import Settings
from tests.api import NDJSON, Api
from tests.server import wait_until
from tests.service.shop import RECOMMENDATIONS, get, items, post

ADAS = encode("fbgd", "0" * 64, 1_794_960_000_000, "ada")
NOBODYS = encode("popular", "popular", 1_794_960_000_000, None)


def click(user: str, rec_id: str) -> dict[str, str]:
    return {"user": user, "item": "a", "kind": "click", "rec_id": rec_id}


EVENTS = [
    click("ada", ADAS),
    click("ada", NOBODYS),
    click("ada", ADAS[:-1] + "A"),
    click("bob", ADAS),
    {"user": "ada", "item": "a", "kind": "click"},
    click("ada", "my own id"),
]
TOLD = [(2, "unreadable_rec_id"), (3, "foreign_rec_id"), (5, "unreadable_rec_id")]


def told(warnings: Any) -> list[tuple[int, str]]:
    return [(one["index"], one["code"]) for one in warnings]


def test_a_rec_id_that_counts_for_no_list_is_told(api: Api) -> None:
    written = api("POST", "/v1/events", json=EVENTS).json()
    assert (written["accepted"], told(written["warnings"])) == (6, TOLD)
    assert "send the `rec_id` of the list as you received it" in written["warnings"][0]["detail"]
    assert "a list that this user got" in written["warnings"][1]["detail"]
    for index, event in enumerate(EVENTS):
        written = api("POST", "/v1/events", json=event).json()
        assert told(written["warnings"]) == [(0, code) for at, code in TOLD if at == index]
    waited = api("POST", "/v1/events", params={"wait": "learned"}, json=EVENTS).json()
    assert told(waited["warnings"]) == TOLD


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_stream_tells_the_lines(redis_url: str, namespace: str, partitions: int) -> None:
    with Api(Settings(namespace=namespace, partitions=partitions), redis_url) as api:
        lines = [*map(json.dumps, EVENTS[:3]), "", *map(json.dumps, EVENTS[3:])]
        answer = api("POST", "/v1/events/stream", content="\n".join(lines), headers=NDJSON)
        summary = answer.json()
        assert (summary["accepted"], summary["warnings_total"]) == (6, 3)
        assert [one["line"] for one in summary["warnings"]] == [3, 5, 7]
        many = "\n".join([json.dumps(EVENTS[5])] * 1_200)
        summary = api("POST", "/v1/events/stream", content=many, headers=NDJSON).json()
        assert (summary["accepted"], summary["warnings_total"]) == (1_200, 1_200)
        assert len(summary["warnings"]) == 1_000


def test_unknown_items_of_a_request_are_counted(shop: Api) -> None:
    candidates = ["i1", "x1", "i2", "x2", "x1", *[f"y{n}" for n in range(8)]]
    slate = post(shop, "/v1/rank", user="ada", candidates=candidates, exclude=["i1", "z"])
    assert items(slate) == ["i2"]
    counted = {one["field"]: (one["code"], one["n"]) for one in slate["warnings"]}
    assert counted == {"exclude": ("unknown_items", 1), "candidates": ("unknown_items", 10)}
    [detail] = [one["detail"] for one in slate["warnings"] if one["field"] == "candidates"]
    assert detail.startswith("nothing was ever said of `x1`, `x2`, `y0`, `y1`, `y2` and 5 more")
    history = [{"item": "i1", "rating": 5}, {"item": "x", "rating": 5}, {"item": "x", "rating": 4}]
    slate = post(shop, "/v1/recommendations", history=history)
    assert [(one["field"], one["n"]) for one in slate["warnings"]] == [("history", 1)]
    assert get(shop, RECOMMENDATIONS, exclude="i1")["warnings"] == []
    assert [one["n"] for one in get(shop, "/v1/popular", exclude="i1,no,no2")["warnings"]] == [2]


def test_fields_that_no_item_has_are_named(shop: Api) -> None:
    document = {"features": {"Director": "x", "year": 1999}, "categories": ["a"]}
    assert shop("PUT", "/v1/items/i1", json=document).is_success
    wait_until(lambda: not get(shop, RECOMMENDATIONS, fields="year")["warnings"])
    assert get(shop, RECOMMENDATIONS, fields="year,categories")["warnings"] == []
    [warning] = get(shop, RECOMMENDATIONS, fields="director,year,colour")["warnings"]
    assert (warning["code"], warning["field"], warning["n"]) == ("unknown_fields", "fields", 2)
    says = "no item has a feature `director`, `colour`: did you mean `Director`?"
    assert warning["detail"] == says


def test_a_category_that_no_item_has_names_the_one_that_is_meant(shop: Api) -> None:
    for item, categories in (("i1", ["Horror"]), ("i2", ["Film noir"]), ("i3", ["Documentary"])):
        assert shop("PUT", f"/v1/items/{item}", json={"categories": categories}).is_success
    wait_until(lambda: items(get(shop, "/v1/popular", category="Documentary")) == ["i3"])
    for wrong, meant in (
        ("horror", "`Horror`"),
        ("film-noir", "`Film noir`"),
        ("documentry", "`Documentary`"),
    ):
        for path in (RECOMMENDATIONS, "/v1/popular"):
            reason = get(shop, path, category=wrong)["reason"]
            assert f"no item has the category `{wrong}`: did you mean {meant}?" in reason
    slate = get(shop, RECOMMENDATIONS, category="Zoology")
    assert "no item has the category `Zoology`: GET /v1/categories lists" in slate["reason"]
    seen = get(shop, RECOMMENDATIONS, category="Documentary")
    assert (items(seen), "no item has the category" in seen["reason"]) == ([], False)
