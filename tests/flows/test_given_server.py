"""The whole service with a server of the operator's: few rights, a failover, a long start."""

import os
import re
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis

from service.cli.clients.watching import watch
from service.processes.child import ServiceProcess
from tests.docs.pages import ROOT
from tests.given_server import (
    SLOWLY,
    Certificates,
    GivenServer,
    Sentinel,
    needs_tls,
    says_loading,
)
from tests.server import wait_until
from tests.service.running import hedgerow, logged, service, started

pytestmark = pytest.mark.flow

EVENTS = [
    {"user": f"u{n}", "item": f"i{n * m % 30}", "rating": 1 + (n + m) % 5}
    for n in range(40)
    for m in range(1, 9)
]
PAGE = ROOT / "docs" / "how-to" / "run-for-real.md"


def documented_user() -> list[str]:
    """The command that the page gives for a user with few rights."""
    [line] = re.findall(r"^(ACL SETUSER .+)$", PAGE.read_text(), re.MULTILINE)
    return line.replace("PASSWORD", "geheim").split()


def test_the_documented_rights_are_enough_for_all_that_the_service_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_tls()
    certificates = Certificates(tmp_path / "certificates")
    with GivenServer(tmp_path / "store", tls=certificates, requirepass="root") as store:
        with store.admin() as admin:
            admin.execute_command(*documented_user())
        secret = tmp_path / "password"
        secret.write_text("geheim")
        monkeypatch.setenv("HEDGEROW_REDIS_PASSWORD_FILE", str(secret))
        url = store.url("recommender", "localhost")
        given = {"redis_url": url, "redis_password": "geheim", "redis_ca_file": certificates.ca}
        with service(tmp_path, **given) as running, running.client() as client:
            running.wait_until_ready(client)
            client.wait_until_learned(client.post("/v1/events", EVENTS)["sequence"])
            job = watch(client, client.post("/v1/retrain", {"model": "fbgd", "budget_s": 0}))
            assert job["status"] == "succeeded", job
            for pid in (running.pid, *(pids[-1] for pids in started(running).values())):
                assert b"geheim" not in Path(f"/proc/{pid}/environ").read_bytes()
            variables = {
                "HEDGEROW_REDIS_URL": url,
                "HEDGEROW_REDIS_CA_FILE": str(certificates.ca),
                "HEDGEROW_DATA_DIR": str(tmp_path / "data"),
            }
            copy = str(tmp_path / "copy.backup")
            for words, namespace in (("backup", "main"), ("restore", "copy"), ("verify", "copy")):
                said = hedgerow(words, copy, HEDGEROW_NAMESPACE=namespace, **variables)
                assert said.returncode == 0, said.stderr
            assert "permission" not in hedgerow("doctor", **variables).stderr
    assert not [event for event in logged(running) if "permission" in str(event)]
    assert "Warning" not in running.log.read_text(), "the log has lines of JSON alone"


def answers(running: ServiceProcess, method: str, path: str, body: Any = None) -> Any:
    """Send one request as it is; returns the response."""
    return httpx.request(method, running.url + path, json=body, timeout=180)


def says(running: ServiceProcess, event: str) -> bool:
    """Whether the log has an event; a service that starts may have no log yet."""
    return running.log.exists() and event in [one["event"] for one in logged(running)]


@contextmanager
def as_soon_as(moment: Callable[[], bool], act: Callable[[], object]) -> Iterator[None]:
    """Act when the moment has come, while the body runs; fail if it never comes."""
    with ThreadPoolExecutor(1) as beside:
        acted = beside.submit(lambda: (wait_until(moment), act()))
        yield
        acted.result()


def accepts(running: ServiceProcess) -> bool:
    """Whether `/readyz` says that the service takes writes; a problem says that it does not."""
    return bool(answers(running, "GET", "/readyz").json().get("accepting"))


