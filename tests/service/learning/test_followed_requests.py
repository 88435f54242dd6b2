"""A request that is followed has a line of the learner that has learned its events."""

from collections.abc import Callable
from typing import Any

import msgspec
from structlog.testing import capture_logs

from service.api.feedback.schemas import Feedback
from service.learning.learner import Learner
from service.settings import Settings
from service.store.connection import Client
from service.store.keys import PartitionKeys
from tests.api import NDJSON, Api

EVENT = {"user": "ada", "item": "film", "rating": 4}


def learned(learner: Learner) -> list[dict[str, Any]]:
    """Learn all; return what was said of requests."""
    with capture_logs() as logs:
        learner.drain()
        learner.settle()
    return [one for one in logs if one["event"] == "events_learned"]


def test_the_learner_names_the_requests_of_what_it_has_committed(
    redis_url: str, namespace: str, learner_of: Callable[..., Learner]
) -> None:
    with Api(Settings(namespace=namespace, log_requests="named"), redis_url) as api:
        api("POST", "/v1/events", json=EVENT)
        three = [EVENT | {"user": f"u{n}"} for n in range(3)]
        api("POST", "/v1/events", json=three, headers={"x-request-id": "three"})
        lines = b'{"user":"bob","item":"film","kind":"click"}\n' * 2
        headers = NDJSON | {"x-request-id": "stream"}
        api("POST", "/v1/events/stream", content=lines, headers=headers)
    learner = learner_of()
    said = [(one["request_id"], one["events"], one["through"]) for one in learned(learner)]
    assert said == [("three", 3, 4), ("stream", 2, 6)]
    assert learner.watermark == 6


def test_requests_that_share_an_entry_are_told_apart(
    redis_url: str, namespace: str, client: Client, learner_of: Callable[..., Learner]
) -> None:
    settings = Settings(namespace=namespace, log_requests="named")
    with Api(settings, redis_url) as api:
        api.ready()
        names = ["one", None, "two"]

        async def together() -> None:
            queue, rules = api.runtime.append_queue, api.app.state.intake.rules
            [number] = await api.runtime.numbers.numbers(["film"])
            pending = []
            for at, name in enumerate(names):
                event = _event({**EVENT, "user": f"u{at}"})
                row = rules.row(event, number, now_ms=1_794_999_600_000, digest=b"")
                pending.append(queue.submit(0, [row] * (at + 1), request=name or ""))
            for done in pending:
                await done

        api.run(together())
    assert client.xlen(PartitionKeys(namespace, 0).log) == 1
    said = [(one["request_id"], one["events"], one["through"]) for one in learned(learner_of())]
    assert said == [("one", 1, 1), ("two", 3, 6)]


def _event(fields: dict[str, Any]) -> Any:
    return msgspec.convert(fields, Feedback)


def test_a_request_in_several_batches_is_named_with_each(
    redis_url: str, namespace: str, learner_of: Callable[..., Learner]
) -> None:
    with Api(Settings(namespace=namespace, log_requests="all"), redis_url) as api:
        rows = [{"user": f"u{n}", "item": f"i{n}", "rating": 4} for n in range(200)]
        name = api("POST", "/v1/events", json=rows).headers["x-request-id"]
    said = learned(learner_of(users_in_memory=64))
    assert {one["request_id"] for one in said} == {name}
    assert len(said) > 1
    assert sum(one["events"] for one in said) == 200
    assert said[-1]["through"] == 200


def test_a_repeat_is_told_and_followed(
    redis_url: str, namespace: str, learner_of: Callable[..., Learner]
) -> None:
    rows = [EVENT, EVENT | {"event_id": "one"}]
    with Api(Settings(namespace=namespace, log_requests="named"), redis_url) as api:
        told = [
            api("POST", "/v1/events", json=rows, headers={"x-request-id": name}).json()
            for name in ("first", "again")
        ]
    assert [one.get("repeats") for one in told] == [None, [1]]
    said = [(one["request_id"], one["events"]) for one in learned(learner_of())]
    assert said == [("first", 2), ("again", 2)]


def test_nothing_stands_beside_an_entry_that_nobody_follows(
    redis_url: str, namespace: str, client: Client, learner_of: Callable[..., Learner]
) -> None:
    with Api(Settings(namespace=namespace), redis_url) as api:
        api("POST", "/v1/events", json=EVENT, headers={"x-request-id": "mine"})
    [(_, fields)] = client.xrange(PartitionKeys(namespace, 0).log)
    assert set(fields) == {b"d", b"c"}
    assert learned(learner_of()) == []


def test_what_was_set_aside_names_its_requests(
    redis_url: str, namespace: str, client: Client, learner_of: Callable[..., Learner]
) -> None:
    with Api(Settings(namespace=namespace, log_requests="named"), redis_url) as api:
        api("POST", "/v1/events", json=EVENT, headers={"x-request-id": "mine"})
    log = PartitionKeys(namespace, 0).log
    [(name, fields)] = client.xrange(log)
    client.delete(log)
    client.xadd(log, {**fields, b"c": b"1"}, id=name)
    learner = learner_of()
    with capture_logs() as logs:
        learner.drain()
    [line] = [one for one in logs if one["event"] == "entry_set_aside"]
    assert line["requests"] == ["mine"]
