"""Lists for everybody leave out what a user has seen, if they are asked to."""

from typing import Any

import pytest

from tests.api import Api, check_problem
from tests.service.shop import SEEN, N, activate, get, items

LISTS = ("/v1/popular", "/v1/trending", "/v1/latest", "/v1/items/i1/similar")
ALL = {f"i{n}" for n in range(N)}


def of(path: str) -> set[str]:
    return ALL - {"i1"} if "similar" in path else ALL


@pytest.mark.parametrize("path", LISTS)
def test_what_a_user_has_seen_is_left_out(shop: Api, redis_url: str, path: str) -> None:
    activate(shop, redis_url)
    everybodys, adas = get(shop, path, k=N), get(shop, path, k=N, user="ada")
    seen = {f"i{n}" for n in SEEN}
    assert {*items(everybodys)} == of(path)
    assert items(adas) == [item for item in items(everybodys) if item not in seen]
    assert (everybodys["user"], adas["user"]) == (None, "ada")
    assert adas["strategy"] == everybodys["strategy"]
    unknown = get(shop, path, k=N, user="nobody at all")
    assert (items(unknown), unknown["reason"]) == (items(everybodys), everybodys["reason"])


@pytest.mark.parametrize("path", LISTS)
def test_pages_leave_out_what_is_seen_meanwhile(shop: Api, redis_url: str, path: str) -> None:
    activate(shop, redis_url)
    wanted: dict[str, Any] = {"k": 5, "user": "ada"}
    first = get(shop, path, **wanted)
    whole = items(get(shop, path, k=N, user="ada"))
    sequence = shop.rate("ada", whole[5], 5)
    rest = get(
        shop,
        path,
        **wanted | {"k": N},
        cursor=first["next_cursor"],
        min_sequence=sequence,
    )
    assert items(first) + items(rest) == [item for item in whole if item != whole[5]]
    for other in ({"k": 5}, {"k": 5, "user": "bob"}):
        answer = shop("GET", path, params=other | {"cursor": first["next_cursor"]})
        check_problem(answer, 422, "invalid_cursor")


def test_a_user_is_an_id(shop: Api) -> None:
    for path in LISTS:
        for wrong in ("", "x" * 257, "a\u0007"):
            problem = check_problem(shop("GET", path, params={"user": wrong}), 422, "invalid_id")
            assert problem["detail"].startswith("`user` ")
        assert get(shop, path, user="null")["user"] == "null"


def test_an_empty_list_names_the_parameter(shop: Api, redis_url: str) -> None:
    activate(shop, redis_url)
    for n in SEEN:
        assert shop("PUT", f"/v1/items/i{n}", json={"categories": ["mine"]}).is_success
    for path in LISTS:
        slate = get(shop, path, user="ada", filter="category = 'mine'")
        assert items(slate) == []
        assert "is left out: seen before (`user`)" in slate["reason"]
