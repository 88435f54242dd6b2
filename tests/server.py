"""A private server that can be killed, and waiting for a condition instead of sleeping."""

import threading
from collections.abc import Callable

import pytest

from service.store.server.embedded import EmbeddedServer

DEADLINE_S = 600.0
"""What takes a second alone may take minutes beside others; only a failing test waits so long."""


class PrivateServer(EmbeddedServer):
    """An embedded server; ``start`` after ``kill`` restores the stored data."""

    def kill(self) -> None:
        """SIGKILL, as a power cut would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()


def wait_until(condition: Callable[[], object], deadline_s: float = DEADLINE_S) -> None:
    """Return as soon as ``condition()`` is true; fail when the deadline passes."""
    pause = threading.Event()
    for _ in range(int(deadline_s / 0.01)):
        if condition():
            return
        pause.wait(0.01)
    pytest.fail(f"waited {deadline_s} s in vain for {condition}")
