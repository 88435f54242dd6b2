"""A store that hangs, is full or ends: what is in memory answers, all else is refused at once."""

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from service.processes.child import ServiceProcess
from tests.server import PrivateServer, wait_until
from tests.service.running import is_gone, logged, service, started, store_pid

pytestmark = pytest.mark.flow

PATIENCE_MS = 150
AWAY_S = 7.0
"""Longer than a socket waits for a reply: then a second wait begins."""
USERS = [f"u{n}" for n in range(20)]
LISTS = ["/v1/popular", "/v1/trending", "/v1/latest", "/v1/popular?user=u1"]
READS = [*LISTS, *(f"/v1/users/{user}/recommendations" for user in USERS)]


class Said(NamedTuple):
    """An answer, and the seconds that it took."""

    status: int
    headers: dict[str, str]
    body: Any
    seconds: float


class Caller:
    """One client: a connection of its own, and a key."""

    def __init__(self, url: str, key: str) -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
        self._headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}

    def __call__(self, method: str, path: str, body: Any = None) -> Said:
        began = time.perf_counter()
        sent = None if body is None else json.dumps(body)
        self._connection.request(method, path, sent, self._headers)
        answer = self._connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        said = json.loads(answer.read())
        return Said(answer.status, headers, said, time.perf_counter() - began)

    def close(self) -> None:
        self._connection.close()


def once(running: ServiceProcess, key: str, *request: Any) -> Said:
    """Send one request."""
    with closing(Caller(running.url, key)) as caller:
        return caller(*request)


def fill(running: ServiceProcess, key: str) -> None:
    """Send events of all users, and ask for everything once."""
    events = [
        {"user": user, "item": f"i{n * m % 30}", "rating": 1 + (n + m) % 5}
        for n, user in enumerate(USERS)
        for m in range(1, 6)
    ]
    assert once(running, key, "POST", "/v1/events?wait=learned", events).status == 200
    wait_until(lambda: once(running, key, "GET", "/v1/popular").body["items"])
    for path in READS:
        assert once(running, key, "GET", path).status == 200


def asked(
    running: ServiceProcess, key: str, n: int, until: Callable[[], bool], requests: list[Any]
) -> list[Said]:
    """Let n callers repeat requests until ``until()``; return all answers."""

    def ask(first: int) -> list[Said]:
        answers, at = [], first
        with closing(Caller(running.url, key)) as caller:
            while not until():
                answers.append(caller(*requests[at % len(requests)]))
                at += 1
        return answers

    with ThreadPoolExecutor(n) as pool:
        return [answer for some in pool.map(ask, range(n)) for answer in some]


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Suspend a process: it neither answers nor ends."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_while_the_store_hangs_memory_answers_and_writes_are_refused(tmp_path, record_property):
    with service(tmp_path, store_patience_ms=PATIENCE_MS) as running, running.client() as client:
        running.wait_until_ready(client)
        admin = client.post("/v1/admin/keys", {"role": "admin", "name": "me"})["secret"]
        fill(running, admin)
        new = {"role": "admin", "name": "it"}
        other = once(running, admin, "POST", "/v1/admin/keys", new).body
        gone = once(running, admin, "DELETE", f"/v1/admin/keys/{other['id']}")
        assert gone.status == 200
        reads = [("GET", path) for path in READS]
        writes = [("POST", "/v1/events", {"user": "w", "item": "i1", "rating": 3})]
        over = threading.Event()
        with stopped(store_pid(running)), ThreadPoolExecutor(2) as pool:
            reading = pool.submit(asked, running, admin, 6, over.is_set, reads)
            writing = pool.submit(asked, running, admin, 3, over.is_set, writes)
            over.wait(AWAY_S)
            over.set()
            answers, refused = reading.result(), writing.result()
            ready = once(running, admin, "GET", "/readyz")
            revoked = once(running, other["secret"], "GET", "/v1/popular")
            stranger = once(running, "", "GET", "/v1/popular")

        assert Counter(one.status for one in answers) == {200: len(answers)}
        assert len(answers) > len(READS)
        ages = [float(one.headers["x-stale-seconds"]) for one in answers[-6:]]
        assert AWAY_S / 2 < max(ages) < 60
        assert Counter(one.status for one in refused) == {503: len(refused)}
        assert {one.body["code"] for one in refused} == {"store_unavailable"}
        assert {one.headers["retry-after"] for one in refused} == {"1"}
        # a key that was revoked and a caller without one are not let in: nothing opens
        assert (revoked.status, stranger.status) == (503, 401)
        assert ready.status == 200
        works = {
            name: ready.body[name] for name in ("serving", "accepting", "learning", "training")
        }
        assert works == dict.fromkeys(works, False) | {"serving": True}
        assert ready.body["stale_s"] > AWAY_S / 2
        record_property("slowest read, s", max(one.seconds for one in answers))
        record_property("slowest refusal, s", max(one.seconds for one in refused))

        wait_until(lambda: once(running, admin, "GET", "/readyz").body["accepting"])
        again = once(running, admin, *writes[0])
        assert again.status == 202
        assert "x-stale-seconds" not in again.headers


def test_a_service_outlives_an_api_process_that_ends_while_a_given_store_is_away(tmp_path):
    with (
        PrivateServer(tmp_path / "store") as store,
        service(tmp_path, redis_url=store.url, api_processes=2) as running,
        running.client() as client,
    ):
        running.wait_until_ready(client)
        post = ("POST", "/v1/events", {"user": "ada", "item": "i1", "rating": 4})
        assert once(running, "", *post).status == 202
        store.kill()
        for _ in range(2):
            pid = started(running)["api-0"][-1]
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda pid=pid: started(running)["api-0"][-1] != pid)
        # the new process waits; the other one goes on
        wait_until(lambda: once(running, "", "GET", "/readyz").status == 200)
        store.start()
        wait_until(lambda: once(running, "", *post).status == 202)
        assert running.alive
        ends = [event for event in logged(running) if event["event"] == "child_ended"]
        assert {event["code"] for event in ends if event["child"] == "api-0"} == {-signal.SIGKILL}


def test_a_learner_that_is_suspended_is_started_again(tmp_path):
    with service(tmp_path, watchdog_s=5) as running, running.client() as client:
        running.wait_until_ready(client)
        client.post("/v1/events", [{"user": "ada", "item": "a", "rating": 4}], wait="learned")
        learner = started(running)["learner-0"][-1]
        os.kill(learner, signal.SIGSTOP)
        sequence = client.post("/v1/events", {"user": "ada", "item": "b", "rating": 4})["sequence"]
        client.wait_until_learned(sequence, 60.0)
        wait_until(lambda: is_gone(learner))
        [hangs] = [event for event in logged(running) if event["event"] == "child_hangs"]
        assert (hangs["child"], hangs["pid"]) == ("learner-0", learner)
