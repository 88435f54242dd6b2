"""The units of systemd are valid and tight, and the service works within what they allow."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from service.cli.main import COMMANDS
from service.ending import end_process
from service.processes.compiled import cache_dir
from service.processes.listening import STARTED
from service.settings import Settings
from service.store.server.embedded import RECORD
from tests.deploy.units import (
    FOLDER,
    UNITS,
    Unit,
    environment_of,
    needs_sandbox,
    read_unit,
    shut_in,
)
from tests.docs.pages import DOCS
from tests.server import wait_until

PROGRAM = "/opt/hedgerow/bin/hedgerow"
HEDGEROW = f"{sys.prefix}/bin/hedgerow"
WHOLE = read_unit(FOLDER / "hedgerow.service")
BACKUP = read_unit(FOLDER / "hedgerow-backup.service")
MOST_EXPOSED = 15
"""Ten times systemd's measure of what a unit may do, from 0 to 10; without limits it is 9.6."""

needs_analyze = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is missing"
)
names = pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)


def analyze(*words: str, at: Path) -> str:
    """Return what systemd-analyze says; it must accept what it reads."""
    done = subprocess.run(
        ["systemd-analyze", *words], cwd=at, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The files as they are installed, with the program of this environment."""
    for path in FOLDER.iterdir():
        (tmp_path / path.name).write_text(path.read_text().replace(PROGRAM, HEDGEROW))
    return tmp_path


@needs_analyze
@pytest.mark.parametrize("unit", [*UNITS, *FOLDER.glob("*.timer")], ids=lambda path: path.name)
def test_systemd_accepts_a_unit(unit: Path, installed: Path) -> None:
    said = analyze("verify", "--man=no", f"./{unit.name}", at=installed)
    assert "hedgerow" not in said, said


@needs_analyze
@names
def test_a_unit_lets_its_process_do_little(path: Path) -> None:
    words = ("security", "--offline=yes", "--no-pager", f"--threshold={MOST_EXPOSED}")
    analyze(*words, f"./{path.name}", at=FOLDER)


@names
def test_a_unit_names_verbs_and_settings_that_exist_and_bounds_memory(path: Path) -> None:
    unit = read_unit(path)
    [command] = unit["ExecStart"]
    assert command.split()[:2][0] == PROGRAM
    assert command.split()[1] in COMMANDS
    ours = {name for name in environment_of(unit) if name.startswith("HEDGEROW_")}
    known = {f"HEDGEROW_{name.upper()}" for name in Settings.model_fields}
    assert {name.removesuffix("_FILE") for name in ours} <= known
    assert re.fullmatch(r"\d+G", *unit["MemoryMax"])
    assert unit["User"] == ["hedgerow"]


def test_the_page_names_every_file() -> None:
    page = (DOCS / "how-to" / "run-with-systemd.md").read_text()
    assert [path.name for path in FOLDER.iterdir() if path.name not in page] == []


def given_to(unit: Unit) -> list[str]:
    """Return the words that give a sandbox the variables of a unit, and what is compiled."""
    # the folder of what is compiled is that of these tests: the next test compiles
    compiled = str(cache_dir())
    given = environment_of(unit) | {"HEDGEROW_PORT": "0", "NUMBA_CACHE_DIR": compiled}
    if "NUMBA_CACHE_DIR" not in os.environ:
        del given["NUMBA_CACHE_DIR"]
    sets = [word for pair in given.items() for word in ("--setenv", *pair)]
    return ["--bind", compiled, compiled, "--clearenv", *sets]


@contextmanager
def service_in_its_unit(tmp_path: Path) -> Iterator[httpx.Client]:
    """Run the whole service within what its unit allows."""
    with shut_in(WHOLE, tmp_path) as (words, handle), (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*words, *given_to(WHOLE), HEDGEROW, "serve"],
            stdout=subprocess.PIPE,
            stderr=log,
            pass_fds=[handle],
        )
        try:
            assert process.stdout is not None
            first = process.stdout.readline().decode()
            assert first.startswith(STARTED), (tmp_path / "log").read_text()
            with httpx.Client(base_url=first.removeprefix(STARTED).strip(), timeout=60) as client:
                yield client
        finally:
            end_process(process, patience_s=60.0)
            if process.stdout is not None:
                process.stdout.close()


@pytest.mark.flow
def test_the_service_works_within_what_its_unit_allows(tmp_path: Path) -> None:
    needs_sandbox()
    with service_in_its_unit(tmp_path) as client:
        wait_until(lambda: client.get("/readyz").json().get("training"))
        event = {"user": "ada", "item": "film", "rating": 5}
        assert client.post("/v1/events?wait=learned", json=event).status_code == 200
        assert client.get("/metrics").is_success
        # each unit has a /tmp of its own, and sees no process of another
        for command in (BACKUP["ExecStart"][0].split(), [PROGRAM, "doctor"]):
            done = run_beside(tmp_path, command)
            assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "lib/data").is_dir()
    assert any((tmp_path / "lib/backups").iterdir())
    # bwrap ends the service at once: the folder of its socket stays, and the next start removes it
    record = json.loads((tmp_path / "lib/data" / RECORD).read_text())
    folders = [path.name for path in (tmp_path / "lib").glob("hedgerow-*")]
    assert folders == [Path(record["socket"]).parent.name]


def run_beside(tmp_path: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command of ours as the unit of backups would, while the service runs in its own."""
    (tmp_path / "lib/backups").mkdir(exist_ok=True)
    with shut_in(BACKUP, tmp_path) as (words, handle):
        return subprocess.run(
            [*words, "--unshare-pid", *given_to(BACKUP), HEDGEROW, *command[1:]],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            pass_fds=[handle],
        )


def test_units_of_one_machine_and_the_commands_beside_them_share_a_folder_of_sockets() -> None:
    shared = environment_of(WHOLE)["TMPDIR"]
    assert environment_of(BACKUP)["TMPDIR"] == shared
    page = (DOCS / "how-to" / "run-with-systemd.md").read_text()
    assert page.count("systemd-run --pty") == page.count(f"--setenv TMPDIR={shared} ")


def run_shut_in(tmp_path: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program as the unit would."""
    with shut_in(WHOLE, tmp_path) as (words, handle):
        return subprocess.run(
            [*words, sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            pass_fds=[handle],
        )


def test_numba_compiles_within_what_the_unit_allows(tmp_path: Path) -> None:
    needs_sandbox()
    done = run_shut_in(tmp_path, "import numba; print(numba.njit(lambda x: x + 1)(41))")
    assert done.stdout == "42\n", done.stderr


@pytest.mark.parametrize(
    "forbidden",
    [
        "open('/etc/motd', 'a')",
        "import ctypes, os; assert ctypes.CDLL(None).mount(b'a', b'/mnt', b'tmpfs', 0, 0) == 0",
    ],
)
def test_what_the_unit_does_not_allow_fails(tmp_path: Path, forbidden: str) -> None:
    needs_sandbox()
    assert run_shut_in(tmp_path, forbidden).returncode != 0
    assert run_shut_in(tmp_path, "open('/var/lib/hedgerow/mine', 'w')").returncode == 0
