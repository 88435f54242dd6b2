"""Labelled points in the sparse text format of the Extreme Classification Repository.

The first line is ``points features labels``. Each other line is a point, ``3,17 0:1.5 20:0.2``,
with labels and features numbered from 0. A line that begins with a space has no labels.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from core.interactions import Interactions
from service.files.opening import LONGEST_ROW, BadFile, FileLines, opened

MOST, MOST_COLUMNS = 1 << 31, 1 << 26
"""Bounds of points (their numbers have 32 bits) and of features and labels (each has a vector)."""
LARGEST_FEATURE = 1e15
"""Largest absolute value of a feature: sums of squares must fit into 32-bit floats."""
FORM = "a point is 'label,label feature:value feature:value'"


@dataclass(frozen=True)
class LabelledPoints:
    """n points: ``features`` (n, d) f32 in CSR, ``labels`` as pairs of point and label."""

    features: sp.csr_array
    labels: Interactions


def read_xmlc(path: Path, *, longest_line: int = LONGEST_ROW) -> LabelledPoints:
    """Return all points of a file; a line of more than ``longest_line`` bytes is refused."""
    form = "file of labelled points"
    with opened(path, form=form, longest_line=longest_line, ends="\n") as lines:
        return _PointReader(path).read(_numbered(lines))


def _numbered(lines: FileLines) -> Iterator[tuple[int, str]]:
    """Yield (number, text) of each line."""
    for line in lines:
        yield lines.number, line.decode("ascii", "replace").rstrip("\r\n")


class _PointReader:
    """One pass over one file, into flat arrays."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._labels, self._label_ptr = array("i"), array("q", [0])
        self._features, self._values, self._ptr = array("i"), array("f"), array("q", [0])

    def read(self, lines: Iterator[tuple[int, str]]) -> LabelledPoints:
        number, first = next(lines)
        n, n_features, n_labels = self._header(number, first)
        for number, line in lines:
            if len(self._ptr) > n:
                if line.strip():
                    raise self._bad(
                        number, f"more than the {n} points of the first line: correct that number"
                    )
                continue
            self._point(number, line, n_features, n_labels)
        if len(self._ptr) - 1 < n:
            raise self._bad(
                number, f"{len(self._ptr) - 1} points, the first line says {n}: the file is cut off"
            )
        return self._points(n, n_features, n_labels)

    def _header(self, number: int, line: str) -> tuple[int, int, int]:
        parts = line.split()
        if len(parts) != 3 or not all(part.isdecimal() and len(part) < 16 for part in parts):
            raise self._bad(number, "the first line must be 'points features labels'")
        n, n_features, n_labels = (int(part) for part in parts)
        if not (n and n_features and n_labels):
            raise self._bad(number, "give at least one point, one feature and one label")
        if n >= MOST or max(n_features, n_labels) > MOST_COLUMNS:
            raise self._bad(
                number, f"fewer than {MOST} points, at most {MOST_COLUMNS} features or labels"
            )
        return n, n_features, n_labels

    def _point(self, number: int, line: str, n_features: int, n_labels: int) -> None:
        labels, _, features = line.partition(" ")
        if ":" in labels:
            raise self._bad(
                number, f"{labels[:40]!r} is not a label: without labels begin with a space"
            )
        if "_" in line:
            # Python would read 1_0 as ten
            raise self._bad(number, f"not a point: {FORM}, all numbers")
        try:
            known = sorted({int(label) for label in labels.split(",")}) if labels else []
            pairs = [pair.split(":") for pair in features.split()]
            values = {int(feature): float(value) for feature, value in pairs}
        except ValueError as error:
            raise self._bad(number, f"not a point: {FORM}, all numbers") from error
        self._check(number, known, n_labels, "label")
        self._check(number, sorted(values), n_features, "feature")
        if len(values) < len(pairs):
            raise self._bad(number, "a feature is given twice: keep one value")
        self._append(number, known, values)

    def _check(self, number: int, sorted_ids: list[int], n: int, what: str) -> None:
        if sorted_ids and not (sorted_ids[0] >= 0 and sorted_ids[-1] < n):
            outside = sorted_ids[0] if sorted_ids[0] < 0 else sorted_ids[-1]
            raise self._bad(number, f"{what} {outside} is outside 0 .. {n - 1} of the first line")

    def _append(self, number: int, labels: list[int], values: dict[int, float]) -> None:
        for feature in sorted(values):
            value = values[feature]
            if not abs(value) <= LARGEST_FEATURE:
                raise self._bad(
                    number,
                    f"feature {feature} must be finite, at most {LARGEST_FEATURE:g}: "
                    "correct or remove it",
                )
            self._features.append(feature)
            self._values.append(value)
        self._labels.extend(labels)
        self._ptr.append(len(self._features))
        self._label_ptr.append(len(self._labels))

    def _points(self, n: int, n_features: int, n_labels: int) -> LabelledPoints:
        features: sp.csr_array = sp.csr_array(
            (
                np.frombuffer(self._values, np.float32)
                if self._values
                else np.empty(0, np.float32),
                np.array(self._features, np.int32),
                np.array(self._ptr, np.int64),
            ),
            shape=(n, n_features),
        )
        labels = Interactions(
            n_labels, np.array(self._label_ptr, np.int64), np.array(self._labels, np.int32)
        )
        return LabelledPoints(features, labels)

    def _bad(self, number: int, problem: str) -> BadFile:
        return BadFile(self._path, problem, line=number)
