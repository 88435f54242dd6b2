"""The verb backup and where it writes: folders with damage in them, pipes that end, full disks."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from service.cli.operators import backup as verb
from service.errors import Misconfigured
from service.processes.commands import COMMAND
from service.settings import Settings
from service.store.backup.chain import in_folder
from service.store.keys import key_of
from service.store.namespace import open_namespace
from tests.service.running import hedgerow


@pytest.fixture
def environment(client, redis_url, namespace: str, tmp_path: Path) -> dict[str, str]:
    """Of a verb that finds a namespace with 3 MB in it."""
    data = tmp_path / "data"
    open_namespace(client, Settings(namespace=namespace, data_dir=data))
    for n in range(30):
        client.set(key_of(namespace, 0, b"k%d" % n), os.urandom(100_000))
    return {
        "HEDGEROW_REDIS_URL": redis_url,
        "HEDGEROW_NAMESPACE": namespace,
        "HEDGEROW_DATA_DIR": str(data),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "backups"
    path.mkdir()
    return path


def taken(folder: Path, environment: dict[str, str], *more: str) -> tuple[dict[str, object], str]:
    done = hedgerow("backup", str(folder), "--json", *more, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_a_backup_that_is_damaged_is_not_continued_and_stops_no_other(environment, folder):
    first, _ = taken(folder, environment, "--increments", "3")
    path = Path(str(first["path"]))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    second, said = taken(folder, environment, "--increments", "3")
    assert second["parent"] is None
    assert "it is damaged" in said
    third, said = taken(folder, environment, "--increments", "3")
    assert third["parent"] == second["id"]
    assert "it is damaged" not in said
    # now nobody can even say what it is
    path.write_bytes(b"")
    fourth, said = taken(folder, environment, "--increments", "3", "--keep", "1")
    assert fourth["parent"] is None
    assert "old backups are left" in said
    path.unlink()
    last, _ = taken(folder, environment, "--keep", "1")
    assert [[str(one) for one in chain] for chain in in_folder(folder)] == [[last["path"]]]


def test_all_of_an_old_fork_is_removed(environment, folder):
    first, _ = taken(folder, environment, "--increments", "3")
    aside = folder.parent / "aside"
    _, second = taken(folder, environment, "--increments", "3"), in_folder(folder)[0][1]
    shutil.move(second, aside)
    taken(folder, environment, "--increments", "3")
    shutil.move(aside, second)
    assert [chain[0] for chain in in_folder(folder)] == [Path(str(first["path"]))] * 2
    last, _ = taken(folder, environment, "--keep", "1")
    assert [str(path) for path in folder.iterdir()] == [last["path"]]


@pytest.mark.parametrize("reader", ["head -c 100 >/dev/null", "true"])
def test_a_reader_that_ends_early_is_told_in_one_line(environment, reader: str):
    script = f'set -o pipefail; "$@" | {reader}'
    done = subprocess.run(
        ["bash", "-c", script, "-", *COMMAND, "backup", "-"],
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
        env=os.environ | environment,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("hedgerow: standard output takes no more")
    assert done.stderr.count("\n") == 1


def test_standard_output_on_a_full_disk_is_told_in_one_line(environment):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "backup", "-"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=180,
            env=os.environ | environment,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("hedgerow: standard output takes no more (No space left")
    assert done.stderr.count("\n") == 1


def test_a_schedule_goes_on_when_a_clock_that_was_ahead_is_set_back(capsys):
    hour = 3_600_000
    times = iter([0, 900 * hour, 900 * hour, 2 * hour, 2 * hour])
    took = []

    def take() -> None:
        took.append(len(took))
        if len(took) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verb._at_times("0 * * * *", take, now=lambda: next(times), look_s=0.0)
    assert "'0 * * * *'" in capsys.readouterr().err, "whoever waits is told for what"


def test_a_schedule_that_is_no_cron_is_refused():
    with pytest.raises(Misconfigured, match="--schedule"):
        verb._at_times("soon", lambda: None)


API_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_times_for_programs_are_those_of_the_api(environment, folder):
    backup, _ = taken(folder, environment)
    whole = json.loads(hedgerow("verify", str(folder), "--json", **environment).stdout)
    elsewhere = environment | {"HEDGEROW_NAMESPACE": f"{environment['HEDGEROW_NAMESPACE']}-b"}
    done = hedgerow("restore", str(folder), "--json", **elsewhere)
    restored = json.loads(done.stdout)
    assert {backup["cut"], restored["cut"], whole["backups"][0]["cut"]} == {backup["cut"]}
    assert API_TIME.fullmatch(str(backup["cut"]))
    [act] = json.loads(hedgerow("audit", "--json", **elsewhere).stdout)
    assert act["act"] == "restore"
    assert API_TIME.fullmatch(act["time"])


def test_a_backup_is_verified_as_it_arrives(environment, folder):
    first, _ = taken(folder, environment)
    content = Path(str(first["path"])).read_bytes()

    def verified(given: bytes) -> tuple[int, dict[str, object]]:
        command = [*COMMAND, "verify", "-", "--json"]
        done = subprocess.run(command, input=given, capture_output=True, check=False, timeout=180)
        return done.returncode, json.loads(done.stdout)

    code, told = verified(content)
    assert (code, told["whole"]) == (0, True)
    [one] = told["backups"]
    assert (one["id"], one["path"]) == (first["id"], "-")
    code, told = verified(content[:-1])
    assert (code, told["whole"]) == (1, False)


def test_what_is_carried_out_of_a_store_is_noted(environment, folder):
    backup, _ = taken(folder, environment)
    target = str(folder / "histories")
    assert hedgerow("export", "--output", target, **environment).returncode == 0
    spare = f"{environment['HEDGEROW_NAMESPACE']}-b"
    elsewhere = environment | {"HEDGEROW_NAMESPACE": spare}
    assert hedgerow("restore", str(folder), **elsewhere).returncode == 0
    # its own log goes with a namespace: the deletion is in that of the settings
    assert hedgerow("namespaces", "delete", spare, "--yes", **environment).returncode == 0
    acts = json.loads(hedgerow("audit", "--json", **environment).stdout)
    assert [(act["act"], act["about"], act["who"], act["result"]) for act in acts] == [
        ("deleteNamespace", {"deleted": spare}, "command line", "done"),
        ("export", {"users": "0", "events": "0"}, "command line", "done"),
        ("backup", {"backup": backup["id"]}, "command line", "done"),
    ]
    name = environment["HEDGEROW_NAMESPACE"]
    assert hedgerow("namespaces", "delete", name, "--yes", **environment).returncode == 0
    assert "no namespace" in hedgerow("audit", **environment).stderr
