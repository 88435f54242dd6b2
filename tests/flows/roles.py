"""Roles as processes of their own, for flows in which they die."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from service.processes.commands import COMMAND
from service.settings import Settings
from service.settings_loading import environment, without_hedgerow
from tests.server import DEADLINE_S

ROOT = Path(__file__).parents[2]


class Role:
    """A learner, trainer or api started by the command line; it logs to ``<directory>/<name>.log``.

    It ends when the test's process does, however that ends.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        settings: Settings,
        *arguments: str,
        fds: tuple[int, ...] = (),
        command: tuple[str, ...] = COMMAND,
    ) -> None:
        """``command`` runs a program of the tests instead, which may import them."""
        self._log, self._fds = directory / f"{name}.log", fds
        self._command = [*command, *arguments]
        self._environment = without_hedgerow(os.environ) | environment(settings)
        if command != COMMAND:
            self._environment["PYTHONPATH"] = str(ROOT)
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline = -1

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:
            state = "runs" if self.alive else "has ended"
            sys.stderr.write(f"--- {self._log.name}, which {state}:\n{self.log[-3000:]}\n")
        self.kill()

    def start(self) -> None:
        theirs, self._lifeline = os.pipe()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self._command, "--lifeline", str(theirs)],
                env=self._environment,
                stdout=log,
                stderr=log,
                pass_fds=(theirs, *self._fds),
            )
        os.close(theirs)

    def revive(self) -> None:
        """Start the process again if it has ended by itself."""
        if not self.alive:
            self.wait()
            self.start()

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self.wait()

    def stop(self) -> None:
        """Send SIGTERM and wait until the process has ended."""
        self.send(signal.SIGTERM)
        self.wait()

    def send(self, number: signal.Signals) -> None:
        if self.alive:
            assert self._process is not None
            self._process.send_signal(number)

    def wait(self, timeout_s: float = DEADLINE_S) -> int:
        """Return the exit code."""
        assert self._process is not None
        code = self._process.wait(timeout_s)
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
        return code

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        return self._log.read_text()
