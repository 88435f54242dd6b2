"""The wheel has all that the service needs, and works in an environment that has nothing else."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from service.ending import end_process
from service.processes.listening import STARTED
from tests.docs.pages import ROOT
from tests.server import wait_until

PACKAGES = ("core", "hedgerow", "service")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, built from the source distribution, and that."""
    folder = tmp_path_factory.mktemp("dist")
    command = [f"{sys.prefix}/bin/uv", "build", "--quiet", "--no-build-isolation", "--offline"]
    command += ["--python", sys.executable, "--out-dir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def sources() -> set[str]:
    """Return the files of the packages, without what is compiled from them."""
    return {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.name != ".DS_Store"
    }


def test_the_wheel_has_every_file_of_the_packages_and_no_other(built: Path) -> None:
    with zipfile.ZipFile(built / f"hedgerow-{VERSION}-py3-none-any.whl") as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == sources()
    assert {"service/console/static/index.html", "service/store/log/append_log.lua"} <= names


def test_the_source_distribution_has_what_deploys_it(built: Path) -> None:
    listed = subprocess.run(
        ["tar", "tzf", str(built / f"hedgerow-{VERSION}.tar.gz")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    names = {name.partition("/")[2] for name in listed}
    wanted = {"Dockerfile", "docker-compose.yml", "requirements.lock", "CHANGELOG.md", "LICENSE"}
    assert wanted | {"deploy/observability/alerts.yml", "docs/how-to/upgrade.md"} <= names


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `dist` and with `clean`, the environment that `make sbom` installs them in."""
    folder = tmp_path_factory.mktemp("release")
    command = ["make", "sbom", f"DIST={folder}/dist", f"CLEAN={folder}/clean"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=900
    )
    if re.search(r"connection|resolve|network|timed out", done.stderr, re.IGNORECASE):
        pytest.skip("packages cannot be downloaded here")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def started(installed: Path, tmp_path: Path) -> Iterator[str]:
    """The address of a service that runs from the wheel, in an empty folder."""
    environment = {"PATH": os.defpath, "HOME": str(tmp_path), "HEDGEROW_PORT": "0"}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(installed / "clean/bin/hedgerow"), "serve"],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        assert process.stdout is not None
        first = process.stdout.readline().decode()
        assert first.startswith(STARTED), (tmp_path / "log").read_text()
        yield first.removeprefix(STARTED).strip()
    finally:
        end_process(process, patience_s=60.0)
        if process.stdout is not None:
            process.stdout.close()


@pytest.mark.slow
@pytest.mark.flow
def test_the_wheel_alone_serves_learns_and_shows_the_console(started: str) -> None:
    with httpx.Client(base_url=started, timeout=60) as client:
        wait_until(lambda: client.get("/readyz").is_success)
        assert client.get("/healthz").json() == {"status": "ok", "version": VERSION}
        event = {"user": "ada", "item": "film", "rating": 5}
        assert client.post("/v1/events?wait=learned", json=event).is_success
        assert [one["item"] for one in client.get("/v1/popular").json()["items"]] == ["film"]
        for page in ("/console", "/console/main.js", "/docs", "/docs/interactive"):
            assert client.get(page, follow_redirects=True).is_success, page


@pytest.mark.slow
def test_the_list_of_what_is_installed_names_every_distribution_with_its_licence(
    installed: Path,
) -> None:
    said = subprocess.run(
        [
            str(installed / "clean/bin/python"),
            "-c",
            (
                "import json; from importlib.metadata import distributions;"
                "print(json.dumps({d.name.lower(): d.version for d in distributions()}))"
            ),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    there = {name.replace("_", "-"): version for name, version in json.loads(said).items()}
    listed = json.loads((installed / "dist/hedgerow.cdx.json").read_text())
    components = [*listed["components"], listed["metadata"]["component"]]
    names = {one["name"].lower().replace("_", "-"): one["version"] for one in components}
    assert names == there
    assert "numba" in names
    assert names["hedgerow"] == VERSION
    assert [one["name"] for one in components if not one.get("licenses")] == []


def test_a_changelog_has_a_section_for_the_version() -> None:
    assert f"\n## {VERSION}\n" in (ROOT / "CHANGELOG.md").read_text()
