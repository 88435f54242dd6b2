"""Sort more records than fit into memory: sorted runs in temporary files, merged in windows."""

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from service.store.profiles.histories import Records
from service.store.profiles.history_record import sequences

RECORDS = np.dtype(
    [
        ("sequence", "<i8"),
        ("time_ms", "<i8"),
        ("user", "<u4"),
        ("item", "<u4"),
        ("value", "<f4"),
        ("kind", "u1"),
    ]
)
"""The dtype of a record; ``user`` is a number that ``ExternalSort.add`` assigns."""

RUN = 2_000_000
"""Number of records sorted in memory at once, 58 MB."""
WINDOW = 65_536
"""Approximate number of records merged at once."""


class ExternalSort:
    """Collects records in any order and returns them by sequence, in bounded memory."""

    def __init__(self, directory: Path, *, run: int = RUN, window: int = WINDOW) -> None:
        self._directory, self._run_size, self._window = directory, run, window
        self._blocks: list[NDArray[Any]] = []
        self._held = self.n_records = self._n_runs = 0
        self._names = bytearray()
        self._name_ends = array("q", [0])

    def add(self, user: str, history: Records) -> None:
        """Add records of a user's history; to be called at most once for each user."""
        if not len(history):
            return
        block = np.empty(len(history), dtype=RECORDS)
        block["sequence"] = sequences(history)
        for column in ("time_ms", "item", "value", "kind"):
            block[column] = history[column]
        block["user"] = len(self._name_ends) - 1
        name = user.encode()
        self._names += name
        self._name_ends.append(self._name_ends[-1] + len(name))
        self._blocks.append(block)
        self._held += len(block)
        self.n_records += len(block)
        if self._held >= self._run_size:
            self._write_run()

    def windows(self) -> Iterator[tuple[NDArray[Any], list[str]]]:
        """Yield (records in the order of sequences, users); ``user`` is an index into ``users``."""
        self._write_run()
        runs = [np.memmap(self._path(number), RECORDS, "r") for number in range(self._n_runs)]
        for records in _merged(runs, self._window):
            numbers, index = np.unique(records["user"], return_inverse=True)
            records["user"] = index
            yield records, self._users(numbers)

    def users(self) -> Iterator[list[str]]:
        """Yield the users that were added, some at a time; to be called after ``windows``."""
        n = len(self._name_ends) - 1
        for first in range(0, n, 1_000):
            yield self._users(np.arange(first, min(first + 1_000, n)))

    def _users(self, numbers: NDArray[Any]) -> list[str]:
        names = np.memmap(self._directory / "users", np.uint8, "r")
        ends = self._name_ends
        return [names[ends[n] : ends[n + 1]].tobytes().decode() for n in numbers.tolist()]

    def _write_run(self) -> None:
        if not self._blocks:
            return
        with (self._directory / "users").open("ab") as file:
            file.write(self._names)
        self._names.clear()
        records = np.concatenate(self._blocks)
        records[np.argsort(records["sequence"], kind="stable")].tofile(self._path(self._n_runs))
        self._n_runs += 1
        self._blocks, self._held = [], 0

    def _path(self, number: int) -> Path:
        return self._directory / f"run-{number}"


def _merged(runs: Sequence[NDArray[Any]], window: int) -> Iterator[NDArray[Any]]:
    """Yield the merged records in windows, each up to a sequence that all runs have reached."""
    at = [0] * len(runs)
    step = max(1, window // max(1, len(runs)))
    while any(first < len(run) for first, run in zip(at, runs, strict=True)):
        limit = min(
            int(run["sequence"][min(first + step, len(run)) - 1])
            for first, run in zip(at, runs, strict=True)
            if first < len(run)
        )
        ends = [int(np.searchsorted(run["sequence"], limit, side="right")) for run in runs]
        blocks = [run[first:end] for run, first, end in zip(runs, at, ends, strict=True)]
        records = np.concatenate(blocks)
        yield records[np.argsort(records["sequence"], kind="stable")]
        at = ends
