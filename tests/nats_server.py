"""A NATS server with JetStream, for tests."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Self

import pytest

from tests.server import wait_until

needs_nats = pytest.mark.skipif(
    shutil.which("nats-server") is None, reason="install nats-server to try `hedgerow ingest`"
)


class NatsServer:
    """A server on a port that the system chose, with its files in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.url = ""

    def __enter__(self) -> Self:
        ports = self._directory / "ports"
        ports.mkdir(parents=True)
        command = ["nats-server", "-js", "-sd", str(self._directory), "-a", "127.0.0.1", "-p", "-1"]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--ports_file_dir", str(ports)], stdout=log, stderr=log
            )
        wait_until(lambda: any(one.stat().st_size for one in ports.iterdir()))
        (written,) = ports.iterdir()
        wait_until(lambda: "nats" in json.loads(written.read_text()))
        (self.url,) = json.loads(written.read_text())["nats"]
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
