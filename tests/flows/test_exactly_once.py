"""Every acknowledged rating counts exactly once, through crashes and lost replies."""

import http.client
import json
import random
import socket
import threading
from collections import Counter
from contextlib import ExitStack

import pytest

from service.learning.rebuild import rebuild
from service.settings import Settings
from service.store.connection import connect
from service.store.keys import PartitionKeys
from service.store.log.state import read_state
from tests.feed import Feed
from tests.flows.recorded import recorded
from tests.flows.roles import Role
from tests.proxy import LossyProxy
from tests.server import wait_until

pytestmark = pytest.mark.flow

USERS, ROWS = 97, 20
JSON = {"content-type": "application/json"}


class Client(threading.Thread):
    """Posts ratings, ROWS at a time, and repeats each request until it is acknowledged."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port
        self.stop = threading.Event()
        self.acknowledged: list[tuple[str, str]] = []

    def run(self) -> None:
        number = 0
        while not self.stop.is_set():
            rows = [_rating(n) for n in range(number, number + ROWS)]
            while not self._post(json.dumps(rows)):
                if self.stop.wait(0.02):
                    return
            self.acknowledged += [(row["user"], row["item"]) for row in rows]
            number += ROWS

    def _post(self, body: str) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        try:
            connection.request("POST", "/v1/ratings", body, JSON)
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        assert answer.status in {202, 503}, answer.status
        return answer.status == 202


def _rating(n: int) -> dict[str, object]:
    user, item = f"u{n % USERS}", f"i{n // USERS}"
    return {"user": user, "item": item, "rating": 1 + (n * 7919) % 5, "event_id": f"{n}"}


@pytest.mark.parametrize("kills", [6, pytest.param(22, marks=pytest.mark.slow)])
def test_acknowledged_ratings_count_once_through_kills_and_lost_replies(
    room, private_server, namespace, kills
):
    rng = random.Random(kills)  # noqa: S311 - no secret depends on it
    with ExitStack() as stack:
        proxy = LossyProxy(private_server.url, room / "p", _loses(rng))
        stack.callback(proxy.close)
        settings = Settings(
            namespace=namespace,
            redis_url=proxy.url,
            users_in_memory=64,
            commit_max_bytes=1 << 16,
        )
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        fd = listener.fileno()
        api = Role(room, "api", settings, "api", "--listen-fd", str(fd), fds=(fd,))
        learner = Role(room, "learner", settings, "learner")
        for role in (api, learner):
            stack.enter_context(role)
        client = Client(listener.getsockname()[1])
        stack.callback(client.join)
        stack.callback(client.stop.set)
        client.start()
        direct = stack.enter_context(connect(private_server.url, role="test"))
        keys = PartitionKeys(namespace, 0)

        def learned() -> int:
            # like the supervisor: a role that finds no server ends, and is started again
            for role in (api, learner):
                role.revive()
            return int(direct.hget(keys.state, "watermark") or 0)

        victims = [api, learner, private_server] * (kills // 3) + [learner] * (kills % 3)
        rng.shuffle(victims)
        for victim in victims:
            # a process dies in the middle of its work, at a random moment
            since = learned(), len(client.acknowledged)
            wait_until(lambda s=since: learned() > s[0] and len(client.acknowledged) > s[1])
            client.stop.wait(rng.uniform(0, 0.2))
            victim.kill()
            victim.start()
        since = len(client.acknowledged)
        wait_until(lambda: len(client.acknowledged) > since)
        client.stop.set()
        client.join()
        wait_until(lambda: learned() == int(direct.get(keys.sequence)))
        api.stop()
        learner.stop()
        assert proxy.lost > 0

        expected = Counter(client.acknowledged)
        assert recorded(direct, namespace) == expected
        state = read_state(direct, keys)
        assert state.learned == expected.total()
        assert state.epoch > victims.count(learner)
        plain = settings.model_copy(update={"redis_url": None, "users_in_memory": 32_768})
        (report,) = rebuild(plain, private_server.url, into=namespace + "-2")
        assert report.differences == []
        again = Feed(direct, namespace + "-2").online_state()
        assert again == Feed(direct, namespace).online_state()


def _loses(rng):
    """Lose the reply to one append or commit in fifty."""

    def loses(request: bytes) -> bool:
        return (b"EXEC\r\n" in request or b"EVALSHA" in request) and rng.random() < 0.02

    return loses
