"""Group commit: waiting events become one entry; a failed append fails exactly those events."""

import pytest

from service.errors import Backlogged
from service.settings import Settings
from service.store.log.append_queue import MAX_ENTRY_ROWS, Row, entry_of
from service.store.log.codec import encode
from tests.api import Api, appended


def row(user: str, value: float = 3.0) -> Row:
    return Row(user, 0, value, 1, 0, 0, b"")


def test_events_submitted_in_one_turn_are_one_entry(api: Api) -> None:
    async def submit() -> list[int]:
        submit = api.runtime.append_queue.submit
        pending = [submit(0, [row(f"u{i}"), row("both")]) for i in range(256)]
        return [(await done).last for done in pending]

    assert api.run(submit()) == list(range(2, 514, 2))
    [entry] = appended(api)
    assert len(entry) == 512
    assert len(entry.users) == 257


def test_a_large_block_keeps_an_entry_of_its_own_and_its_turn(api: Api) -> None:
    block = entry_of([row("block")] * 3, 1)

    async def submit() -> list[int]:
        queue = api.runtime.append_queue
        first = queue.submit(0, [row("first")])
        middle = queue.submit_entry(0, encode(block), len(block))
        last = queue.submit(0, [row("last")])
        return [(await done).last for done in (first, middle, last)]

    assert api.run(submit()) == [1, 4, 5]
    assert [entry.users for entry in appended(api)] == [("first",), ("block",), ("last",)]


def test_an_entry_is_bounded(api: Api) -> None:
    async def submit() -> list[int]:
        rows = [row("a")] * MAX_ENTRY_ROWS
        pending = [api.runtime.append_queue.submit(0, rows) for _ in range(3)]
        return [(await done).last for done in pending]

    assert api.run(submit()) == [MAX_ENTRY_ROWS * n for n in (1, 2, 3)]
    assert len(appended(api)) == 3


def test_a_full_log_fails_those_who_wait_and_later_ones_go_on(
    redis_url: str, namespace: str
) -> None:
    with Api(Settings(namespace=namespace, log_max_bytes=1 << 16), redis_url) as api:

        async def submit(n: int) -> int:
            return (await api.runtime.append_queue.submit(0, [row("a")] * n)).last

        assert api.run(submit(1)) == 1
        with pytest.raises(Backlogged):
            api.run(submit(4_000))
        assert api.run(submit(1)) == 2


def test_a_request_that_was_given_up_leaves_the_others_alone(api: Api) -> None:
    async def submit() -> int:
        given_up = api.runtime.append_queue.submit(0, [row("a")])
        kept = api.runtime.append_queue.submit(0, [row("b")])
        given_up.cancel()
        return (await kept).last

    assert api.run(submit()) == 2
