"""A whole service as a child process, for `hedgerow demo` and `hedgerow bench`.

It ends with the process that started it.
"""

import os
import subprocess
from pathlib import Path
from typing import IO, Any, Self

from service.client import ServiceClient
from service.ending import end_process
from service.errors import NotReady
from service.processes.commands import COMMAND, compile_kernels
from service.processes.listening import STARTED
from service.settings import Settings
from service.settings_loading import environment, without_hedgerow


class ServiceProcess:
    """A child process `hedgerow serve`; its log is ``serve.log`` in ``settings.data_dir``."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline = -1
        self.url = ""

    def __enter__(self) -> Self:
        compile_kernels()
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def log(self) -> Path:
        """The log file of the service."""
        return self._settings.data_dir / "serve.log"

    @property
    def pid(self) -> int:
        """Process id of the supervisor."""
        if self._process is None:
            raise NotReady("the service is not running")
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the service is still running."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Stop the service in order, so that everything acknowledged is stored."""
        if self._process is not None:
            end_process(self._process, patience_s=60.0)
            stdout: IO[bytes] | Any = self._process.stdout
            stdout.close()
            self._process = None
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    def wait_until_ready(self, client: ServiceClient) -> None:
        """Return once the service is ready; if it ends instead, NotReady has its last messages."""
        try:
            client.wait_until_ready(alive=lambda: self.alive)
        except NotReady as error:
            if self.alive:
                raise
            raise NotReady(f"the service has ended: {self.last_words()}") from error

    def last_words(self) -> str:
        """Return the last lines in its log that are not JSON: messages for people."""
        lines = self.log.read_text(errors="replace").splitlines()
        plain = [line for line in lines if line and not line.startswith("{")]
        return " ".join(plain[-3:]) or f"nothing, see {self.log}"

    def client(self, **options: Any) -> ServiceClient:
        """Return a client of the service."""
        return ServiceClient(self.url, **options)

    def _start(self) -> None:
        self._settings.data_dir.mkdir(parents=True, exist_ok=True)
        child_end, self._lifeline = os.pipe()
        with self.log.open("ab") as log:
            # our own program with fixed arguments
            self._process = subprocess.Popen(  # noqa: S603
                [*COMMAND, "serve", "--lifeline", str(child_end)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=without_hedgerow(os.environ) | environment(self._settings),
                pass_fds=(child_end,),
                # Ctrl-C must reach only us: we stop the child in order
                start_new_session=True,
            )
        os.close(child_end)
        first: str = self._process.stdout.readline().decode() if self._process.stdout else ""
        if not first.startswith(STARTED):
            raise NotReady(f"the service did not start: {self.last_words()}")
        self.url = first.removeprefix(STARTED).strip()
