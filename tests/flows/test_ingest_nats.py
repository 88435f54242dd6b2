"""Messages of NATS count once, through kills of the process that brings them."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.js import JetStreamContext

from service.settings import Settings
from service.store.connection import connect
from tests.api import learning, served
from tests.flows.broker_messages import BAD, message
from tests.flows.recorded import recorded
from tests.flows.roles import Role
from tests.nats_server import NatsServer, needs_nats
from tests.server import wait_until
from tests.service.running import hedgerow, is_gone, service, started

pytestmark = [pytest.mark.flow, needs_nats]


@pytest.fixture
def broker(room: Path) -> Iterator[NatsServer]:
    with NatsServer(room / "nats") as broker:
        yield broker


def with_nats(broker: NatsServer, act: Callable[[JetStreamContext], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        client = await nats.connect(broker.url)
        try:
            return await act(client.jetstream())
        finally:
            await client.close()

    return asyncio.run(run())


def publish(broker: NatsServer, bodies: list[bytes]) -> None:
    async def act(stream: JetStreamContext) -> None:
        await stream.add_stream(name="EVENTS", subjects=["events.>"])
        for body in bodies:
            await stream.publish_async("events.shop", body)
        await stream.publish_async_completed()

    with_nats(broker, act)


def unacknowledged(broker: NatsServer) -> int:
    async def act(stream: JetStreamContext) -> int:
        info = await stream.consumer_info("EVENTS", "hedgerow")
        return int(info.num_pending or 0) + int(info.num_ack_pending or 0)

    n: int = with_nats(broker, act)
    return n


def dead_letters(broker: NatsServer) -> list[tuple[bytes, str, str]]:
    async def act(stream: JetStreamContext) -> list[tuple[bytes, str, str]]:
        name = "hedgerow-dead-letters"
        state = (await stream.stream_info(name)).state
        letters = await stream.subscribe("hedgerow.dead-letters", stream=name)
        found = [await letters.next_msg() for _ in range(state.messages)]
        return [
            (m.data, m.headers["Hedgerow-Code"], m.headers["Hedgerow-Reason"])
            for m in found
            if m.headers
        ]

    letters: list[tuple[bytes, str, str]] = with_nats(broker, act)
    return letters


@pytest.mark.parametrize(
    ("n", "kills"), [(2_000, 1), pytest.param(100_000, 10, marks=pytest.mark.slow)]
)
def test_each_message_counts_once_through_kills(
    room: Path, redis_url: str, namespace: str, broker: NatsServer, n: int, kills: int
) -> None:
    told = [message(i) for i in range(n)]
    publish(broker, [body for _, body in told] + list(BAD))
    settings = Settings(namespace=namespace, data_dir=room / "data", history_limit=100_000)
    with ExitStack() as stack:
        stack.enter_context(learning(settings, redis_url))
        host, port = stack.enter_context(served(settings, redis_url))
        options = ["--stream", "EVENTS", "--nats", broker.url, "--ack-wait", "1", "--batch", "50"]
        url = f"http://{host}:{port}"
        role = Role(room, "ingest", settings, "ingest", *options, "--url", url)
        stack.enter_context(role)
        for kill in range(kills):
            most = n * (kills - kill) // (kills + 1)
            wait_until(lambda most=most: seen(broker) and unacknowledged(broker) <= most, 600)
            role.kill()
            role.start()
        wait_until(lambda: unacknowledged(broker) == 0, 600)
        role.stop()
        letters = dead_letters(broker)
        assert Counter((body, code) for body, code, _ in letters) == Counter(BAD.items())
        assert all(reason for _, _, reason in letters)
        direct = stack.enter_context(connect(redis_url, role="test"))
        expected = Counter(pair for pair, _ in told)
        wait_until(lambda: recorded(direct, namespace).total() >= n, 600)
        assert recorded(direct, namespace) == expected


def seen(broker: NatsServer) -> bool:
    async def act(stream: JetStreamContext) -> bool:
        return any(one.name == "hedgerow" for one in await stream.consumers_info("EVENTS"))

    return bool(with_nats(broker, act))


def test_dead_letters_have_room(
    room: Path, redis_url: str, namespace: str, broker: NatsServer
) -> None:
    told = message(0)[1]
    rejected = b",".join([b"{}"] * 9_999)
    long = b'"' + b"x" * (1_048_576 - 2) + b'"'
    publish(broker, [long, b"[" + told + b"," + rejected + b"]", told])
    settings = Settings(namespace=namespace, data_dir=room / "data")
    with ExitStack() as stack:
        stack.enter_context(learning(settings, redis_url))
        host, port = stack.enter_context(served(settings, redis_url))
        options = ["--stream", "EVENTS", "--nats", broker.url, "--url", f"http://{host}:{port}"]
        role = Role(room, "ingest", settings, "ingest", *options, "--ack-wait", "1")
        stack.enter_context(role)
        wait_until(lambda: seen(broker) and unacknowledged(broker) == 0, 60)
        letters = {code: body for body, code, _ in dead_letters(broker)}
        assert letters["rows_rejected"] == b"[" + rejected + b"]"
        assert long.startswith(letters["too_large"])
        assert len(letters["too_large"]) > len(long) - 1_000

        # NATS ends the connection: with its headers the letter is over the bound that it has now
        broker.set_max_payload(20_000)
        unreadable = b"{" + b" " * 19_950
        publish(broker, [unreadable, told])
        wait_until(lambda: unacknowledged(broker) == 0, 60)
        assert role.log.count('"ingest_started"') == 2
        body, code, _ = dead_letters(broker)[-1]
        assert code == "malformed_json"
        assert body
        assert unreadable.startswith(body)
        assert len(body) < len(unreadable)
        role.stop()
        direct = stack.enter_context(connect(redis_url, role="test"))
        wait_until(lambda: recorded(direct, namespace).total() >= 3)
        assert recorded(direct, namespace) == Counter({message(0)[0]: 3})


def test_a_consumer_that_reads_something_else_is_refused_and_a_deleted_one_said(
    room: Path, broker: NatsServer
) -> None:
    publish(broker, [])
    settings = Settings(data_dir=room / "data")
    options = ["ingest", "--stream", "EVENTS", "--nats", broker.url]
    with Role(room, "ingest", settings, *options, "--subject", "events.shop") as role:
        wait_until(lambda: seen(broker))
        other = hedgerow(*options, "--subject", "events.film", HEDGEROW_DATA_DIR=str(room / "data"))
        assert other.returncode == 2
        assert "it reads events.shop" in other.stderr.splitlines()[-1]
        with_nats(broker, lambda stream: stream.delete_consumer("EVENTS", "hedgerow"))
        assert role.wait() == 2
        assert "the consumer 'hedgerow' of 'EVENTS' was deleted" in role.log.splitlines()[-1]


def test_it_waits_while_jetstream_is_not_ready(room: Path, broker: NatsServer) -> None:
    publish(broker, [])
    broker.end_jetstream()
    options = ["ingest", "--stream", "EVENTS", "--nats", broker.url]
    with Role(room, "ingest", Settings(data_dir=room / "data"), *options) as role:
        wait_until(lambda: role.log.count("ingest_waits") >= 2)
        assert role.alive


def test_a_missing_stream_is_said_in_one_line(broker: NatsServer, room: Path) -> None:
    options = ("--stream", "EVENTS", "--nats", broker.url)
    done = hedgerow("ingest", *options, HEDGEROW_DATA_DIR=str(room / "data"))
    assert done.returncode == 2
    assert "NATS has no stream 'EVENTS'" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_serve_brings_a_stream_in_and_ends_with_nothing_left(
    room: Path, broker: NatsServer
) -> None:
    publish(broker, [message(i)[1] for i in range(200)])
    url = f"{broker.url}/EVENTS?subject=events.%3E&batch=50&ack-wait=1"
    with service(room, ingest=(url,)) as running:
        wait_until(lambda: seen(broker) and unacknowledged(broker) == 0)
        with running.client() as client:
            partitions = client.get("/v1/stats")["partitions"]
            assert sum(one["appended"] for one in partitions) == 200
        first = started(running)["ingest-0"][-1]
        os.kill(first, signal.SIGKILL)
        publish(broker, [message(i)[1] for i in range(200, 300)])
        wait_until(lambda: len(started(running)["ingest-0"]) > 1)
        wait_until(lambda: unacknowledged(broker) == 0)
        last = started(running)["ingest-0"][-1]
    assert is_gone(last)


@pytest.mark.slow
def test_serve_goes_on_without_a_stream_that_is_not_there(room: Path, broker: NatsServer) -> None:
    with service(room, ingest=(f"{broker.url}/NONE",)) as running, running.client() as client:
        running.wait_until_ready(client)
        ended = '"child": "ingest-0", "code": 2'
        wait_until(lambda: ended in running.log.read_text())
        assert "NATS has no stream 'NONE'" in running.log.read_text()
        assert client.get("/healthz")["status"] == "ok"
