import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from service.cli import openapi
from service.cli.main import COMMANDS, load
from service.processes.child import ServiceProcess
from service.processes.commands import COMMAND
from tests.server import wait_until
from tests.service.running import hedgerow, is_gone, service

pytestmark = pytest.mark.flow


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with service(tmp_path_factory.mktemp("cli")) as whole:
        with whole.client() as client:
            client.wait_until_ready()
        yield whole


def test_help_lists_every_verb_and_imports_none_of_them() -> None:
    code = "import sys; sys.argv = ['hedgerow', '--help']\n" + (
        "from service.cli.main import run\n"
        "try: run()\n"
        "except SystemExit: pass\n"
        "heavy = {'numba', 'numpy', 'redis', 'fastapi', 'pydantic'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for verb, (_, meaning) in COMMANDS.items():
        assert f"{verb} " in said.stdout
        assert meaning.split()[0] in said.stdout


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_verb_has_a_help_of_its_own(verb: str) -> None:
    assert load(verb).help


def test_the_version_is_printed() -> None:
    said = hedgerow("--version")
    assert (said.returncode, said.stdout) == (0, f"hedgerow {version('hedgerow')}\n")


def test_a_misspelt_verb_is_answered_with_the_nearest_one() -> None:
    said = hedgerow("serv")
    assert said.returncode == 2
    assert "Did you mean 'serve'?" in said.stderr


@pytest.mark.parametrize("verb", [("import", "x.csv"), ("retrain",)])
def test_a_url_without_a_scheme_is_refused_at_once(verb: tuple[str, ...]) -> None:
    done = hedgerow(*verb, "--url", "localhost:8765")
    assert done.returncode == 2
    said = "hedgerow: --url must begin with http:// or https://, not 'localhost:8765'"
    assert done.stderr.splitlines() == [said]


@pytest.mark.parametrize("role", ["api", "learner"])
def test_a_role_of_its_own_needs_a_given_redis(role: str) -> None:
    said = hedgerow(role)
    assert said.returncode == 2
    assert "HEDGEROW_REDIS_URL" in said.stderr
    assert "Traceback" not in said.stderr


@pytest.mark.parametrize("role", ["api", "learner", "trainer", "serve"])
def test_a_redis_that_does_not_answer_is_one_clear_line(role: str) -> None:
    said = hedgerow(role, HEDGEROW_REDIS_URL="unix:///nowhere/s", HEDGEROW_PORT="0")
    assert said.returncode == 2
    assert len(said.stderr.splitlines()) == 1
    assert "does not answer" in said.stderr


def test_serve_connects_to_a_given_redis_before_it_compiles(tmp_path: Path) -> None:
    given = "redis://me:secret@127.0.0.1:1/0"
    # an empty cache: nothing is compiled
    said = hedgerow("serve", HEDGEROW_REDIS_URL=given, NUMBA_CACHE_DIR=str(tmp_path))
    assert said.returncode == 2
    [line] = said.stderr.splitlines()
    assert "HEDGEROW_REDIS_URL=redis://me:***@127.0.0.1:1/0: Redis does not answer" in line
    assert "secret" not in line


def test_an_api_process_logs_its_address(redis_url: str, namespace: str) -> None:
    given = {"HEDGEROW_REDIS_URL": redis_url, "HEDGEROW_NAMESPACE": namespace}
    command = [*COMMAND, "api", "--port", "0"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | given,
    ) as api:
        assert api.stdout is not None
        said = api.stdout.readline()
        api.terminate()
    assert said.startswith("Hedgerow listens on http://127.0.0.1:")
    assert not said.endswith(":0\n")


def test_keys_are_made_shown_once_listed_and_revoked(tmp_path: Path) -> None:
    directory = ("--data-dir", str(tmp_path))
    made = json.loads(
        hedgerow("keys", "create", *directory, "--role", "admin", "--name", "shop", "--json").stdout
    )
    assert made["key"].startswith(f"hr_{made['id']}_")
    [listed] = json.loads(hedgerow("keys", "list", *directory, "--json").stdout)
    assert (listed["id"], listed["role"], listed["name"]) == (made["id"], "admin", "shop")
    assert made["key"] not in json.dumps(listed)
    assert hedgerow("keys", "revoke", made["id"], *directory).returncode == 0
    [listed] = json.loads(hedgerow("keys", "list", *directory, "--json").stdout)
    assert listed["revoked"]


def test_a_first_key_that_is_no_admin_key_is_refused(tmp_path: Path) -> None:
    directory = ("--data-dir", str(tmp_path))
    refused = hedgerow("keys", "create", *directory, "--role", "read")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the first key must have the role `admin`" in refused.stderr
    assert json.loads(hedgerow("keys", "list", *directory, "--json").stdout) == []
    assert hedgerow("keys", "create", *directory).returncode == 0
    assert hedgerow("keys", "create", *directory, "--role", "read").returncode == 0


def test_a_key_may_have_an_end_within_the_calendar(tmp_path: Path) -> None:
    directory = ("--data-dir", str(tmp_path))
    assert hedgerow("keys", "create", *directory).returncode == 0
    for days in ("0", "36501", "nan"):
        refused = hedgerow("keys", "create", *directory, "--days", days)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "--days must be more than 0 and at most 36500" in refused.stderr
    made = json.loads(hedgerow("keys", "create", *directory, "--days", "36500", "--json").stdout)
    first, last = json.loads(hedgerow("keys", "list", *directory, "--json").stdout)
    assert first["expires"] is None
    assert last["expires"] == made["expires"]
    for time in (last["created"], last["expires"]):
        assert "T" in time
        assert datetime.fromisoformat(time).tzinfo is UTC


def test_keys_of_a_namespace_that_is_not_there_are_warned_about(running: ServiceProcess) -> None:
    directory = ("--data-dir", str(running.log.parent))
    for verb in (["create"], ["list"], ["revoke", "nothing"]):
        said = hedgerow("keys", *verb, *directory, HEDGEROW_NAMESPACE="mian").stderr
        assert "warning: the store has no namespace mian (there are: main)" in said
        assert "no namespace" not in hedgerow("keys", "list", *directory).stderr


def test_the_audit_log_of_a_namespace_that_is_not_there_is_not_just_empty(
    running: ServiceProcess,
) -> None:
    said = hedgerow(
        "audit", "--data-dir", str(running.log.parent), "--json", HEDGEROW_NAMESPACE="nowhere"
    )
    assert (said.returncode, said.stdout) == (2, "")
    assert "there is no namespace nowhere" in said.stderr


def test_a_key_that_is_not_there_cannot_be_revoked(running: ServiceProcess) -> None:
    said = hedgerow("keys", "revoke", "nothing", "--data-dir", str(running.log.parent))
    assert said.returncode == 2
    assert "no key" in said.stderr


@pytest.mark.parametrize("verb", [["export"], ["rebuild"], ["keys", "list"]])
def test_a_verb_that_reads_makes_no_data_directory(verb: list[str], tmp_path: Path) -> None:
    said = hedgerow(*verb, "--data-dir", str(tmp_path / "elsewhere"))
    assert said.returncode == 2
    assert "--data-dir" in said.stderr
    assert not (tmp_path / "elsewhere").exists()


def test_doctor_finds_a_running_service_well(running: ServiceProcess) -> None:
    said = hedgerow("doctor", "--json", "--data-dir", str(running.log.parent))
    report = json.loads(said.stdout)
    assert report["durable"] is True
    assert report["namespace"]["name"] == "main"
    assert report["partition 0"]["leader"]
    told = hedgerow("doctor", "--data-dir", str(running.log.parent))
    assert (told.returncode, told.stderr) == (0, "nothing is wrong\n")


def test_doctor_says_what_is_wrong_and_ends_with_1(running: ServiceProcess) -> None:
    data_dir = str(running.log.parent)
    said = hedgerow("doctor", "--data-dir", data_dir, HEDGEROW_SCALE="0:10")
    assert said.returncode == 1
    *things, summary = said.stderr.splitlines()
    assert any("HEDGEROW_SCALE=1:5" in thing for thing in things)
    assert summary == f"{len(things)} thing{'s' if len(things) > 1 else ''} to look at"


def test_doctor_says_what_a_learner_would_refuse(running: ServiceProcess) -> None:
    data_dir = str(running.log.parent)
    said = hedgerow("doctor", "--data-dir", data_dir, HEDGEROW_EXPERTS="paper")
    assert said.returncode == 1
    assert "partition 0: the stored rows belong to another set of experts" in said.stderr
    assert "HEDGEROW_EXPERTS" in said.stderr


def test_doctor_hides_the_password_of_the_store() -> None:
    url = "redis://me:geheim@127.0.0.1:1/0"
    said = hedgerow("doctor", "--json", HEDGEROW_REDIS_URL=url)
    assert said.returncode == 1
    assert "geheim" not in said.stdout + said.stderr
    assert json.loads(said.stdout)["settings"]["redis_url"] == "redis://me:***@127.0.0.1:1/0"


def test_a_rebuild_changes_nothing_and_the_service_goes_on(running: ServiceProcess) -> None:
    def predicted() -> Any:
        answer = client.get("/v1/users/ann/predictions/a", min_sequence=sequence)
        return {name: answer[name] for name in ("rating", "low", "high", "experts")}

    rows = [{"user": user, "item": item, "rating": 4} for user in ("ann", "bob") for item in "abc"]
    with running.client() as client:
        sequence = client.post("/v1/ratings", rows)["sequence"]
        before = predicted()
        rebuilt = hedgerow("rebuild", "--json", "--data-dir", str(running.log.parent))
        [partition] = json.loads(rebuilt.stdout)
        assert rebuilt.returncode == 0
        assert partition["learned"] == len(rows)
        assert predicted() == before
        more = client.post("/v1/ratings", {"user": "cy", "item": "a", "rating": 1})["sequence"]
        client.wait_until_learned(more)


def test_the_openapi_document_needs_no_redis_and_ignores_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = openapi.document()
    monkeypatch.setenv("HEDGEROW_MAX_ARRAY", "7")
    assert openapi.document() == plain
    assert json.loads(plain)["openapi"].startswith("3.")


def test_the_demo_shows_learning_and_leaves_nothing_behind(tmp_path: Path) -> None:
    said = hedgerow("demo", "--seconds", "3", "--port", "0", "--rate", "100", TMPDIR=str(tmp_path))
    assert said.returncode == 0, said.stderr
    assert "curl http://127.0.0.1:" in said.stdout
    assert " ratings · error " in said.stdout
    assert not list(tmp_path.iterdir())


def test_the_demo_ends_on_sigterm_with_all_that_it_started(tmp_path: Path) -> None:
    directory = tmp_path / "demo"
    command = [*COMMAND, "demo", "--port", "0", "--data-dir", str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as demo:
        wait_until(lambda: "learner_started" in text(directory / "serve.log"))
        pids = [event["pid"] for event in events(directory / "serve.log") if "pid" in event]
        demo.send_signal(signal.SIGTERM)
        demo.communicate(timeout=180)
    assert pids
    assert all(is_gone(pid) for pid in pids)


def test_a_small_bench_has_all_its_figures() -> None:
    said = hedgerow("bench", "--ratings", "2000", "--requests", "20", "--json")
    figures = json.loads(said.stdout)
    assert figures["ratings"] == 2000
    assert all(figures[name] > 0 for name in figures if name.endswith(("second", "ms")))


def text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def events(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text(log).splitlines() if line.startswith("{")]
