"""The image gets every file that the Dockerfile copies; containers may do little and are pinned."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis

from service.ending import end_process
from service.settings import Settings
from service.store.connection import connect
from service.store.server.given import check_given
from service.store.server.inspection import inspect_server
from service.store.server.program import find_server
from tests.deploy.tools import ask, read_yaml
from tests.docs.pages import ROOT
from tests.given_server import GivenServer, says_loading
from tests.server import wait_until

DOCKERFILE = (ROOT / "Dockerfile").read_text()
COPIED = {
    source
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    for source in line.split()[:-1]
    if not source.startswith("--")
}


def test_what_is_copied_is_there_and_not_ignored() -> None:
    ignored, *let_in = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored == "*"
    assert {f"!{source.removesuffix('/start')}" for source in COPIED} <= set(let_in)
    assert all((ROOT / source).exists() for source in COPIED)


def test_every_package_is_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["setuptools"]["packages"]["find"]["include"]
    assert {name.removesuffix("*") for name in packages} <= COPIED


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """What docker-compose.yml says, as a YAML parser reads it."""
    [read] = read_yaml((ROOT / "docker-compose.yml").read_text())
    return dict(read)


def test_compose_accepts_its_file() -> None:
    ask("check-jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml")


def test_the_linter_finds_nothing_in_the_dockerfile_and_the_shell_nothing_in_its_start() -> None:
    ask("hadolint", "Dockerfile")
    subprocess.run(["sh", "-n", str(ROOT / "deploy/image/start")], check=True)


def test_every_container_may_do_little(compose: dict[str, Any]) -> None:
    for name, one in compose["services"].items():
        assert one["read_only"], name
        assert one["cap_drop"] == ["ALL"], name
        assert one["security_opt"] == ["no-new-privileges:true"], name
        assert one["mem_limit"], name
        assert one["secrets"], name
        assert "inside" in one["networks"], name


def test_only_those_that_must_reach_the_outside(compose: dict[str, Any]) -> None:
    assert compose["networks"]["inside"] == {"internal": True}
    open_ones = {name for name, one in compose["services"].items() if "outside" in one["networks"]}
    # the broker of `ingest` is somewhere else
    assert open_ones == {"api", "grafana", "ingest"}
    published = {name for name, one in compose["services"].items() if "ports" in one}
    assert published == {"api", "grafana"}
    # what nobody but this machine needs is published on loopback
    assert all(port.startswith("127.0.0.1:") for port in compose["services"]["grafana"]["ports"])


def test_the_profile_starts_what_watches_with_files_that_are_there(compose: dict[str, Any]) -> None:
    services = compose["services"]
    watching = {name for name, one in services.items() if one.get("profiles") == ["observability"]}
    assert watching == {"prometheus", "grafana"}
    for name in ("prometheus", "grafana"):
        files = [volume.split(":")[0] for volume in services[name]["volumes"]]
        given = [file for file in files if file.startswith("./")]
        assert given
        assert [file for file in given if not (ROOT / file).exists()] == []
    [source] = read_yaml(
        (ROOT / "deploy/observability/grafana/provisioning/datasources/prometheus.yml").read_text()
    )
    assert [one["url"] for one in source["datasources"]] == ["http://prometheus:9090"]


def test_images_have_full_versions_and_digests(compose: dict[str, Any]) -> None:
    [python] = [
        one for one in re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) if one != "base"
    ]
    given = [one["image"] for one in compose["services"].values() if "build" not in one]
    assert len(given) == 3
    for image in (python, *given):
        assert re.search(r":v?\d+\.\d+\.\d+(-slim-\w+)?@sha256:[0-9a-f]{64}$", image), image


def store_command(compose: dict[str, Any], at: Path) -> list[str]:
    """The command of the store, with its files and the password in a folder."""
    shell, option, script = compose["services"]["redis"]["command"]
    environment = compose["services"]["api"]["environment"]
    for there, here in (
        ("$$", "$"),
        (environment["HEDGEROW_REDIS_PASSWORD_FILE"], str(at / "password")),
        ("/data", str(at)),
        # a socket instead of the port, which others may use
        ("valkey-server -", f"{find_server()} - --port 0 --unixsocket {at}/s"),
    ):
        assert there in script
        script = script.replace(there, here)
    return [shell, option, script]


@pytest.mark.parametrize("password", ["geheim # 1", 'ge"h\\eim$1'])
def test_the_store_of_the_containers_asks_for_the_password_and_is_durable(
    compose: dict[str, Any], tmp_path: Path, password: str
) -> None:
    (tmp_path / "password").write_text(password)
    server = subprocess.Popen(store_command(compose, tmp_path), stdout=subprocess.DEVNULL)
    try:
        wait_until((tmp_path / "s").exists)
        settings = Settings(redis_url=f"unix://:{quote(password)}@{tmp_path}/s")
        wait_until(lambda: asks_for_password(f"unix://{tmp_path}/s"))
        check_given(settings)
        with connect(str(settings.redis_url), role="test") as client:
            assert inspect_server(client).durable
    finally:
        end_process(server)


@pytest.mark.parametrize("content", [None, "", "\n"])
def test_the_store_of_the_containers_does_not_start_without_a_password(
    compose: dict[str, Any], tmp_path: Path, content: str | None
) -> None:
    # a file that is not there is as unreadable as one of another user, also for root
    if content is not None:
        (tmp_path / "password").write_text(content)
    command = store_command(compose, tmp_path)
    said = subprocess.run(command, check=False, capture_output=True, text=True, timeout=180)
    assert said.returncode != 0
    assert "password" in said.stderr
    assert not (tmp_path / "s").exists()


def test_a_store_that_loads_its_files_is_healthy_and_one_that_is_away_is_not(
    compose: dict[str, Any], tmp_path: Path
) -> None:
    if shutil.which("redis-cli") is None:
        pytest.skip("this needs the program redis-cli")
    [_, check] = compose["services"]["redis"]["healthcheck"]["test"]
    for there, here in (
        ("$$", "$"),
        ("/run/secrets/redis-password", str(tmp_path / "password")),
        ("valkey-cli", f"redis-cli -s {tmp_path / 'store' / 's'}"),
    ):
        assert there in check
        check = check.replace(there, here)
    (tmp_path / "password").write_text("geheim")

    def is_healthy() -> bool:
        return subprocess.run(["sh", "-c", check], check=False, timeout=180).returncode == 0

    with GivenServer(tmp_path / "store", requirepass="geheim") as store, store.admin() as admin:
        assert is_healthy()
        store.restart_slowly()
        assert is_healthy()
        assert says_loading(admin), "the server was ready too early for this test"
    assert not is_healthy()


def asks_for_password(url: str) -> bool:
    """Whether a server asks a stranger for a password."""
    try:
        with connect(url, role="test") as client:
            client.ping()
    except redis.exceptions.AuthenticationError:
        return True
    except redis.exceptions.ConnectionError:
        return False
    pytest.fail("the server lets in anybody")
