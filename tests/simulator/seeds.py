"""Runs seeds, each in a store that was emptied for it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from structlog.testing import capture_logs

from service.store.connection import connect
from tests.server import PrivateServer
from tests.simulator.world import Plan, Result, World

MEMORY = Path("/dev/shm")  # noqa: S108 - mkdtemp makes the names; without it another place will do


class Room:
    """A store and a place for files, for one run after the other."""

    def __init__(self, url: str, directory: Path) -> None:
        self._url, self._directory = url, directory

    def run(self, plan: Plan) -> Result:
        """Run a seed; Broken says which one it was."""
        with tempfile.TemporaryDirectory(dir=self._directory) as data_dir:
            world = World(plan, self._url, Path(data_dir))
            try:
                # nobody reads what thousands of lives of the service log
                with capture_logs():
                    return world.run()
            except BaseException as error:
                error.add_note(f"seed {plan.seed}; the last calls:\n" + "\n".join(world.trace))
                raise


@contextmanager
def room() -> Iterator[Room]:
    """Open a store that keeps nothing."""
    place = MEMORY if MEMORY.is_dir() else None
    with (
        tempfile.TemporaryDirectory(dir=place) as directory,
        PrivateServer(Path(directory), "os") as server,
    ):
        with connect(server.url, role="simulator") as client:
            client.config_set("appendonly", "no")
        yield Room(server.url, Path(directory))
