"""A trainer whose jobs can be told to die: the real one but for the reporter of a job.

A job that was ordered with ``who="killed in fitting"`` kills its process as that stage begins, with
``who="killed in fitting 2"`` as it begins for the second time; with ``who="hangs in fitting"`` it
hangs there, with ``who="lingers"`` it takes some seconds after its report. Every other job is
trained as usual. Run as ``python -m tests.flows.dying_trainer --lifeline 3``.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from service.cli.running.trainer import run_trainer, train
from service.store.jobs.job import JobRecord
from service.store.jobs.records import JobRecords
from service.training.reporter import Reporter

COMMAND = (sys.executable, "-P", "-m", "tests.flows.dying_trainer")


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _hang() -> None:
    threading.Event().wait()


ENDS = {"killed": _kill, "hangs": _hang}


LINGERS_S = 2.5
"""Several times as long as a trainer waits between two looks at its job."""


class DyingReporter(Reporter):
    """Ends the process at the beginning of the stage that the job's ``who`` names."""

    def __init__(self, records: JobRecords, record: JobRecord) -> None:
        super().__init__(records, record)
        how, _, where = record.who.partition(" in ")
        self._last_stage, _, times = where.partition(" ")
        self._end, self._times = ENDS.get(how), int(times or 1)
        self._lingers = how == "lingers"

    @contextmanager
    def stage(
        self, name: str, bounds: tuple[float, float] | None = None, **more: Any
    ) -> Iterator[None]:
        with super().stage(name, bounds, **more):
            self._times -= name == self._last_stage
            if self._end is not None and name == self._last_stage and self._times == 0:
                self._end()
            yield

    def succeed(self, **results: Any) -> None:
        super().succeed(**results)
        if self._lingers:
            threading.Event().wait(LINGERS_S)


def work(job: str) -> None:
    """Train as the trainer does, with a reporter that may end the process."""
    train(job, DyingReporter)


if __name__ == "__main__":
    run_trainer(int(sys.argv[2]), work)