def test_while_the_server_is_a_replica_reads_go_on_and_writes_are_refused(tmp_path: Path) -> None:
    with (
        GivenServer(tmp_path / "a") as store,
        GivenServer(tmp_path / "b") as other,
        store.admin() as a,
        other.admin() as b,
        service(tmp_path, redis_url=store.url()) as running,
        running.client() as client,
    ):
        running.wait_until_ready(client)
        client.wait_until_learned(client.post("/v1/events", EVENTS)["sequence"])
        wait_until(lambda: client.get("/v1/popular")["items"])
        b.replicaof("127.0.0.1", str(store.port))
        wait_until(lambda: b.info("replication").get("master_link_status") == "up")
        # a failover: the other is the primary now, and the address still leads to this one
        b.replicaof("NO", "ONE")
        a.replicaof("127.0.0.1", str(other.port))
        wait_until(lambda: a.info("replication").get("master_link_status") == "up")
        wait_until(lambda: not accepts(running))
        refused = answers(running, "POST", "/v1/events", EVENTS[0])
        assert (refused.status_code, refused.json()["code"]) == (503, "store_unavailable")
        assert refused.headers["retry-after"] == "1"
        assert "a read-only replica" in answers(running, "GET", "/readyz").json()["warning"]
        for path in ("/v1/popular", "/v1/users/u3/recommendations", "/v1/users/u3/ratings"):
            assert answers(running, "GET", path).json()["items"]
        # a process that has to start meanwhile reads, too
        [pid] = started(running)["api-0"]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: len(started(running)["api-0"]) > 1)
        wait_until(lambda: client.get("/v1/users/u3/ratings")["items"])

        a.replicaof("NO", "ONE")
        wait_until(lambda: accepts(running))
        sequence = client.post("/v1/events", EVENTS[0] | {"item": "later"})["sequence"]
        client.wait_until_learned(sequence)
        assert "later" in [one["item"] for one in client.get("/v1/users/u0/ratings")["items"]]


@pytest.mark.slow
def test_after_a_failover_by_sentinel_the_service_goes_on_with_the_new_primary(
    tmp_path: Path,
) -> None:
    with (
        GivenServer(tmp_path / "a") as first,
        GivenServer(tmp_path / "b", replicaof=f"127.0.0.1 {first.port}") as second,
        second.admin() as b,
        Sentinel(tmp_path / "sentinel", first, replicas=1) as sentinel,
        service(tmp_path, redis_url=sentinel.url()) as running,
        running.client() as client,
    ):
        running.wait_until_ready(client)
        client.wait_until_learned(client.post("/v1/events", EVENTS)["sequence"])
        with first.admin() as a:
            wait_until(lambda: has_all_of(a, b))
        first.kill()
        wait_until(lambda: is_primary(b))
        wait_until(lambda: accepts(running))
        sequence = client.post("/v1/events", EVENTS[0] | {"item": "later"})["sequence"]
        client.wait_until_learned(sequence)
        found = {row["item"] for row in client.get("/v1/users/u0/ratings")["items"]}
        assert found == {"later"} | {one["item"] for one in EVENTS if one["user"] == "u0"}
        assert client.get("/v1/stats")["rollbacks"] == []
        # what was the primary comes back as a replica, and is not asked
        first.start()
        with first.admin() as a:
            wait_until(lambda: a.info("replication")["role"] == "slave")
        client.wait_until_learned(client.post("/v1/events", EVENTS[1])["sequence"])


def is_primary(admin: Any) -> bool:
    """Whether a server is the primary; what makes it one ends its connections."""
    try:
        return bool(admin.info("replication")["role"] == "master")
    except redis.exceptions.ConnectionError:
        return False


def has_all_of(primary: Any, replica: Any) -> bool:
    """Whether a replica has received all that its primary wrote."""
    wrote = primary.info("replication")["master_repl_offset"]
    return bool(replica.info("replication").get("slave_repl_offset") == wrote)


def test_a_server_that_loads_its_files_is_waited_for(tmp_path: Path) -> None:
    with GivenServer(tmp_path / "store") as store:
        with (
            service(tmp_path, redis_url=store.url()) as running,
            running.client() as client,
            store.admin() as admin,
        ):
            running.wait_until_ready(client)
            client.wait_until_learned(client.post("/v1/events", EVENTS)["sequence"])
            wait_until(lambda: client.get("/v1/popular")["items"])
            store.restart_slowly()
            wait_until(lambda: not accepts(running))
            refused = answers(running, "POST", "/v1/events", EVENTS[0])
            assert (refused.status_code, refused.json()["code"]) == (503, "store_unavailable")
            assert refused.headers["retry-after"] == "1"
            assert answers(running, "GET", "/v1/popular").status_code == 200
            assert says_loading(admin), "the server was ready too early for this test"
            admin.config_set("key-load-delay", 0)
            wait_until(lambda: accepts(running))
        store.stop()
        store.start(**SLOWLY)
        again = service(tmp_path / "again", redis_url=store.url())
        with (
            store.admin() as admin,
            as_soon_as(
                lambda: says(again, "store_loading"), lambda: admin.config_set("key-load-delay", 0)
            ),
            again,
            again.client() as client,
        ):
            again.wait_until_ready(client)
            assert client.get("/v1/users/u3/ratings")["items"]
