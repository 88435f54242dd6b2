"""Starts and stops the processes that are measured: the whole service, or the empty app."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

START_S = 90.0


@dataclass(frozen=True)
class Server:
    """A process that answers HTTP on loopback."""

    port: int
    data_dir: Path
    host: str = "127.0.0.1"


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextlib.contextmanager
def hedgerow(environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Run `hedgerow serve` on an empty temporary data directory."""
    with tempfile.TemporaryDirectory(prefix="hedgerow-bench-") as folder:
        port = free_port()
        command = [beside_python("hedgerow"), "serve", "--port", str(port), "--data-dir", folder]
        with _running(command, port, "/readyz", dict(environment or {}), Path(folder)) as server:
            yield server


@contextlib.contextmanager
def empty_app() -> Iterator[Server]:
    """Run bench.empty_app with the same uvicorn flags as the service."""
    port = free_port()
    command = [
        beside_python("uvicorn"),
        "bench.empty_app:app",
        "--port",
        str(port),
        "--loop=uvloop",
        "--http=httptools",
        "--no-access-log",
        "--log-level=warning",
    ]
    with (
        tempfile.TemporaryDirectory(prefix="hedgerow-bench-") as folder,
        _running(command, port, "/", {}, Path(folder)) as server,
    ):
        yield server


def beside_python(name: str) -> str:
    """Return the path of a command that is installed beside this interpreter."""
    return str(Path(sys.executable).with_name(name))


@contextlib.contextmanager
def _running(
    command: list[str], port: int, ready: str, environment: dict[str, str], folder: Path
) -> Iterator[Server]:
    log = folder / "bench.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | environment,
            start_new_session=True,
        )
        try:
            _wait_until_ready(process, f"http://127.0.0.1:{port}{ready}", log)
            yield Server(port, folder)
        finally:
            _stop(process)


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    pause = threading.Event()
    for _ in range(int(START_S / 0.1)):
        if process.poll() is not None:
            break
        with (
            contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError),
            urllib.request.urlopen(url, timeout=2),  # noqa: S310
        ):
            return
        pause.wait(0.1)
    raise RuntimeError(f"{url} did not become ready; its output:\n{log.read_text()[-4000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
