"""Runs seeds, each in a store that was emptied for it."""

import gc
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from structlog.testing import capture_logs

from service.ending import end_with_parent
from service.store.connection import connect
from tests.server import PrivateServer
from tests.simulator.world import Plan, Result, World

MEMORY = Path("/dev/shm")  # noqa: S108 - mkdtemp makes the names; without it another place will do


@dataclass(frozen=True)
class Outcome:
    """A seed and what came of it."""

    seed: int
    steps: int = 0
    occurred: Counter[str] = field(default_factory=Counter)
    failure: str = ""
    """What was broken, and the last calls before it."""


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
                with capture_logs(), collector_at_rest():
                    return world.run()
            except BaseException as error:
                error.add_note(f"seed {plan.seed}; the last calls:\n" + "\n".join(world.trace))
                raise


@contextmanager
def collector_at_rest() -> Iterator[None]:
    """Collect no garbage meanwhile: a client that is collected may call the store, at any time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


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


def end_with_us() -> None:
    """Let this process end when the one that started it is killed."""
    end = end_with_parent()
    if end is not None:
        end()


def run_seeds(seeds: Sequence[int]) -> list[Outcome]:
    """Run seeds one after the other, whatever comes of them."""
    with room() as here:
        return [_outcome(here, seed) for seed in seeds]


def _outcome(here: Room, seed: int) -> Outcome:
    try:
        result = here.run(Plan(seed))
    except Exception:  # noqa: BLE001 - it is told with its seed
        return Outcome(seed, failure=traceback.format_exc())
    return Outcome(seed, result.steps, result.occurred)
