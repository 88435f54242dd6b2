"""API keys that are made or revoked in one process act in all others from the next write on.

The other process here reads the keys by itself as seldom as it likes: what a write rests on is
compared where it is written.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from service.settings import Settings
from service.store.api_keys import revoke_key
from service.store.connection import connect
from service.store.keys import PartitionKeys
from tests.api import NDJSON, Api, appended, check_problem
from tests.server import wait_until

EVENT = {"user": "ada", "item": "tt1", "rating": 4}
LINE = b'{"user": "ada", "item": "tt1", "rating": 4}\n'
NEVER_S = 1e9
WRITES = {
    "one": ("POST", "/v1/events", {"json": EVENT}),
    "several": ("POST", "/v1/events", {"json": [EVENT, EVENT]}),
    "awaited": ("POST", "/v1/events?wait=learned", {"json": EVENT}),
    "stream": ("POST", "/v1/events/stream", {"content": LINE, "headers": NDJSON}),
    "document": ("PUT", "/v1/items/tt1", {"json": {}}),
    "documents": ("POST", "/v1/items", {"json": [{"item": "tt1"}]}),
    "deletion": ("DELETE", "/v1/users/ada", {}),
    "key": ("POST", "/v1/admin/keys", {"json": {"role": "admin", "name": "a stranger"}}),
}


@pytest.fixture
def api(redis_url: str, namespace: str) -> Iterator[Api]:
    with Api(Settings(namespace=namespace), redis_url) as api:
        yield api


@pytest.fixture
def other(redis_url: str, namespace: str) -> Iterator[Api]:
    """Another process, which holds its keys for good as long as nothing makes it ask."""
    with Api(Settings(namespace=namespace), redis_url, keys_fresh_s=NEVER_S) as other:
        yield other


def made(api: Api, key: dict[str, str], role: str) -> tuple[str, dict[str, str]]:
    """Make a key; return its id, and the headers of a request with it."""
    body = {"role": role, "name": role}
    answer = api("POST", "/v1/admin/keys", json=body, headers=key).json()
    return answer["id"], {"authorization": f"Bearer {answer['secret']}"}


def write(api: Api, name: str, key: dict[str, str]):
    method, path, more = WRITES[name]
    return api(method, path, **{**more, "headers": {**more.get("headers", {}), **key}})


@pytest.mark.parametrize("name", WRITES)
def test_a_key_that_another_process_revoked_writes_nothing_more(
    api: Api, other: Api, name: str
) -> None:
    _, mine = made(api, {}, "admin")
    theirs, key = made(api, mine, "admin")
    assert write(other, "one", key).status_code == 202
    api("DELETE", f"/v1/admin/keys/{theirs}", headers=mine)
    check_problem(write(other, name, key), 401, "unauthorised")
    assert len(appended(other)) == 1
    keys = api("GET", "/v1/admin/keys", headers=mine).json()
    assert len(keys["items"]) == 2


@pytest.mark.parametrize("name", WRITES)
def test_nobody_writes_without_a_key_once_another_process_made_the_first(
    api: Api, other: Api, name: str
) -> None:
    assert write(other, "one", {}).status_code == 202
    made(api, {}, "admin")
    check_problem(write(other, name, {}), 401, "unauthorised")
    assert len(appended(other)) == 1


@pytest.mark.parametrize("name", ["one", "several", "stream"])
def test_a_change_of_other_keys_costs_a_write_nothing_but_a_question(
    api: Api, other: Api, name: str
) -> None:
    _, mine = made(api, {}, "admin")
    assert write(other, name, mine).status_code == 202
    before = sum(map(len, appended(other)))
    made(api, mine, "read")
    assert write(other, name, mine).status_code == 202
    assert sum(map(len, appended(other))) == 2 * before


def test_a_key_that_is_revoked_during_a_stream_writes_no_further_line(
    api: Api, other: Api, redis_url: str
) -> None:
    _, mine = made(api, {}, "admin")
    theirs, key = made(api, mine, "write")

    def revoke() -> None:
        with connect(redis_url, role="test") as client:
            log = PartitionKeys(other.settings.namespace, 0).log
            wait_until(lambda: client.xlen(log) == 1)
            revoke_key(client, other.settings.namespace, theirs)

    async def body() -> AsyncIterator[bytes]:
        yield LINE
        await asyncio.to_thread(revoke)
        yield LINE

    answer = other("POST", "/v1/events/stream", content=body(), headers={**NDJSON, **key})
    assert check_problem(answer, 401, "unauthorised")["accepted"] == 1
    assert sum(map(len, appended(other))) == 1
