"""A producer that sends again what was not answered: each event counts once, through kills."""

import json
import socket
import threading
from collections import Counter, deque
from contextlib import ExitStack
from pathlib import Path

import pytest
from websockets.exceptions import InvalidHandshake, WebSocketException
from websockets.sync.client import ClientConnection, connect

from service.settings import Settings
from service.store.connection import connect as connect_store
from service.store.keys import PartitionKeys
from tests.flows.recorded import recorded
from tests.flows.roles import Role
from tests.server import PrivateServer, wait_until

pytestmark = pytest.mark.flow

AHEAD = 64
"""Messages that wait for their answer."""


class Producer(threading.Thread):
    """Sends messages until it is told to stop, and each again until it is answered."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._url = f"ws://127.0.0.1:{port}/v1/events/ws"
        self.stop = threading.Event()
        self.sent: list[tuple[str, str]] = []
        self.answered = 0
        self._unanswered: deque[str] = deque()

    def run(self) -> None:
        while not self.stop.is_set() or self._unanswered:
            try:
                with connect(self._url, open_timeout=30) as client:
                    self._converse(client)
            except (OSError, InvalidHandshake, WebSocketException):
                self.stop.wait(0.02)

    def _converse(self, client: ClientConnection) -> None:
        for message in self._unanswered:
            client.send(message)
        while not self.stop.is_set() or self._unanswered:
            while len(self._unanswered) < AHEAD and not self.stop.is_set():
                self._unanswered.append(self._next())
                client.send(self._unanswered[-1])
            answer = json.loads(client.recv(timeout=60))
            assert "code" not in answer or "retry_after" in answer, answer
            if "code" not in answer:
                self._unanswered.popleft()
                self.answered += 1
            else:
                # the order of the answers is that of the messages, so all are sent again
                return

    def _next(self) -> str:
        n = len(self.sent)
        user, item = f"u{n % 23}", f"i{n // 23 % 500}"
        self.sent.append((user, item))
        event = {"user": user, "item": item, "kind": "view"}
        # some messages have an id, others events with one
        return json.dumps(
            {"id": f"m{n}", "events": [event]} if n % 2 else {**event, "event_id": f"{n}"}
        )


@pytest.mark.parametrize("kills", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_what_a_socket_answered_counts_once_through_kills(
    room: Path, private_server: PrivateServer, namespace: str, kills: int
) -> None:
    with ExitStack() as stack:
        settings = Settings(namespace=namespace, redis_url=private_server.url)
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        fd = listener.fileno()
        api = Role(room, "api", settings, "api", "--listen-fd", str(fd), fds=(fd,))
        learner = Role(room, "learner", settings, "learner")
        for role in (api, learner):
            stack.enter_context(role)
        producer = Producer(listener.getsockname()[1])
        stack.callback(producer.join)
        stack.callback(producer.stop.set)
        producer.start()
        for _ in range(kills):
            since = producer.answered
            wait_until(lambda since=since: producer.answered > since + 3 * AHEAD)
            api.kill()
            api.start()
        since = producer.answered
        wait_until(lambda: producer.answered > since)
        producer.stop.set()
        producer.join()
        direct = stack.enter_context(connect_store(private_server.url, role="test"))
        keys = PartitionKeys(namespace, 0)

        def learned() -> bool:
            return direct.hget(keys.state, "watermark") == direct.get(keys.sequence)

        wait_until(learned)
        assert producer.answered == len(producer.sent)
        assert recorded(direct, namespace) == Counter(producer.sent)
