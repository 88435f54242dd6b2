"""Clients that are slow, silent or many: they are told why, and others are served meanwhile."""

import asyncio
import contextlib
import json
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.http.admission import Admission, Refusal
from service.limits import Limits
from service.settings import Settings
from service.store.connection import connect
from tests.api import Api, exchange, served
from tests.server import PrivateServer, wait_until
from tests.service.raw_clients import HELLO, Address, answered, check_refused, is_cut_off, received

SOON = {"header_s": 0.2, "body_s": 0.2}
PUT = b"PUT /v1/items/a HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
LONG = json.dumps({"words": ["x" * 1_000] * 58}).encode()
"""Features of a document, nearly as long as a line may be."""
HALF_BODY = PUT + b"content-length: 1000\r\n\r\n{"


@contextlib.contextmanager
def limited(redis_url: str, *, proxies: str = "", **limits: Any) -> Iterator[Address]:
    settings = Settings(
        namespace="t-slow-clients", limits=Limits(**limits), trusted_proxies=proxies
    )
    with served(settings, redis_url) as address:
        yield address


def connected(address: Address, said: bytes = b"") -> socket.socket:
    client = socket.create_connection(address, timeout=180)
    client.sendall(said)
    return client


def test_half_a_header_is_refused_in_time(redis_url: str) -> None:
    with limited(redis_url, **SOON) as address, connected(address, HELLO) as client:
        problem = check_refused(received(client), "too_slow")
        assert "HEDGEROW_LIMITS__HEADER_S" in problem["detail"]


def test_a_silent_connection_is_closed_without_a_word(redis_url: str) -> None:
    with limited(redis_url, **SOON) as address, connected(address) as client:
        assert received(client) == b""


def test_a_connection_may_not_rest_in_its_second_header(redis_url: str) -> None:
    with limited(redis_url, **SOON) as address, connected(address, HELLO + b"\r\n") as client:
        assert b"200 OK" in answered(client)
        client.sendall(HELLO)
        check_refused(received(client), "too_slow")


def test_half_a_body_is_refused_in_time(redis_url: str) -> None:
    with limited(redis_url, **SOON) as address, connected(address, HALF_BODY) as client:
        problem = check_refused(received(client), "too_slow")
        assert "HEDGEROW_LIMITS__BODY_BYTES_PER_S" in problem["detail"]


def test_a_stream_may_pause_but_not_for_ever(redis_url: str) -> None:
    stream = (
        b"POST /v1/items HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n"
        b"content-length: 1000\r\n\r\n"
    )
    with (
        limited(redis_url, **SOON, stream_pause_s=3) as address,
        connected(address, stream) as client,
        connected(address, HALF_BODY) as other,
    ):
        check_refused(received(other), "too_slow")
        # still open, so what follows is read
        client.sendall(b"{")
        problem = check_refused(received(client), "too_slow")
        assert "HEDGEROW_LIMITS__STREAM_PAUSE_S" in problem["detail"]


def test_the_rest_of_a_refused_body_is_not_read_for_ever(redis_url: str) -> None:
    request = b"POST /nowhere HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000000\r\n\r\n"
    with limited(redis_url) as address, connected(address, request) as client:
        assert answered(client).startswith(b"HTTP/1.1 404")
        assert is_cut_off(client)


def test_who_waits_longest_makes_room_for_a_newcomer(redis_url: str) -> None:
    with limited(redis_url, connections=16) as address, ExitStack() as stack:
        idle = [stack.enter_context(connected(address)) for _ in range(16)]
        for n in range(4):
            assert exchange(address, HELLO.removesuffix(b"host: localhost\r\n")).startswith(
                b"HTTP/1.1 200"
            )
            assert n or idle[0].recv(1) == b""
        idle[15].sendall(HELLO + b"\r\n")
        assert b"200 OK" in answered(idle[15])


def test_a_client_at_rest_is_not_closed_for_strangers(redis_url: str) -> None:
    with limited(redis_url, connections=16) as address, ExitStack() as stack:
        client = stack.enter_context(connected(address, HELLO + b"\r\n"))
        assert b"200 OK" in answered(client)
        for _ in range(40):
            stack.enter_context(connected(address))
        client.sendall(HELLO + b"\r\n")
        assert b"200 OK" in answered(client)


def test_a_newcomer_is_refused_while_all_others_are_at_work(redis_url: str) -> None:
    with limited(redis_url, connections=16) as address, ExitStack() as stack:
        for _ in range(16):
            client = stack.enter_context(connected(address, PUT + b"expect: 100-continue\r\n"))
            client.sendall(b"content-length: 1000\r\n\r\n")
            # the application asks for the body: this connection has its request
            assert answered(client).startswith(b"HTTP/1.1 100")
        with connected(address) as newcomer:
            problem = check_refused(received(newcomer), "too_many_connections")
        assert "HEDGEROW_LIMITS__CONNECTIONS" in problem["detail"]
        assert problem["retry_after"] == 1


