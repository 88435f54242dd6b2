"""A store that loses what it acknowledged: nothing is ever stored under another item."""

import os
import shutil
import signal

import pytest

from service.processes.child import ServiceProcess
from service.store.connection import connect
from tests.flows.faulty_store import Store, all_learned, misplaced, request, stored, world
from tests.server import wait_until
from tests.service.running import hedgerow, service, started

pytestmark = pytest.mark.flow


def older_copy(store: Store, more) -> None:
    store.keep_a_copy()
    more()
    store.go_back_to_the_copy()


def lost_tail(store: Store, more) -> None:
    more()
    store.lose_the_tail()


def lagging_replica(store: Store, more) -> None:
    """The replica is promoted before the last events reach it."""
    store.promote_a_replica(more)


@pytest.mark.parametrize(
    "fault", [older_copy, lost_tail, pytest.param(lagging_replica, marks=pytest.mark.slow)]
)
def test_a_store_that_went_back_is_noticed_and_never_corrupted(room, namespace, fault):
    with (
        Store(room) as store,
        world(room, store.url, namespace) as here,
        connect(store.url, role="test") as client,
    ):
        here.goes_on(100)
        fault(store, lambda: here.goes_on(100))
        before = len(here.posting.acknowledged)
        here.goes_on(100)
        after = here.posting.acknowledged[before + 1 :]
        here.posting.end()
        wait_until(lambda: all_learned(client, namespace))

        assert misplaced(client, namespace) == []
        found = {int(user[1:]) for user, _ in stored(client, namespace)}
        assert set(after) <= found
        assert not set(here.posting.acknowledged) <= found, "the fault has lost nothing"
        status, stats = here.get("/v1/stats")
        assert status == 200
        [lost] = stats["rollbacks"]
        assert lost["era"] == 1
        assert lost["known"]["sequences"] > lost["found"]["sequences"]
        assert here.get("/readyz")[0] == 200


def flushed(store: Store) -> None:
    with connect(store.url, role="test") as client:
        client.flushall()


def replaced(store: Store) -> None:
    store.replace_by_an_empty_one()


@pytest.mark.parametrize("fault", [flushed, pytest.param(replaced, marks=pytest.mark.slow)])
def test_an_emptied_store_is_refused_until_an_operator_accepts_it(room, namespace, fault):
    with (
        Store(room) as store,
        world(room, store.url, namespace) as here,
        connect(store.url, role="test") as client,
    ):
        here.goes_on(50)
        fault(store)
        wait_until(here.refused)
        status, problem = here.post("ada", "i1")
        assert (status, problem["code"]) == (503, "store_rolled_back")
        assert "partition 0: " in problem["detail"]
        assert "doctor --repair" in problem["detail"]
        wait_until(lambda: here.get("/readyz")[0] == 503)
        assert "store" in here.get("/readyz")[1]["detail"]
        acknowledged = len(here.posting.acknowledged)
        refused = len(here.posting.answers)
        # the keys are read again meanwhile
        for _ in range(20):
            assert here.get("/v1/users/u1/recommendations")[0] == 200
            assert here.get("/v1/popular")[0] == 200
            here.posting.stop.wait(0.1)
        wait_until(lambda: len(here.posting.answers) > refused + 50)
        assert len(here.posting.acknowledged) == acknowledged
        # the learner and the trainer wait; neither begins anything in a store that is not known
        assert client.keys("hr:*state") == client.keys("hr:*:namespace") == []
        assert all(role.alive for role in here.roles.values())

        told = here.hedgerow("doctor", "--repair")
        assert told.returncode == 1
        assert "create the namespace" in told.stderr
        assert "nothing was done" in told.stderr
        assert client.keys("hr:*:namespace") == []
        assert here.hedgerow("doctor", "--repair", "--yes").returncode == 0
        here.goes_on(50)
        here.posting.end()
        after = here.posting.acknowledged[acknowledged:]
        wait_until(lambda: all_learned(client, namespace))
        assert misplaced(client, namespace) == []
        assert {int(user[1:]) for user, _ in stored(client, namespace)} == set(after)
        assert all(role.alive for role in here.roles.values())
        wait_until(lambda: here.get("/readyz")[0] == 200)


def test_a_lost_manifest_is_told_and_written_again(room):
    """Today's servers start empty without it, and say nothing."""
    with service(room) as running, running.client() as api:
        running.wait_until_ready(api)
        for number in range(20):
            body = {"user": f"u{number}", "item": f"i{number}", "rating": 3}
            assert request(port_of(running), "POST", "/v1/events", body)[0] == 202
    data = room / "data"
    [manifest] = data.rglob("*.manifest")
    manifest.unlink()
    environment = {"HEDGEROW_DATA_DIR": str(data)}
    refused = hedgerow("serve", "--port", "0", **environment)
    assert refused.returncode == 2
    assert "manifest is lost" in refused.stderr
    assert "doctor --repair" in refused.stderr
    told = hedgerow("doctor", "--repair", **environment)
    assert told.returncode == 1
    assert "type b" in told.stderr
    assert hedgerow("doctor", "--repair", "--yes", **environment).returncode == 0
    with service(room) as running, running.client() as api:
        running.wait_until_ready(api)
        stats = request(port_of(running), "GET", "/v1/stats")[1]
        assert (stats["items"], stats["partitions"][0]["appended"]) == (20, 20)
        assert stats["rollbacks"] == []


def test_files_that_are_gone_are_told_at_the_start(room):
    with service(room) as running, running.client() as api:
        running.wait_until_ready(api)
        body = {"user": "ada", "item": "i1", "rating": 3}
        assert request(port_of(running), "POST", "/v1/events", body)[0] == 202
    shutil.rmtree(room / "data" / "redis")
    environment = {"HEDGEROW_DATA_DIR": str(room / "data")}
    refused = hedgerow("serve", "--port", "0", **environment)
    assert refused.returncode == 2
    assert "partition 0: 1 events; 1 items" in refused.stderr
    assert "doctor --repair" in refused.stderr
    assert hedgerow("doctor", "--repair", "--yes", **environment).returncode == 0
    with service(room) as running, running.client() as api:
        running.wait_until_ready(api)


@pytest.mark.slow
def test_a_service_outlives_an_emptied_store_and_the_end_of_an_api_process(room, private_server):
    with service(room, redis_url=private_server.url) as running, running.client() as api:
        running.wait_until_ready(api)
        body = {"user": "ada", "item": "i1", "rating": 3}
        assert request(port_of(running), "POST", "/v1/events", body)[0] == 202
        with connect(private_server.url, role="test") as client:
            client.flushall()
        os.kill(started(running)["api-0"][-1], signal.SIGKILL)
        wait_until(lambda: len(started(running)["api-0"]) >= 7)
        assert running.alive
        environment = {
            "HEDGEROW_DATA_DIR": str(room / "data"),
            "HEDGEROW_REDIS_URL": private_server.url,
        }
        assert hedgerow("doctor", "--repair", "--yes", **environment).returncode == 0
        wait_until(lambda: request(port_of(running), "GET", "/readyz")[0] == 200)
        assert request(port_of(running), "POST", "/v1/events", body)[0] == 202


def port_of(running: ServiceProcess) -> int:
    return int(running.url.rpartition(":")[2])
