"""Events through a WebSocket: a real server, a real client."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from service.settings import Settings
from tests.api import check_problem, learning, served
from tests.server import wait_until
from tests.service.raw_clients import answered

Address = tuple[str, int]
EVENT = {"user": "ada", "item": "tt1", "rating": 4}


@pytest.fixture(scope="module")
def address(redis_server: str) -> Iterator[Address]:
    with served(Settings(namespace="event-socket"), redis_server) as address:
        yield address


@pytest.fixture
def serve(redis_url: str, namespace: str) -> Iterator[Callable[..., Address]]:
    """Serve a namespace of its own, with settings."""
    with ExitStack() as stack:

        def serve(**more: Any) -> Address:
            settings = Settings(namespace=namespace, **more)
            return stack.enter_context(served(settings, redis_url))

        yield serve


def opened(
    address: Address, path: str = "/v1/events/ws", host: str = "", **more: Any
) -> ClientConnection:
    return connect(f"ws://{host or at(address)}{path}", **more)


def at(address: Address) -> str:
    return f"{address[0]}:{address[1]}"


def told(client: ClientConnection, message: Any) -> Any:
    """Send a message; return its answer."""
    client.send(message if isinstance(message, str | bytes) else json.dumps(message))
    return json.loads(client.recv(timeout=30))


def closed(client: ClientConnection) -> int:
    """Return the code with which the service closes a socket."""
    with pytest.raises(ConnectionClosed) as caught:
        client.recv(timeout=30)
    assert caught.value.rcvd is not None
    assert caught.value.rcvd.reason
    return caught.value.rcvd.code


def refused(address: Address, status: int, code: str, **more: Any) -> None:
    with pytest.raises(InvalidStatus) as caught:
        opened(address, **more)
    given = caught.value.response
    answer = httpx.Response(
        status, headers=list(given.headers.raw_items()), content=bytes(given.body)
    )
    assert given.status_code == status
    check_problem(answer, status, code)


def new_key(address: Address, role: str, **headers: str) -> tuple[str, str]:
    """Make a key; return its id and its secret."""
    url = f"http://{at(address)}/v1/admin/keys"
    made = httpx.post(url, json={"role": role, "name": role}, headers=headers).json()
    return made["id"], made["secret"]


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def test_every_message_is_answered_in_order_with_its_sequence(address: Address) -> None:
    with opened(address) as client:
        for n in range(50):
            client.send(json.dumps([EVENT] * (n % 3 + 1)))
        answers = [json.loads(client.recv(timeout=30)) for _ in range(50)]
    assert [answer["message"] for answer in answers] == list(range(50))
    assert [answer["accepted"] for answer in answers] == [n % 3 + 1 for n in range(50)]
    ends = [int(answer["sequence"].removeprefix("0:")) for answer in answers]
    assert [after - before for before, after in pairwise(ends)] == [n % 3 + 1 for n in range(1, 50)]


def test_messages_with_more_rows_than_an_array_are_taken_in_parts(
    serve: Callable[..., Address],
) -> None:
    with opened(serve(max_array=4)) as client:
        for n in range(60):
            client.send(json.dumps([EVENT, 0, EVENT] if n % 2 else EVENT))
        answers = [json.loads(client.recv(timeout=30)) for _ in range(60)]
    assert [answer["message"] for answer in answers] == list(range(60))
    assert [answer["accepted"] for answer in answers] == [1, 2] * 30


def test_an_envelope_gives_a_message_an_id(address: Address) -> None:
    with opened(address) as client:
        assert told(client, {"id": "one", "events": EVENT})["id"] == "one"
        several = told(client, {"id": "several", "events": [EVENT, {**EVENT, "rating": 9}]})
        assert (several["id"], several["accepted"]) == ("several", 1)
        assert several["rejected"][0]["index"] == 1
        assert told(client, {"events": [EVENT]}).keys().isdisjoint({"id", "code"})
        other = told(client, {"id": "one", "events": {**EVENT, "item": "tt2"}})
        assert (other["id"], other["code"]) == ("one", "idempotency_key_reused")
        again = told(client, {"id": "one", "events": EVENT})
        assert again["accepted"] == 1


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("{", "malformed_json"),
        (b"\xff", "malformed_json"),
        ("", "malformed_json"),
        ("[" * 100_000, "malformed_json"),
        ("3", "invalid_event"),
        ([], "nothing_accepted"),
        ([{**EVENT, "rating": 9}], "nothing_accepted"),
        ({**EVENT, "rating": 9}, "out_of_scale"),
        ({**EVENT, "kind": "view"}, "invalid_event"),
        ({"user": "", "item": "tt1", "rating": 3}, "invalid_id"),
        ({"id": "m", **EVENT}, "invalid_event"),
        ({"id": 3, "events": [EVENT]}, "invalid_event"),
        ({"id": "", "events": [EVENT]}, "invalid_id"),
        ({"id": "m" * 201, "events": [EVENT]}, "invalid_id"),
        ({"events": [EVENT], "more": 1}, "invalid_event"),
        ({"events": 3}, "invalid_event"),
        ({"events": {"events": [EVENT]}}, "invalid_event"),
        ([EVENT] * 5, "too_large"),
    ],
)
def test_a_bad_message_is_explained_and_the_socket_stays_open(
    serve: Callable[..., Address], message: Any, code: str
) -> None:
    with opened(serve(max_array=4)) as client:
        answer = told(client, message)
        assert (answer["code"], answer["message"]) == (code, 0)
        assert answer["detail"]
        assert "accepted" not in answer
        assert told(client, EVENT)["accepted"] == 1


def test_only_a_key_that_may_write_opens_a_socket(serve: Callable[..., Address]) -> None:
    address = serve()
    _, admin = new_key(address, "admin")
    _, read = new_key(address, "read", **bearer(admin))
    _, write = new_key(address, "write", **bearer(admin))
    refused(address, 401, "unauthorised")
    refused(address, 401, "unauthorised", additional_headers=bearer(write[:-1] + "!"))
    refused(address, 403, "forbidden", additional_headers=bearer(read))
    in_path = f"/v1/events/ws?key={write}"
    refused(address, 422, "invalid_request", path=in_path, additional_headers=bearer(write))
    with opened(address, additional_headers=bearer(write)) as client:
        assert told(client, EVENT)["accepted"] == 1
    # as a browser sends it, which names the protocol that is chosen to the page
    offered = [Subprotocol("hedgerow.v1"), Subprotocol(f"hedgerow.key.{write}")]
    with opened(address, subprotocols=offered) as client:
        assert client.subprotocol == "hedgerow.v1"
        assert told(client, EVENT)["accepted"] == 1
    refused(address, 401, "unauthorised", subprotocols=[Subprotocol("hedgerow.key.hr_no_key")])


def test_pages_of_other_sites_open_no_socket(address: Address) -> None:
    refused(address, 403, "foreign_origin", origin="https://evil.example")
    refused(address, 403, "foreign_origin", origin="null")
    with opened(address, origin=f"http://{at(address)}") as client:
        assert told(client, EVENT)["accepted"] == 1
    with socket.create_connection(address) as evil:
        refused(address, 421, "untrusted_host", sock=evil, host="evil.example")


def test_other_paths_are_no_sockets_and_the_socket_is_no_page(address: Address) -> None:
    refused(address, 404, "not_found", path="/v1/events")
    refused(address, 404, "not_found", path="/v1/events/ws/more")
    answer = httpx.get(f"http://{at(address)}/v1/events/ws")
    check_problem(answer, 426, "upgrade_required")
    assert answer.headers["upgrade"] == "websocket"


@pytest.mark.parametrize("sends", [True, False])
def test_a_revoked_key_ends_its_sockets(serve: Callable[..., Address], sends: bool) -> None:
    address = serve()
    _, admin = new_key(address, "admin")
    key, write = new_key(address, "write", **bearer(admin))
    with opened(address, additional_headers=bearer(write)) as client:
        assert told(client, EVENT)["accepted"] == 1
        url = f"http://{at(address)}/v1/admin/keys/{key}"
        assert httpx.delete(url, headers=bearer(admin)).is_success
        if sends:
            assert told(client, EVENT)["code"] == "unauthorised"
        assert closed(client) == 4401


def test_a_service_that_ends_answers_what_it_took(redis_url: str, namespace: str) -> None:
    with ExitStack() as stack:
        with served(Settings(namespace=namespace), redis_url) as address:
            client = stack.enter_context(opened(address))
            assert told(client, EVENT)["accepted"] == 1
            for _ in range(10):
                client.send(json.dumps(EVENT))
            url = f"http://{at(address)}/healthz"
            assert httpx.get(url).is_success
        answers = [json.loads(client.recv(timeout=30)) for _ in range(10)]
        assert [answer["message"] for answer in answers] == list(range(1, 11))
        assert closed(client) == 1012


def test_a_message_that_is_too_long_closes_the_socket(serve: Callable[..., Address]) -> None:
    address = serve(limits={"message_bytes": 2048})
    with opened(address) as client:
        client.send("x" * 2049)
        assert closed(client) == 1009
    with opened(address) as client:
        client.send(["x" * 2000, "x" * 2000])
        assert closed(client) == 1009


def test_a_socket_without_messages_is_closed(serve: Callable[..., Address]) -> None:
    with opened(serve(limits={"stream_pause_s": 0.1})) as client:
        assert told(client, EVENT)["accepted"] == 1
        assert closed(client) == 4408


@contextmanager
def deaf(address: Address) -> Iterator[socket.socket]:
    """A socket whose client reads its handshake, and then only what a test reads."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(30)
        client.connect(address)
        client.sendall(
            b"GET /v1/events/ws HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\n"
            b"upgrade: websocket\r\nsec-websocket-version: 13\r\n"
            b"sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert answered(client).startswith(b"HTTP/1.1 101")
        yield client


def frame(opcode: Opcode, data: bytes, *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin=fin).serialize(mask=True)


MUCH_TO_SAY = json.dumps([0] * 5_000).encode()
"""A message whose answer is many times as long."""


def talk_on(client: socket.socket) -> None:
    for _ in range(10_000):
        client.sendall(frame(Opcode.TEXT, MUCH_TO_SAY))


def test_a_client_that_never_reads_is_cut_off(serve: Callable[..., Address]) -> None:
    address = serve(limits={"stream_pause_s": 0.5, "sockets": 1})
    with deaf(address) as client:
        with pytest.raises(ConnectionError):
            talk_on(client)
        wait_until(lambda: has_room(address))


def test_a_client_that_never_reads_holds_up_no_end(redis_url: str, namespace: str) -> None:
    with ExitStack() as stack, served(Settings(namespace=namespace), redis_url) as address:
        client = stack.enter_context(deaf(address))
        client.settimeout(1)
        with pytest.raises(TimeoutError):
            talk_on(client)


def test_pongs_that_are_not_read_are_not_kept(address: Address) -> None:
    pings = frame(Opcode.PING, b"p" * 125) * 1_000
    with deaf(address) as client:
        for _ in range(200):
            client.sendall(pings)
        client.sendall(frame(Opcode.PING, b"the last"))
        got = b""
        while not got.endswith(b"the last"):
            got += client.recv(1 << 20)
    assert len(got) < 100 * len(pings)


def test_a_message_may_come_in_many_fragments(address: Address) -> None:
    text = json.dumps(EVENT).encode()
    first, *rest = (text[i : i + 1] for i in range(len(text)))
    with deaf(address) as client:
        client.sendall(frame(Opcode.TEXT, first, fin=False))
        for part in rest:
            client.sendall(frame(Opcode.CONT, b"", fin=False) * 10)
            client.sendall(frame(Opcode.CONT, part, fin=False))
        client.sendall(frame(Opcode.CONT, b""))
        assert b'"accepted":1' in client.recv(65_536)
        client.sendall(frame(Opcode.BINARY, text[:9], fin=False) + frame(Opcode.CONT, text[9:]))
        assert b'"accepted":1' in client.recv(65_536)


def test_there_is_room_again_after_a_socket_has_ended(serve: Callable[..., Address]) -> None:
    address = serve(limits={"sockets": 1, "connections": 16})
    for _ in range(20):
        # each is forgotten among the connections too
        with opened(address) as client:
            assert told(client, EVENT)["accepted"] == 1
            refused(address, 503, "too_many_connections")
        wait_until(lambda: has_room(address))


def has_room(address: Address) -> bool:
    try:
        with opened(address):
            return True
    except InvalidStatus:
        return False


def test_a_key_may_not_send_more_messages_than_requests(serve: Callable[..., Address]) -> None:
    limits = {"key_requests_per_s": 0.001, "key_requests_at_once": 3}
    address = serve(limits=limits)
    _, admin = new_key(address, "admin")
    with opened(address, additional_headers=bearer(admin)) as client:
        answers = [told(client, EVENT) for _ in range(3)]
    assert [answer.get("accepted") for answer in answers] == [1, 1, None]
    assert answers[2]["code"] == "rate_limited"
    assert answers[2]["retry_after"] > 0


def test_messages_wait_while_the_log_is_full(
    serve: Callable[..., Address], redis_url: str, namespace: str
) -> None:
    address = serve(log_max_bytes=1 << 16)
    ids = (f"item-{n}" for n in range(1_000_000))
    with opened(address, max_queue=None) as client:
        answered = 0
        while True:
            rows = [{"user": "u" * 250, "item": "tt1", "rating": 3, "event_id": next(ids)}] * 500
            client.send(json.dumps(rows))
            try:
                assert json.loads(client.recv(timeout=0.5))["accepted"] == 500
            except TimeoutError:
                break
            answered += 1
        assert answered > 1
        with learning(Settings(namespace=namespace), redis_url):
            assert json.loads(client.recv(timeout=30))["accepted"] == 500


@pytest.mark.parametrize(
    "handshake",
    [
        b"POST /v1/events/ws HTTP/1.1\r\n",
        b"GET /v1/events/ws HTTP/1.1\r\ncontent-length: 3\r\n",
        b"GET /v1/events/ws HTTP/1.1\r\n" + b"x-more: 1\r\n" * 200,
        b"GET /v1/events/ws HTTP/1.1\r\nsec-websocket-version: 12\r\n",
        b"GET /v1/events/ws HTTP/1.0\r\n",
    ],
)
def test_a_broken_handshake_ends(address: Address, handshake: bytes) -> None:
    more = b"host: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    with socket.create_connection(address, timeout=30) as client:
        client.sendall(handshake + more + b"\r\n")
        assert client.recv(65_536)[:9] in {b"HTTP/1.1 ", b""}
