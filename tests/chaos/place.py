"""A whole `hedgerow serve` with its store, and what can be done to its processes."""

import os
import signal
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

from service.processes.child import ServiceProcess
from tests.chaos.clients import CALM_READS, Caller, first_events
from tests.chaos.history import History
from tests.chaos.proxy import Line
from tests.flows.faulty_store import Store
from tests.server import wait_until
from tests.service.running import hedgerow, logged, service, started, store_pid

WATCHDOG_S = 5.0


class Place:
    """A running service: with its private server, or with a given one behind a line."""

    def __init__(self, directory: Path, *, is_private: bool, api_processes: int = 1) -> None:
        self.is_private = is_private
        self._directory, self._stack = directory, ExitStack()
        self._api_processes, self.runs = api_processes, 0
        self.store: Store | None = None
        self.line: Line | None = None
        self.running: ServiceProcess

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            settings: dict[str, Any] = {
                "api_processes": self._api_processes,
                "store_patience_ms": 150,
                "watchdog_s": WATCHDOG_S,
                "exploration_share": 0.0,
            }
            if not self.is_private:
                self.store = stack.enter_context(Store(self._directory))
                self.line = stack.enter_context(Line(self._directory / "line", self.store.url))
                settings["redis_url"] = self.line.url
            self.running = stack.enter_context(service(self._directory, **settings))
            with self.running.client() as client:
                self.running.wait_until_ready(client)
                client.post("/v1/events", first_events(), wait="learned")
            wait_until(self.knows_the_calm)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        return self.running.url

    def next_name(self) -> str:
        """Return with what the names of the users of the next run begin."""
        self.runs += 1
        return f"run{self.runs}-"

    @property
    def its_line(self) -> Line:
        assert self.line is not None, "only a given server is behind a line"
        return self.line

    @property
    def its_store(self) -> Store:
        assert self.store is not None, "only a given server has files that may be exchanged"
        return self.store

    def is_refused(self) -> bool:
        """Return whether an api process says that it does not trust the store."""
        ask = Caller(self.url, "place", History(), 30.0)
        noted, said = ask("GET", "/readyz")
        ask.close()
        return noted.status == 503 and "store" in said["detail"]

    @property
    def apis(self) -> list[str]:
        return [f"api-{number}" for number in range(self._api_processes)]

    def pid(self, child: str) -> int:
        """Return the process id of a child of `serve`, or of the ``store``."""
        if child != "store":
            return started(self.running)[child][-1]
        return store_pid(self.running) if self.store is None else self.store.server.pid

    def send(self, child: str, number: signal.Signals) -> int:
        """Send a signal to the newest process of that name; return its id."""
        pid = self.pid(child)
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        return pid

    @property
    def store_files(self) -> Path:
        """The folder of the store's append-only file."""
        return self._directory / "data/redis" if self.store is None else self.store.files

    def hedgerow(self, *arguments: str) -> Any:
        """Run the command line on the store, past the line; return the finished process."""
        environment = {"HEDGEROW_DATA_DIR": str(self._directory / "data")}
        if self.store is not None:
            environment["HEDGEROW_REDIS_URL"] = self.store.url
        return hedgerow(*arguments, **environment)

    def logged(self, *names: str) -> list[dict[str, Any]]:
        """Return what the service logged under these names."""
        return [one for one in logged(self.running) if one["event"] in names]

    def knows_the_calm(self) -> bool:
        """Ask for all that readers ask for, so that it is in memory; return whether it is there.

        Each connection may reach another process; a list without scores comes from a process that
        has not counted yet.
        """
        for _ in range(4 * self._api_processes):
            ask = Caller(self.url, "place", History(), 30.0)
            lists = [ask("GET", path) for path in CALM_READS]
            ask.close()
            if any(noted.status != 200 or not said["items"] for noted, said in lists):
                return False
            if not lists[0][1]["items"][0]["score"]:
                return False
        return True
