"""A service whose api process is killed while clients send, and what it has counted in the end."""

import os
import signal
import threading
from collections import Counter
from typing import Any, Self

from hedgerow_client import Client
from service.processes.child import ServiceProcess
from tests.server import wait_until
from tests.service.running import started

USERS = 100
PATIENCE_S = 600.0
"""A busy machine takes its time to start a process again."""


def event(number: int) -> dict[str, Any]:
    """Return an event of which there is no second one."""
    return {"user": f"u{number % USERS}", "item": f"i{number // USERS}", "kind": "view"}


class Killer:
    """Kills the api process ``kills`` times while a client sends ``n`` events.

    A kill comes in the middle of each part of the events; the client asks at the end of the part
    (``may_go_on``), so that no kill comes too late to meet any event.
    """

    def __init__(self, running: ServiceProcess, n: int, kills: int) -> None:
        self._running = running
        self._kills = kills
        self.part = n // (kills + 1)
        self._acknowledged = 0
        self._killed: list[int] = []
        self._over = False
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over = True
        self._thread.join()
        assert kind or len(set(self._killed)) == self._kills

    def note(self, acknowledged: int) -> None:
        """Note how many events the client knows to be stored."""
        self._acknowledged = acknowledged

    def may_go_on(self, number: int) -> None:
        """Return once all kills have happened that belong before this event."""
        due = min(number // self.part, self._kills)
        if number % self.part == 0 and due:
            wait_until(lambda: len(self._killed) >= due, PATIENCE_S)

    def _run(self) -> None:
        for n in range(self._kills):
            half = (n + 0.5) * self.part
            wait_until(lambda half=half: self._over or self._acknowledged >= half, PATIENCE_S)
            wait_until(lambda: self._over or api(self._running) not in self._killed, PATIENCE_S)
            if not self._over:
                os.kill(api(self._running), signal.SIGKILL)
                self._killed.append(api(self._running))


def api(running: ServiceProcess) -> int:
    """Return the process id of the api."""
    return started(running)["api-0"][-1]


def check_each_counts_once(url: str, n: int, sequence: str) -> None:
    """Assert that all events are in the histories, each once, and were counted once."""
    with Client(url) as client:
        client.wait_until_learned(sequence)
        stats = client.get_stats()
        assert sum(one["other_events"] for one in stats["partitions"]) == n
        assert sum(one["appended"] - one["duplicates"] for one in stats["partitions"]) == n
        for user in range(USERS):
            kept = Counter(row["item"] for row in client.iterate_history(f"u{user}", limit=1000))
            assert kept == Counter(f"i{item}" for item in range(n // USERS))
