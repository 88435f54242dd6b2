import asyncio
import gc
import os
import signal
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
import redis

from service.errors import Misconfigured
from service.processes.child import ServiceProcess
from service.processes.commands import COMMAND
from service.processes.listening import listen, url_of
from service.processes.supervised import ENDS_ALLOWED, LONGEST_PAUSE_S, Supervised
from service.processes.supervisor import Supervisor
from service.settings import Settings
from service.store.connection import connect
from service.store.namespace import open_namespace
from service.store.server.embedded import stop_leftover
from tests.server import PrivateServer, wait_until
from tests.service.running import is_gone, service, started, store_pid

pytestmark = pytest.mark.flow

RATING = {"user": "ada", "item": "a", "rating": 4}


def everything(running: ServiceProcess) -> list[int]:
    """The supervisor first."""
    return [running.pid, store_pid(running), *(pids[-1] for pids in started(running).values())]


def test_the_whole_service_answers_and_leaves_no_process_behind(tmp_path: Path) -> None:
    with service(tmp_path, api_processes=2) as running:
        with running.client() as client:
            client.wait_until_ready()
            assert client.post("/v1/ratings", [RATING], wait="learned")["accepted"] == 1
        pids = everything(running)
        assert set(started(running)) == {"learner-0", "trainer", "api-0", "api-1"}
    assert all(is_gone(pid) for pid in pids)
    told = running.log.read_text()
    assert (
        -1
        < told.find("service_loading")
        < told.find("kernels_loaded")
        < told.find("service_stopped")
    )
    assert not (tmp_path / "data" / "server.json").exists()


def test_a_killed_role_is_restarted_and_nothing_is_lost(tmp_path: Path) -> None:
    with service(tmp_path) as running, running.client() as client:
        client.wait_until_ready()
        client.post("/v1/ratings", [RATING], wait="learned")
        for item, name in (("b", "learner-0"), ("c", "api-0"), ("d", "store")):
            pid = store_pid(running) if name == "store" else started(running)[name][-1]
            os.kill(pid, signal.SIGKILL)
            wait_until(partial(is_gone, pid))
            sequence = client.post("/v1/ratings", RATING | {"item": item})["sequence"]
            client.wait_until_learned(sequence)
        history = client.get("/v1/users/ada/ratings")["items"]
        assert sorted(event["item"] for event in history) == ["a", "b", "c", "d"]
    assert '"detail": "ended by SIGKILL; it is started again"' in running.log.read_text()


def test_when_the_supervisor_is_killed_everything_ends(tmp_path: Path) -> None:
    with service(tmp_path) as running:
        with running.client() as client:
            client.wait_until_ready()
        pids = everything(running)
        os.kill(running.pid, signal.SIGKILL)
        for pid in pids[1:]:
            wait_until(partial(is_gone, pid))
        # like the next start on this data directory, which finds the socket's directory
        stop_leftover(tmp_path / "data" / "server.json")


def ending_with(code: int) -> tuple[str, ...]:
    """A command that ends at once."""
    return sys.executable, "-c", f"raise SystemExit({code})"


def test_a_child_that_keeps_ending_stops_the_service() -> None:
    said = pytest.raises(Misconfigured, match=f"ended {ENDS_ALLOWED} times.*exit code 3")
    with closing(listen("127.0.0.1", 0)) as listener, said:
        keeper = Supervisor(Settings(), None, listener, command=ending_with(3), first_pause_s=0.001)
        asyncio.run(keeper.run())


def test_a_child_whose_settings_do_not_fit_is_not_started_again() -> None:
    said = pytest.raises(Misconfigured, match="cannot run")
    with closing(listen("127.0.0.1", 0)) as listener, said:
        asyncio.run(Supervisor(Settings(), None, listener, command=ending_with(2)).run())


def test_a_learner_that_is_replaced_over_and_over_is_no_failure() -> None:
    child = Supervised("learner-0", [])
    assert [child.ended_too_often(second) for second in (0, 8, 16, 24, 32, 33)] == [
        False,
        False,
        False,
        False,
        False,
        True,
    ]
    assert child.pause_s() <= LONGEST_PAUSE_S


def refusal(*arguments: str, **environment: str) -> str:
    """Return the output of a `hedgerow serve` that does not start."""
    done = subprocess.run(
        [*COMMAND, "serve", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
        timeout=180,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_public_address_is_refused_while_there_is_no_key(tmp_path: Path) -> None:
    everywhere = "0.0.0.0"  # noqa: S104 - refused before anything listens
    said = refusal("--host", everywhere, "--port", "0", "--data-dir", str(tmp_path))
    assert f"`hedgerow keys create --data-dir {tmp_path}`" in said


def test_a_port_in_use_is_an_error_with_advice(tmp_path: Path) -> None:
    with closing(listen("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "--port" in refusal("--port", port, "--data-dir", str(tmp_path))


def test_another_number_of_partitions_is_refused_in_one_line(
    redis_url: str, namespace: str
) -> None:
    with connect(redis_url, role="test") as client:
        open_namespace(client, Settings(namespace=namespace))
    given = {"HEDGEROW_REDIS_URL": redis_url, "HEDGEROW_NAMESPACE": namespace}
    said = refusal("--port", "0", HEDGEROW_PARTITIONS="2", HEDGEROW_LOG_LEVEL="error", **given)
    [line] = said.splitlines()
    assert "Set HEDGEROW_PARTITIONS=1" in line


def test_children_that_fail_together_are_one_problem(capfd: pytest.CaptureFixture[str]) -> None:
    said = pytest.raises(Misconfigured, match="cannot run")
    with closing(listen("127.0.0.1", 0)) as listener, said:
        settings = Settings(partitions=4)
        asyncio.run(Supervisor(settings, None, listener, command=ending_with(2)).run())
    gc.collect()
    assert "never retrieved" not in capfd.readouterr().err


def test_an_unknown_setting_stops_the_start(tmp_path: Path) -> None:
    said = refusal("--data-dir", str(tmp_path), HEDGEROW_PARTITION="2")
    assert "did you mean HEDGEROW_PARTITIONS?" in said


def test_a_given_server_that_may_evict_is_refused(private_server: PrivateServer) -> None:
    with redis.Redis.from_url(private_server.url) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
    assert "noeviction" in refusal(HEDGEROW_REDIS_URL=private_server.url)


def test_the_address_of_a_listening_socket_is_logged() -> None:
    with closing(listen("127.0.0.1", 0)) as listener:
        assert url_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
