"""Reports of a training, written into the job's record: stage, progress, duration of each stage."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, process_time
from typing import Any

from service.store.jobs.job import PROMOTING, JobRecord
from service.store.jobs.records import JobRecords
from service.telemetry import logger

STAGES = {
    "reading": (0.0, 0.1),
    "searching": (0.1, 0.6),
    "fitting": (0.6, 0.75),
    "weighing": (0.75, 0.75),
    "judging": (0.75, 0.85),
    "refining": (0.85, 0.95),
    "publishing": (0.95, 0.99),
    PROMOTING: (0.99, 1.0),
}
"""Progress of the job at the beginning and at the end of each stage."""
REPORT_S = 0.2
"""Seconds between two reports of progress."""
STARVED_AFTER_S, STARVED = 60.0, 0.1
"""Least age in seconds of a training that is reported as starved, and its most share of one
processor."""


class Reporter:
    """Writes the progress of a job; raises JobGone if it was cancelled or is taken for dead."""

    def __init__(
        self,
        records: JobRecords,
        record: JobRecord,
        *,
        starved: float = STARVED,
        starved_after_s: float = STARVED_AFTER_S,
    ) -> None:
        self._starved, self._starved_after_s = starved, starved_after_s
        self._records, self._job, self._worker = records, record.id, record.worker
        self._bounds, self._reported_at = (0.0, 0.0), 0.0
        self._began, self._is_told = perf_counter(), False
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(
        self, name: str, bounds: tuple[float, float] | None = None, **more: Any
    ) -> Iterator[None]:
        """Report that a stage begins, with the results so far, and measure its duration.

        ``bounds`` are the progress at its beginning and end; None: those of an order of one recipe.
        A stage that comes again adds to its duration.
        """
        self._bounds = STAGES[name] if bounds is None else bounds
        self._records.report(self._job, self._worker, stage=name, progress=self._bounds[0], **more)
        started = perf_counter()
        self._tell_if_starved()
        yield
        passed = self.seconds.get(name, 0.0) + perf_counter() - started
        self.seconds[name] = round(passed, 3)

    def share(self, share: float) -> None:
        """Report the progress of the stage, 0 to 1."""
        if perf_counter() - self._reported_at < REPORT_S:
            return
        self._reported_at = perf_counter()
        self._tell_if_starved()
        low, high = self._bounds
        progress = round(low + (high - low) * share, 4)
        self._records.report(self._job, self._worker, progress=progress)

    def _tell_if_starved(self) -> None:
        """Log once that other processes leave the training hardly any processor time.

        Such a training may take hours.
        """
        passed, used = perf_counter() - self._began, process_time()
        if self._is_told or passed < self._starved_after_s or used >= self._starved * passed:
            return
        self._is_told = True
        seconds, had = round(passed, 1), round(used, 1)
        logger().warning("training_starved", job=self._job, seconds=seconds, processor_seconds=had)

    def succeed(self, **results: Any) -> None:
        """Report that the job has succeeded."""
        self._records.succeed(self._job, self._worker, **results)
