"""What a client may send before anybody knows who it is."""

import socket
from collections.abc import Iterator

import pytest

from service.limits import Limits
from service.settings import Settings
from tests.api import exchange, served
from tests.service.raw_clients import HELLO, Address, answered, check_refused, is_cut_off, sent

LIMIT = 4_096


@pytest.fixture(scope="module")
def address(redis_server: str) -> Iterator[Address]:
    settings = Settings(namespace="t-connections", limits=Limits(header_bytes=LIMIT))
    with served(settings, redis_server) as address:
        yield address


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
    with socket.create_connection(address, timeout=180) as client:
        client.sendall(HELLO + b"x: ")
        assert is_cut_off(client)


def test_trailers_of_a_chunked_body_are_bounded_too(address: Address) -> None:
    head = b"POST /v1/ratings HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n"
    body = b"content-type: application/json\r\n\r\n2\r\n{}\r\n0\r\nx: "
    with socket.create_connection(address, timeout=180) as client:
        client.sendall(head + body)
        assert is_cut_off(client)


def test_what_is_not_http_is_a_problem_too(address: Address) -> None:
    for nonsense in (b"\x16\x03\x01\x02\x00\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
        check_refused(sent(address, nonsense), "malformed_request")


def test_each_request_of_a_connection_has_the_whole_bound(address: Address) -> None:
    request = HELLO + b"x: " + b"a" * (LIMIT // 2) + b"\r\n\r\n"
    with socket.create_connection(address, timeout=180) as client:
        for _ in range(4):
            client.sendall(request)
            assert b"200 OK" in answered(client)
