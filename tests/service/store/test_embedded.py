import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from service.ending import command_line
from service.errors import Misconfigured
from service.store.server import embedded, program
from service.store.server.embedded import EmbeddedServer
from tests.server import PrivateServer, wait_until


def client(url: str) -> redis.Redis:
    return redis.Redis.from_url(url, socket_timeout=5, decode_responses=True)


def setting(url: str, name: str) -> str:
    with client(url) as server:
        return str(server.config_get(name)[name])


def test_the_server_answers_and_keeps_every_write_on_disk(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        assert server.url.startswith("unix:///")
        assert setting(server.url, "appendonly") == "yes"
        assert setting(server.url, "appendfsync") == "always"
        assert setting(server.url, "maxmemory-policy") == "noeviction"
        assert setting(server.url, "port") == "0"


def test_durability_os_leaves_the_disk_to_the_system(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path, "os") as server:
        assert setting(server.url, "appendfsync") == "no"


def test_data_survive_a_stop_and_a_start(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server, client(server.url) as redis_client:
        redis_client.set("kept", "yes")
    with EmbeddedServer(tmp_path) as server, client(server.url) as redis_client:
        assert redis_client.get("kept") == "yes"


def test_the_socket_lies_in_a_short_directory_of_ours_alone(tmp_path: Path) -> None:
    deep = tmp_path / ("a" * 100) / ("b" * 100)
    with EmbeddedServer(deep) as server:
        path = Path(server.url.removeprefix("unix://"))
        assert len(os.fsencode(path)) <= embedded.SOCKET_PATH_LIMIT
        assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not path.parent.exists()


def test_a_second_server_on_the_same_directory_is_refused_by_name(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path), pytest.raises(Misconfigured) as refused:
        EmbeddedServer(tmp_path).start()
    assert str(os.getpid()) in refused.value.detail
    assert "--data-dir" in refused.value.detail


def test_a_killed_server_starts_again_at_the_same_address(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path) as server:
        url, pid = server.url, server.pid
        with client(url) as redis_client:
            redis_client.set("kept", "yes")
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not server.alive)
        assert server.start() == url
        assert server.pid != pid
        with client(url) as redis_client:
            assert redis_client.get("kept") == "yes"


LEAVES_A_SERVER = """
import os, signal, sys, threading
from pathlib import Path
from service.store.server.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
if sys.argv[2] == "main":
    server.start()
else:  # nothing ties a server started by another thread to us
    starter = threading.Thread(target=server.start)
    starter.start()
    starter.join()
print(server.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def left_behind(tmp_path: Path, thread: str) -> int:
    """Start a server whose supervisor is killed at once."""
    killed = subprocess.run(
        [sys.executable, "-c", LEAVES_A_SERVER, str(tmp_path), thread],
        capture_output=True,
        text=True,
        check=False,
    )
    return int(killed.stdout)


def test_whoever_reads_the_record_during_a_restart_never_finds_a_part_of_it(tmp_path: Path) -> None:
    with PrivateServer(tmp_path) as server, (tmp_path / embedded.RECORD).open() as before:
        first = server.pid
        server.kill()
        server.start()
        # the record was replaced: in the one that was opened before, nothing has changed
        assert json.load(before)["pid"] == first
        assert json.loads((tmp_path / embedded.RECORD).read_text())["pid"] == server.pid


def test_a_server_left_by_a_killed_supervisor_is_stopped_at_the_next_start(tmp_path: Path) -> None:
    pid = left_behind(tmp_path, "other")
    assert "server" in command_line(pid)
    folder = Path(json.loads((tmp_path / embedded.RECORD).read_text())["socket"]).parent
    assert folder.is_dir()
    with EmbeddedServer(tmp_path) as server:
        assert not folder.exists()
        assert command_line(pid) == ""
        assert server.pid != pid


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_server_ends_with_its_killed_supervisor(tmp_path: Path) -> None:
    pid = left_behind(tmp_path, "main")
    wait_until(lambda: command_line(pid) == "")
    embedded.stop_leftover(tmp_path / "server.json")


def test_a_process_that_took_over_the_number_of_a_dead_server_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        record = {"pid": stranger.pid, "socket": str(tmp_path / "gone" / "s")}
        (tmp_path / "server.json").write_text(json.dumps(record))
        with EmbeddedServer(tmp_path):
            assert stranger.poll() is None
        stranger.communicate(b"\n")
    assert stranger.returncode == 0


def test_a_server_is_found_by_its_socket_where_its_process_is_not_seen(tmp_path: Path) -> None:
    with PrivateServer(tmp_path) as server:
        socket = server.url.removeprefix("unix://")
        embedded.write_record(tmp_path / embedded.RECORD, 0, Path(socket))
        assert embedded.running_server(tmp_path) == server.url
        server.kill()
        assert Path(socket).exists()
        assert embedded.running_server(tmp_path) is None


def test_a_spoilt_record_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "server.json").write_text("[half")
    with EmbeddedServer(tmp_path) as server:
        assert server.alive


def test_a_data_directory_that_is_a_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Misconfigured, match="--data-dir"):
        EmbeddedServer(tmp_path / "file").start()


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "redis").mkdir()
    (tmp_path / "redis" / "appendonlydir").write_text("not a directory")
    server = EmbeddedServer(tmp_path)
    with pytest.raises(Misconfigured, match="did not start") as refused:
        server.start()
    assert "server.log" in refused.value.detail
    assert not server.alive


@pytest.mark.parametrize(
    "words",
    ["Write error: No space left on device", "Short write while writing to the AOF file: (n=7)"],
)
def test_a_full_disk_is_reported_before_the_last_lines_of_the_server(
    tmp_path: Path, words: str
) -> None:
    lines = ["1:M * ready", f"1:M # {words}", *["1:M * bye"] * 20]
    (tmp_path / "server.log").write_text("\n".join(lines))
    said = EmbeddedServer(tmp_path).last_words()
    assert said.startswith(f"no space is left on the disk of {tmp_path}: make room")
    assert "what was acknowledged is stored" in said


def test_without_any_server_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Misconfigured) as refused:
        program.find_server(wheel="no-such-distribution")
    assert "redis-server" in refused.value.detail
    assert "HEDGEROW_REDIS_URL" in refused.value.detail


def test_a_program_on_the_path_that_is_too_old_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=5.0.14 sha=0'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program.program_version(old) == (5, 0, 14)
    assert program.find_server() != old
