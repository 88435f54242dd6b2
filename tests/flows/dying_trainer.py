"""A trainer for the tests of its jobs' deaths: the real one, but who orders a job may say how its process ends.

``who="killed in fitting"`` kills the process as that stage begins, ``who="hangs in fitting"`` lets it hang there.
Any other job is trained as usual. Run as ``python -m tests.flows.dying_trainer --lifeline 3``.
"""

import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from service.cli import options
from service.cli.trainer import run_trainer, train
from service.settings import load_settings
from service.store.connection import connect
from service.store.jobs.records import JobRecords

COMMAND = (sys.executable, "-P", "-m", "tests.flows.dying_trainer")


def _killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _hangs() -> None:
    threading.Event().wait()


ENDS = {"killed": _killed, "hangs": _hangs}


def work(job: str) -> None:
    """Train, but end in the stage that the job's record names."""
    settings = load_settings()
    with connect(options.given_redis(settings, "trainer"), role="test") as client:
        who = JobRecords(client, settings.namespace).record(job).who
    how, is_named, stage = who.partition(" in ")
    if is_named:
        _stop_in(stage, ENDS[how])
    train(job)


def _stop_in(name: str, stop: Callable[[], None]) -> None:
    reporter = importlib.import_module("service.training.reporter").Reporter
    real = reporter.stage

    @contextmanager
    def stage(self: Any, begun: str, **more: Any) -> Iterator[None]:
        with real(self, begun, **more):
            if begun == name:
                stop()
            yield

    reporter.stage = stage


if __name__ == "__main__":
    run_trainer(int(sys.argv[2]), work)
