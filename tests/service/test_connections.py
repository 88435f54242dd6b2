"""What a client may send before anybody knows who it is."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from service.http.problems import CODES, MEDIA_TYPE
from service.limits import Limits
from service.settings import Settings
from tests.api import exchange, served

Address = tuple[str, int]
LIMIT = 4_096
HELLO = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n"


@pytest.fixture(scope="module")
def address(redis_server: str) -> Iterator[Address]:
    settings = Settings(namespace="t-connections", limits=Limits(header_bytes=LIMIT))
    with served(settings, redis_server) as address:
        yield address


def sent(address: Address, *parts: bytes) -> bytes:
    """Send parts one by one until the server hangs up or all are sent; return its answer."""
    with socket.create_connection(address, timeout=60) as client:
        try:
            for part in parts:
                client.sendall(part)
        except OSError:
            pass
        return received(client)


def received(client: socket.socket) -> bytes:
    parts = []
    try:
        while part := client.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def is_cut_off(client: socket.socket) -> bool:
    """Send up to 256 MB without an end of line; return whether the server hangs up meanwhile."""
    try:
        for _ in range(4_096):
            client.sendall(b"a" * 65_536)
    except OSError:
        return True
    return False


def check_refused(answer: bytes, code: str) -> dict[str, Any]:
    """Assert that the only answer is the problem ``code``, and that the connection ends with it."""
    head, _, body = answer.partition(b"\r\n\r\n")
    line, *headers = head.decode().lower().split("\r\n")
    named = dict(header.split(": ", 1) for header in headers)
    problem: dict[str, Any] = json.loads(body)
    assert problem["code"] == code
    assert int(line.split()[1]) == problem["status"] == CODES[code][0]
    assert named["content-type"] == MEDIA_TYPE
    assert named["connection"] == "close"
    assert named["x-request-id"] == problem["request_id"]
    assert int(named["content-length"]) == len(body)
    return problem


def test_headers_within_the_bound_are_read(address: Address) -> None:
    room = LIMIT - 200
    for value in (b"a" * room, b"\r\nx: ".join([b"a"] * (room // 10))):
        answer = exchange(address, HELLO[:-27] + b" HTTP/1.1\r\nx: " + value + b"\r\n")
        assert answer.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("end", [b"\r\n\r\n", b""])
def test_headers_beyond_the_bound_are_refused(address: Address, end: bytes) -> None:
    one_long = HELLO + b"x: " + b"a" * LIMIT + end
    many_short = HELLO + b"\r\n".join([b"x: a"] * LIMIT) + end
    for request in (one_long, many_short):
        problem = check_refused(sent(address, request), "headers_too_large")
        assert str(LIMIT) in problem["detail"]
        assert "HEDGEROW_LIMITS__HEADER_BYTES" in problem["detail"]


@pytest.mark.parametrize("end", [b" HTTP/1.1\r\n\r\n", b""])
def test_a_request_line_beyond_the_bound_is_refused(address: Address, end: bytes) -> None:
    answer = sent(address, b"GET /v1/items/" + b"a" * LIMIT + end)
    check_refused(answer, "request_line_too_long")


def test_a_header_without_an_end_is_cut_off(address: Address) -> None:
    with socket.create_connection(address, timeout=60) as client:
        client.sendall(HELLO + b"x: ")
        assert is_cut_off(client)


def test_trailers_of_a_chunked_body_are_bounded_too(address: Address) -> None:
    head = b"POST /v1/ratings HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n"
    body = b"content-type: application/json\r\n\r\n2\r\n{}\r\n0\r\nx: "
    with socket.create_connection(address, timeout=60) as client:
        client.sendall(head + body)
        assert is_cut_off(client)


def test_what_is_not_http_is_a_problem_too(address: Address) -> None:
    for nonsense in (b"\x16\x03\x01\x02\x00\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
        check_refused(sent(address, nonsense), "malformed_request")


def test_each_request_of_a_connection_has_the_whole_bound(address: Address) -> None:
    request = HELLO + b"x: " + b"a" * (LIMIT // 2) + b"\r\n\r\n"
    with socket.create_connection(address, timeout=60) as client:
        for _ in range(4):
            client.sendall(request)
            assert b"200 OK" in client.recv(65_536)
