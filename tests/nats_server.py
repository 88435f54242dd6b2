"""A NATS server with JetStream, for tests."""

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Self

import pytest

from tests.server import wait_until

needs_nats = pytest.mark.skipif(
    shutil.which("nats-server") is None, reason="install nats-server to try `hedgerow ingest`"
)


class NatsServer:
    """A server on a port that the system chose, with its files in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._settings = directory / "nats.conf"
        self.url = ""

    def __enter__(self) -> Self:
        ports = self._directory / "ports"
        ports.mkdir(parents=True)
        self._configure()
        command = ["nats-server", "-c", str(self._settings), "-a", "127.0.0.1", "-p", "-1"]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--ports_file_dir", str(ports)], stdout=log, stderr=log
            )
        wait_until(lambda: any(one.stat().st_size for one in ports.iterdir()))
        (written,) = ports.iterdir()
        wait_until(lambda: "nats" in json.loads(written.read_text()))
        (self.url,) = json.loads(written.read_text())["nats"]
        return self

    def set_max_payload(self, n_bytes: int) -> None:
        """Lower the bound of a message; clients that are connected are not told."""
        self._reload(max_payload=n_bytes)

    def end_jetstream(self) -> None:
        """Switch JetStream off; the server goes on."""
        self._reload(jetstream=False)

    def _reload(self, **settings: Any) -> None:
        log = self._directory / "log"
        before = log.stat().st_size
        self._configure(**settings)
        self._process.send_signal(signal.SIGHUP)
        wait_until(lambda: "Reloaded server configuration" in log.read_text()[before:])

    def _configure(self, max_payload: int = 1 << 20, jetstream: bool = True) -> None:
        settings: dict[str, Any] = {"max_payload": max_payload}
        if jetstream:
            settings["jetstream"] = {"store_dir": str(self._directory)}
        self._settings.write_text(json.dumps(settings))

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
