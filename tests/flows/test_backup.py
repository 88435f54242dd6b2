"""The restore drill: a service that is used is backed up, lost, restored, and goes on as before."""

import http.client
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

from service.processes.commands import COMMAND
from service.store.connection import connect
from service.store.keys import PartitionKeys
from service.store.models.online_snapshot import OnlineSnapshots
from service.store.server.embedded import running_server
from tests.server import wait_until
from tests.service.running import hedgerow, service
from tests.stored import values

pytestmark = pytest.mark.flow

EVENTS, USERS, ITEMS = 1_500, 60, 40
EXACT = ("history:", "trimmed:", "user:", "item:", "online:", "counts:", "users", "item-ids")
"""Beginnings of the names of what must be the same to the bit, however commits were divided."""


def event(number: int) -> dict[str, object]:
    """Return event ``number``, the same in every run; some teach ratings, some do not."""
    about = {"user": f"u{number * 7 % USERS}", "item": f"i{number * 11 % (ITEMS + number // 200)}"}
    what = {"kind": "click"} if number % 5 == 0 else {"rating": 1 + number * 3 % 5}
    return {**about, **what, "timestamp": 1_790_000_000 + number, "event_id": f"e{number}"}


@dataclass
class Posting(threading.Thread):
    """Posts the events from one on, one after another, each acknowledged before the next.

    At ``halt`` it waits until it may ``go_on``.
    """

    url: str
    first: int
    acknowledged: int = 0
    halt: int = EVENTS + 1

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self._goes_on = threading.Event()

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=180)
        for number in range(self.first, EVENTS + 1):
            if number == self.halt:
                self._goes_on.wait()
                # the service has closed it meanwhile; it is opened again
                connection.close()
            body = json.dumps(event(number))
            connection.request("POST", "/v1/events", body, {"content-type": "application/json"})
            answer = connection.getresponse()
            assert answer.status == 202, answer.read()
            answer.read()
            self.acknowledged = number
        connection.close()

    def go_on(self) -> None:
        self._goes_on.set()


def piped(*arguments: str, given: bytes = b"", **environment: str) -> bytes:
    """Run the command line with bytes as its input, and return its output."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        input=given,
        capture_output=True,
        check=False,
        timeout=180,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def learned(data) -> bool:
    with connect(running_server(data), role="test") as client:
        return int(client.hget("hr:{main.0}:state", "watermark") or 0) == EVENTS


def published(data) -> bool:
    """Return whether the follower has written what the online model has learned of all events."""
    with connect(running_server(data), role="test") as client:
        found = OnlineSnapshots(client, PartitionKeys("main", 0))._described()
        return found is not None and found["manifest"]["cuts"]["trained_through"]["0"] == EVENTS


def exact(data) -> dict[object, object]:
    with connect(running_server(data), role="test") as client:
        found = values(client, "main")
    return {key: found[key] for key in found if key[1].decode().startswith(EXACT)}


def lists(url: str) -> dict[str, dict[str, object]]:
    """Return what is asked for, without what names the moment of the answer."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=180)
    found = {}
    for path in (
        *(
            f"/v1/users/u{n}/recommendations?model={m}"
            for n in range(9)
            for m in ("online", "next")
        ),
        *(f"/v1/users/u{n}/ratings" for n in range(9)),
        *(f"/v1/users/u{n}/predictions/i{n}" for n in range(9)),
        "/v1/popular",
    ):
        connection.request("GET", path)
        answer = connection.getresponse()
        body = json.loads(answer.read())
        assert answer.status == 200, body
        found[path] = {name: one for name, one in body.items() if name != "rec_id"}
    connection.close()
    return found


def test_a_backup_under_load_is_restored_and_goes_on_to_the_same_bits(room):
    data, backups = room / "data", room / "backups"
    backups.mkdir()
    environment = {"HEDGEROW_DATA_DIR": str(data)}
    taken = []
    with service(room, online_snapshot_s=0.1) as running, running.client() as api:
        running.wait_until_ready(api)
        # the last events come after the last backup, however long that takes
        posting = Posting(running.url, 1, halt=int(EVENTS * 0.95))
        posting.start()
        for share in (0.3, 0.5, 0.7):
            wait_until(lambda share=share: posting.acknowledged > EVENTS * share)
            done = hedgerow("backup", str(backups), "--increments", "2", "--json", **environment)
            assert done.returncode == 0, done.stderr
            taken.append(json.loads(done.stdout))
        posting.go_on()
        posting.join()
        wait_until(lambda: learned(data))
        before = exact(data)
    assert [one["parent"] is None for one in taken] == [True, False, False]
    told = json.loads(hedgerow("verify", str(backups), "--json").stdout)
    assert [one["id"] for one in told["backups"]] == [one["id"] for one in taken]
    [cut] = taken[-1]["sequences"]
    assert EVENTS * 0.7 <= cut < EVENTS

    shutil.rmtree(data / "redis")
    done = hedgerow("restore", str(backups), "--json", **environment)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["sequences"], told["faults"]) == ([cut], [])
    with service(room, online_snapshot_s=0.1) as running, running.client() as api:
        running.wait_until_ready(api)
        posting = Posting(running.url, cut + 1)
        posting.start()
        posting.join()
        wait_until(lambda: learned(data))
        assert exact(data) == before


def settled(url: str) -> dict[str, dict[str, object]]:
    """Return the lists once all that follows the learner has come to the end, too."""
    pause, found = threading.Event(), lists(url)
    for _ in range(100):
        pause.wait(2.0)
        before, found = found, lists(url)
        # a busy api process may not have read the learner's first snapshot for some seconds
        makers = {str(one.get("model_version")) for one in found.values() if "strategy" in one}
        if before == found and "next" in makers and any("online-" in one for one in makers):
            return found
    pytest.fail("the lists do not settle")


def assert_soon(found: Callable[[], object], wanted: object) -> None:
    """Fail with the difference if what is found does not become what is wanted."""
    pause = threading.Event()
    for _ in range(120):
        if found() == wanted:
            return
        pause.wait(0.5)
    assert found() == wanted


@pytest.mark.slow
def test_a_restored_service_answers_as_before(room):
    data = room / "data"
    with service(room, online_snapshot_s=0.1) as running, running.client() as api:
        running.wait_until_ready(api)
        Posting(running.url, 1).run()
        wait_until(lambda: learned(data) and published(data))
        before = settled(running.url)
    elsewhere = room / "b"
    elsewhere.mkdir()
    # while nothing runs, through a pipe, as to another machine
    sent = piped("backup", "-", HEDGEROW_DATA_DIR=str(data))
    piped("restore", "-", given=sent, HEDGEROW_DATA_DIR=str(elsewhere / "data"))
    with service(elsewhere, online_snapshot_s=0.1) as running, running.client() as api:
        running.wait_until_ready(api)
        wait_until(lambda: published(elsewhere / "data"))
        assert_soon(lambda: lists(running.url), before)
