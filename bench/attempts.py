"""Attempted fits, one row each in a CSV file.

A run of hours can be stopped and continued with the same file.
"""

import csv
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

METRICS = ("recall@20", "ndcg@10", "ndcg@20", "precision@5")
_KEYS = ("data", "split", "model", "settings")


@dataclass(frozen=True)
class Attempt:
    """One fit of a model on one split: its settings, its test scores and the seconds it took."""

    data: str
    split: int
    model: str
    settings: dict[str, Any]
    scores: dict[str, float]
    seconds: float

    @property
    def key(self) -> tuple[str, int, str, str]:
        return self.data, self.split, self.model, text(self.settings)


def text(settings: dict[str, Any]) -> str:
    """Return the settings as one word: ``alpha=2;reg=4``."""
    return ";".join(f"{name}={value:.6g}" for name, value in settings.items())


def parsed(word: str) -> dict[str, float]:
    """Return the settings that ``text`` wrote."""
    pairs = (part.split("=") for part in word.split(";") if part)
    return {name: float(value) for name, value in pairs}


class Attempts:
    """All attempts so far. With a path, every new attempt is appended to that file."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[tuple[str, int, str, str], Attempt] = {}
        if path is not None and path.is_file():
            with path.open(newline="") as lines:
                for row in csv.DictReader(lines):
                    self._keep(_read(row))

    def _keep(self, attempt: Attempt) -> None:
        self._known[attempt.key] = attempt

    def find(
        self, data: str, split: int, model: str, settings: dict[str, Any] | None = None
    ) -> list[Attempt]:
        """Return a model's attempts on a split, only those with ``settings`` if they are given."""
        if settings is not None:
            one = self._known.get((data, split, model, text(settings)))
            return [] if one is None else [one]
        return [
            a for a in self._known.values() if (a.data, a.split, a.model) == (data, split, model)
        ]

    def add(self, attempts: Iterable[Attempt]) -> None:
        for attempt in attempts:
            self._keep(attempt)
            if self._path is not None:
                _append(self._path, attempt)


def best(attempts: Iterable[Attempt], metric: str) -> Attempt:
    """Return the attempt with the highest score."""
    by: Callable[[Attempt], float] = lambda attempt: attempt.scores[metric]
    return max(attempts, key=by)


def _read(row: dict[str, str]) -> Attempt:
    scores = {name: float(row[name]) for name in METRICS}
    settings = parsed(row["settings"])
    place = row["data"], int(row["split"]), row["model"]
    return Attempt(*place, settings, scores, float(row["seconds"]))


def _append(path: Path, attempt: Attempt) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.is_file()
    with path.open("a", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        if new:
            writer.writerow([*_KEYS, *METRICS, "seconds"])
        scores = (f"{attempt.scores[name]:.5f}" for name in METRICS)
        writer.writerow([*attempt.key, *scores, f"{attempt.seconds:.3f}"])
