"""Tests that the load client counts correctly: every figure of the speed bench comes through it."""

import asyncio
import itertools

import pytest

from bench.http_client import Answer, Client, closed_loop, open_loop, request

ANSWERS = {
    b"GET /good": b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine",
    b"GET /bad ": b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
}


class _Server(asyncio.Protocol):
    """Answers each request in two pieces."""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        answer = ANSWERS[data[:9]]
        self.transport.write(answer[:20])
        self.transport.write(answer[20:])


async def _with_server(use):
    server = await asyncio.get_running_loop().create_server(_Server, "127.0.0.1", 0)
    async with server:
        return await use(*server.sockets[0].getsockname())


@pytest.mark.parametrize("connections", [1, 7])
def test_a_closed_loop_counts_every_answer_and_every_error(connections):
    requests = itertools.cycle([request("GET", "/good"), request("GET", "/bad")])
    load = asyncio.run(
        _with_server(
            lambda host, port: closed_loop(
                host, port, requests, connections=connections, seconds=0.2
            )
        )
    )
    assert load.requests >= connections
    assert abs(load.errors - load.requests / 2) <= connections
    assert len(load.latency_ms) == load.requests


def test_an_open_loop_sends_all_requests_at_the_given_rate():
    requests = itertools.repeat(request("GET", "/good"))
    load = asyncio.run(
        _with_server(lambda host, port: open_loop(host, port, requests, rate=200.0, seconds=0.2))
    )
    assert (load.requests, load.errors) == (40, 0)


def test_a_client_returns_the_complete_answer():
    async def use(host, port):
        client = await Client().open(host, port)
        answers = [await client.ask(request("GET", path)) for path in ("/good", "/bad", "/good")]
        client.close()
        return answers

    assert asyncio.run(_with_server(use)) == [
        Answer(200, b"fine"),
        Answer(503, b""),
        Answer(200, b"fine"),
    ]
