"""A store that hangs, is full or ends: what is in memory answers, all else is refused at once."""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from service.processes.child import ServiceProcess
from service.store.connection import connect
from tests.server import PrivateServer, wait_until
from tests.service.running import is_gone, logged, service, started, store_pid

pytestmark = pytest.mark.flow

PATIENCE_MS = 1_000
"""A store that only waits for its share of a busy machine is not away for so long."""
AWAY_S = 7.0
"""Longer than a socket waits for a reply: then a second wait begins."""
SPARE_MB = 1_000
"""More than what other programs write meanwhile."""
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
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=180)
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


def loaded(running: ServiceProcess) -> int:
    """Return how often an api process was ready to answer so far."""
    return sum(event["event"] == "kernels_loaded" for event in logged(running))


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
    """Let n callers repeat requests, each of them once at least, until ``until()``.

    Returns all answers.
    """

    def ask(first: int) -> list[Said]:
        answers, at = [], first
        with closing(Caller(running.url, key)) as caller:
            # on a busy machine that may be soon
            while len(answers) * n <= len(requests) or not until():
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
        assert AWAY_S / 2 < max(ages) < 600
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
        # one of them is enough to be ready; one that is still starting would wait for the store
        wait_until(lambda: loaded(running) == 2)
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
        client.wait_until_learned(sequence)
        wait_until(lambda: is_gone(learner))
        # on a busy machine others may seem to hang, too
        hangs = [event for event in logged(running) if event["event"] == "child_hangs"]
        assert ("learner-0", learner) in [(one["child"], one["pid"]) for one in hangs]


def works(running: ServiceProcess) -> dict[str, Any]:
    """What `/readyz` says."""
    body: dict[str, Any] = once(running, "", "GET", "/readyz").body
    return body


def check_reads_go_on_and_writes_do_not(running: ServiceProcess) -> None:
    for path in READS:
        assert once(running, "", "GET", path).status == 200
    for method, path, body in (
        ("POST", "/v1/events", {"user": "w", "item": "i1", "rating": 3}),
        ("POST", "/v1/events", {"user": "w", "item": "a new item", "rating": 3}),
        ("PUT", "/v1/items/i1", {"categories": ["film"]}),
    ):
        refused = once(running, "", method, path, body)
        assert (refused.status, refused.body["code"]) == (503, "store_unavailable")
        assert refused.headers["retry-after"] == "1"


def check_it_takes_writes_and_learns(running: ServiceProcess) -> None:
    wait_until(lambda: works(running)["accepting"])
    event = {"user": "w", "item": "i1", "rating": 3}
    wait_until(lambda: once(running, "", "POST", "/v1/events?wait=learned", [event]).status == 200)
    wait_until(lambda: works(running)["learning"])


def test_a_disk_that_is_nearly_full_makes_the_service_read_only(tmp_path):
    free_mb = shutil.disk_usage(tmp_path).free >> 20
    if free_mb < 6 * SPARE_MB:
        pytest.skip("this needs a disk with some room")
    with service(tmp_path, disk_reserve_mb=free_mb - SPARE_MB) as running:
        with running.client() as client:
            running.wait_until_ready(client)
        fill(running, "")
        ballast = tmp_path / "ballast"
        with ballast.open("wb") as file:
            # blocks, but nothing is written
            os.posix_fallocate(file.fileno(), 0, 2 * SPARE_MB << 20)
        wait_until(lambda: not works(running)["accepting"])
        ready = works(running)
        assert (ready["serving"], ready["learning"], ready["stale_s"]) == (True, False, None)
        assert "disk of the private server is nearly full" in ready["warning"]
        check_reads_go_on_and_writes_do_not(running)
        ballast.unlink()
        check_it_takes_writes_and_learns(running)


@pytest.fixture
def small_disk(tmp_path):
    """A data directory on a disk of its own, of 48 MB."""
    data = tmp_path / "data"
    data.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=48m,mode=700", "tmpfs", str(data)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False).returncode:
        pytest.skip("this needs the right to mount a disk")
    yield data
    subprocess.run(["umount", "-l", str(data)], check=True)


def test_a_disk_without_any_room_ends_the_store_and_nothing_else(tmp_path, small_disk):
    with service(tmp_path, disk_reserve_mb=0, store_patience_ms=PATIENCE_MS) as running:
        with running.client() as client:
            running.wait_until_ready(client)
        fill(running, "")
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        event = {"user": "w", "item": "i1", "rating": 3}
        wait_until(lambda: once(running, "", "POST", "/v1/events", event).status == 503)
        wait_until(lambda: works(running)["stale_s"] is not None)
        check_reads_go_on_and_writes_do_not(running)
        # longer than five starts that fail take
        wait_until(lambda: works(running)["stale_s"] > AWAY_S)
        check_reads_go_on_and_writes_do_not(running)
        ballast.unlink()
        check_it_takes_writes_and_learns(running)
        history = once(running, "", "GET", "/v1/users/u3/ratings").body["items"]
        assert history, "what was acknowledged is there"


def test_memory_that_is_full_refuses_writes_and_says_so(tmp_path):
    with (
        PrivateServer(tmp_path / "store") as store,
        service(tmp_path, redis_url=store.url) as running,
        connect(store.url, role="test") as redis,
    ):
        with running.client() as client:
            running.wait_until_ready(client)
        fill(running, "")
        redis.config_set("maxmemory", 1)
        wait_until(lambda: not works(running)["accepting"])
        assert "give it more memory (maxmemory)" in works(running)["warning"]
        assert "no learner" not in works(running)["warning"]
        check_reads_go_on_and_writes_do_not(running)
        redis.config_set("maxmemory", 0)
        check_it_takes_writes_and_learns(running)