def test_one_address_may_not_take_all_connections(redis_url: str) -> None:
    few = {"connections_per_address": 4}
    with limited(redis_url, **few, count_loopback=True) as address, ExitStack() as stack:
        mine = [stack.enter_context(connected(address)) for _ in range(4)]
        with connected(address) as newcomer:
            problem = check_refused(received(newcomer), "too_many_connections")
        assert "HEDGEROW_LIMITS__CONNECTIONS_PER_ADDRESS" in problem["detail"]
        mine[0].sendall(HELLO + b"\r\n")
        assert b"200 OK" in answered(mine[0])


@pytest.mark.parametrize("more", [{}, {"count_loopback": True, "proxies": "10.0.0.0/8, 127.0.0.1"}])
def test_a_proxy_may_open_more(redis_url: str, more: dict[str, Any]) -> None:
    with limited(redis_url, connections_per_address=1, **more) as address, ExitStack() as stack:
        for _ in range(8):
            client = stack.enter_context(connected(address, HELLO + b"\r\n"))
            assert b"200 OK" in answered(client)


class Silent:
    """A connection that sends nothing."""

    body_bytes, is_stream, paused = 0, False, False

    def refuse(self, refusal: Refusal) -> None:
        raise AssertionError(refusal)


def test_networks_count_as_one_address() -> None:
    async def codes(*addresses: str) -> list[str | None]:
        admission = Admission(Limits(connections_per_address=1))
        refusals = [admission.enter(Silent(), address) for address in addresses]
        return [refusal and refusal.code for refusal in refusals]

    for first, second, together in (
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8::1", "2001:db8::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
    ):
        expected = "too_many_connections" if together else None
        assert asyncio.run(codes(first, second)) == [None, expected]


def test_the_limit_on_open_files_is_raised_where_it_is_too_low() -> None:
    asked = (
        "import resource; from service.processes.listening import room_for;"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (300, 1000));"
        "print(room_for(16), resource.getrlimit(resource.RLIMIT_NOFILE)[0]);"
        "print(room_for(500), resource.getrlimit(resource.RLIMIT_NOFILE)[0]);"
        "print(room_for(5000), resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    out = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["16", "300", "500", "756", "744", "1000"]


def test_a_client_that_never_reads_its_answer_must_go(redis_url: str) -> None:
    """The answer is larger than what the system keeps for a connection."""
    lines = b"".join(b'{"item": "long-%d", "features": %b}\n' % (n, LONG) for n in range(250))
    upload = (
        b"POST /v1/items HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n"
        b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(lines)
    )
    one = {"connections_per_address": 1, "count_loopback": True}
    with limited(redis_url, header_s=5, **one) as address, socket.socket() as client:
        with connected(address, upload + lines) as uploading:
            assert b'"accepted":250' in received(uploading)
        # before it connects: the system may then send little ahead
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.connect(address)
        client.sendall(b"GET /v1/items?limit=1000 HTTP/1.1\r\nhost: localhost\r\n\r\n")

        def has_room() -> bool:
            answer = exchange(address, HELLO.removesuffix(b"host: localhost\r\n"))
            return answer.startswith(b"HTTP/1.1 200")

        assert not has_room()
        wait_until(has_room)


def test_what_an_array_holds_is_counted_until_it_is_written(
    private_server: PrivateServer, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path, limits=Limits(body_bytes_held=1 << 20))
    rows = [{"item": f"i{n}", "features": json.loads(LONG)} for n in range(12)]
    with (
        Api(settings, private_server.url) as api,
        connect(private_server.url, role="test") as client,
    ):
        api.ready()

        async def send() -> list[httpx.Response]:
            # the store takes no documents for now
            client.client_pause(60_000, all=False)
            waiting = client.info("clients")["blocked_clients"]
            first = asyncio.create_task(api.client.post("/v1/items", json=rows))
            await asyncio.to_thread(
                wait_until, lambda: client.info("clients")["blocked_clients"] > waiting
            )
            second = await api.client.post("/v1/items", json=rows)
            client.client_unpause()
            return [await first, second, await api.client.post("/v1/items", json=rows)]

        answers = api.run(send())
    assert [answer.status_code for answer in answers] == [200, 503, 200]
    assert answers[1].json()["code"] == "overloaded"


def test_bodies_of_all_clients_have_one_bound(redis_url: str) -> None:
    half = PUT + b"content-length: 900000\r\n\r\n{" + b" " * 800_000
    with limited(redis_url, body_bytes_held=1 << 20) as address, ExitStack() as stack:
        clients = [stack.enter_context(connected(address, half)) for _ in range(4)]
        ready, _, _ = select.select(clients, [], [], 60)
        while len(ready) < 3:
            ready, _, _ = select.select(clients, [], [], 60)
        for refused in ready:
            head, _, body = answered(refused).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 503")
            problem = json.loads(body)
            assert problem["code"] == "overloaded"
            assert "HEDGEROW_LIMITS__BODY_BYTES_HELD" in problem["detail"]
        # small bodies are read all the same
        with connected(address, PUT + b"content-length: 2\r\n\r\n{}") as small:
            assert b"200 OK" in answered(small)
        # what the first holds becomes free once it is answered
        for first in set(clients) - set(ready):
            first.sendall(b" " * 99_998 + b"}")
            assert b"200 OK" in answered(first)
        with connected(address, half + b" " * 99_998 + b"}") as big:
            assert b"200 OK" in answered(big)
