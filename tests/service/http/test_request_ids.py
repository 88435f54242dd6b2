"""The id of a request: given or made, in the answer and, for those who ask, in the log."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from service.settings import Settings
from tests.api import Api

Lines = list[dict[str, Any]]


def api_that_follows(
    redis_url: str, namespace: str, directory: Path, followed: Any
) -> Iterator[Api]:
    settings = Settings(namespace=namespace, data_dir=directory, log_requests=followed)
    with Api(settings, redis_url) as api:
        yield api


@pytest.fixture(params=["named", "all"])
def following(
    request: pytest.FixtureRequest, redis_url: str, namespace: str, tmp_path: Path
) -> Iterator[tuple[Api, str]]:
    for api in api_that_follows(redis_url, namespace, tmp_path, request.param):
        yield api, request.param


def test_an_id_that_is_given_is_that_of_the_answer(api: Api) -> None:
    given = "00-4bf92f3577b34da6/a0fb:1.2+3=4_5@x"
    answer = api("GET", "/healthz", headers={"x-request-id": given})
    assert answer.headers["x-request-id"] == given
    refused = api("GET", "/v1/items/none", headers={"x-request-id": given})
    assert refused.json()["request_id"] == given


@pytest.mark.parametrize("given", ["", "two words", "x" * 65, 'a"b', "größe", "a\tb"])
def test_an_id_that_could_not_stand_in_a_line_is_replaced(api: Api, given: str) -> None:
    headers = [(b"x-request-id", given.encode())]
    one, other = (api("GET", "/healthz", headers=headers) for _ in range(2))
    assert one.headers["x-request-id"] not in {given, other.headers["x-request-id"]}


def test_requests_that_are_followed_have_a_line(following: tuple[Api, str]) -> None:
    api, followed = following
    with capture_logs() as logs:
        named = {"x-request-id": "mine"}
        api("GET", "/v1/users/ada/recommendations?k=1", headers=named)
        made = api("GET", "/v1/items/none").headers["x-request-id"]
    lines = [one for one in logs if one["event"] == "request_answered"]
    assert lines[0].items() >= {"request_id": "mine", "method": "GET"}.items()
    assert lines[0]["route"] == "/v1/users/{user}/recommendations"
    # no line names a user
    assert "ada" not in str(lines)
    others = [(one["request_id"], one["status"]) for one in lines[1:]]
    assert others == ([(made, 404)] if followed == "all" else [])


def test_no_request_has_a_line_unless_somebody_asks_for_it(api: Api) -> None:
    with capture_logs() as logs:
        api("GET", "/healthz", headers={"x-request-id": "mine"})
    assert [one for one in logs if one["event"] == "request_answered"] == []
