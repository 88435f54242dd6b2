"""Features of documents as columns of a sparse matrix, the same in training and in serving.

Each feature becomes 0-1 columns: one for each frequent text, list member or truth value, and one
for each interval between the quantiles of a number. If a feature is a number in most documents, a
number written as text counts as that number. Missing features, and values unseen in training, have
no column.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from core.errors import ConfigError

Key = TypeVar("Key")

Document = Mapping[str, Any]
"""Features by name: a number, text, truth value or list of texts each."""

CATEGORIES = "categories"
"""Name of the feature that holds an item's categories."""
FEWEST_DOCUMENTS = 2
"""Fewest documents with a value: a value of one document says nothing about others."""
BINS = 8
"""Number of intervals of a number."""


@dataclass(frozen=True)
class Column:
    """The columns of one feature.

    One for each of ``values``, or for a number one more than there are ``edges``.
    """

    name: str
    values: tuple[str, ...] = ()
    edges: tuple[float, ...] | None = None

    @property
    def width(self) -> int:
        return len(self.values) if self.edges is None else len(self.edges) + 1


@dataclass(frozen=True)
class FeatureEncoder:
    """Turns documents into rows; ``to_json`` and ``of_json`` store it as JSON."""

    columns: tuple[Column, ...] = ()
    _column_of: dict[tuple[str, str], int] = field(init=False, repr=False, compare=False)
    _numbers: dict[str, tuple[int, tuple[float, ...]]] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        column_of: dict[tuple[str, str], int] = {}
        numbers: dict[str, tuple[int, tuple[float, ...]]] = {}
        at = 0
        for column in self.columns:
            if column.edges is not None:
                numbers[column.name] = (at, column.edges)
            else:
                column_of |= {(column.name, value): at + i for i, value in enumerate(column.values)}
            at += column.width
        object.__setattr__(self, "_column_of", column_of)
        object.__setattr__(self, "_numbers", numbers)

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return sum(column.width for column in self.columns)

    @property
    def names(self) -> list[str]:
        """Return the feature name of each column, (width,)."""
        return [column.name for column in self.columns for _ in range(column.width)]

    @property
    def features(self) -> list[str]:
        """Return the feature names, each once."""
        return [column.name for column in self.columns]

    def transform(self, documents: Sequence[Document], *, smooth: bool = False) -> sp.csr_array:
        """Return X (documents, width) of zeros and ones; rows without known features are empty.

        With ``smooth``, a number counts in two neighbouring intervals, by its distance from where
        each begins: numbers that differ little then have similar rows.
        """
        rows = [self._row(document, smooth=smooth) for document in documents]
        ptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        columns = np.fromiter((at for row in rows for at in sorted(row)), np.int64, int(ptr[-1]))
        values = (row[at] for row in rows for at in sorted(row))
        shares = np.fromiter(values, np.float32, columns.size)
        return sp.csr_array((shares, columns, ptr), shape=(len(rows), self.width))

    def _row(self, document: Document, *, smooth: bool) -> dict[int, float]:
        """Return the values of a document by column."""
        row: dict[int, float] = {}
        for name, value in document.items():
            if name in self._numbers and (number := _number(value)) is not None:
                first, edges = self._numbers[name]
                if smooth and len(edges) > 1:
                    row |= {first + at: share for at, share in _shares(edges, number)}
                else:
                    row[first + bisect_right(edges, number)] = 1.0
            else:
                columns = (self._column_of.get((name, text)) for text in _texts(value))
                row |= {column: 1.0 for column in columns if column is not None}
        return row

    def to_json(self) -> list[dict[str, Any]]:
        """Return the encoder as JSON values."""
        return [
            {"name": c.name, "values": list(c.values)}
            if c.edges is None
            else {"name": c.name, "edges": list(c.edges)}
            for c in self.columns
        ]

    @classmethod
    def of_json(cls, columns: Iterable[Mapping[str, Any]]) -> Self:
        """Return the encoder that ``to_json`` stored."""
        try:
            return cls(
                tuple(
                    Column(c["name"], edges=tuple(map(float, c["edges"])))
                    if "edges" in c
                    else Column(c["name"], tuple(map(str, c["values"])))
                    for c in columns
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"these are no columns of features: {error}") from error


def of_item(body: Mapping[str, Any]) -> Document:
    """Return the features of an item's document, with its categories as one more feature.

    >>> of_item({"categories": ["film"], "features": {"year": 1994}})
    {'year': 1994, 'categories': ['film']}
    """
    return {**body.get("features", {}), CATEGORIES: body.get("categories", [])}


@dataclass(frozen=True)
class LeftOut:
    """Lower bounds of what has no column because other names or values are more frequent."""

    names: int = 0
    values: int = 0


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds on an encoder's columns and on the memory of its fit."""

    names: int = 256
    """Number of features with columns; the most frequent are kept."""
    values: int = 1_000
    """Columns of one feature; the most frequent values are kept."""
    counted: int = 100_000
    """Distinct texts of all features that the fit counts; beyond it the rarer half is dropped."""
    numbers: int = 5_000
    """Numbers of one feature in the sample that sets its intervals."""


LIMITS = Limits()


class EncoderFit:
    """Learns an encoder from batches of documents, with bounded memory.

    It keeps counts and a sample of the numbers. A rare value that was dropped is counted from zero
    if it occurs again, so frequent values stay.
    """

    def __init__(self, rng: np.random.Generator, limits: Limits = LIMITS) -> None:
        self._rng, self._limits = rng, limits
        self._names: Counter[str] = Counter()
        self._as_number: Counter[str] = Counter()
        """Number of documents in which a feature is a number."""
        self._texts: Counter[tuple[str, str]] = Counter()
        self._numbers: dict[str, list[float]] = {}
        self._dropped = LeftOut()

    def add(self, documents: Iterable[Document]) -> None:
        """Count the values of more documents."""
        for document in documents:
            self._names.update(document.keys())
            for name, value in document.items():
                if _is_number(value):
                    self._sample(name, float(value))
                else:
                    self._texts.update((name, text) for text in set(_texts(value)))
            if len(self._names) > 2 * self._limits.names:
                self._drop_names()
            if len(self._texts) > self._limits.counted:
                self._drop_texts()

    def encoder(self) -> FeatureEncoder:
        """Return the encoder for all documents so far."""
        texts = self._frequent()
        columns = []
        for name in sorted(_most(self._names, self._limits.names)):
            # a feature with both numbers and texts is what it is in most documents
            if 2 * self._as_number[name] > self._names[name]:
                columns.append(Column(name, edges=_edges(self._numbers[name])))
            elif values := texts.get(name, [])[: self._limits.values]:
                columns.append(Column(name, tuple(values)))
        return FeatureEncoder(tuple(columns))

    @property
    def left_out(self) -> LeftOut:
        """Return what has no column because of the limits."""
        chosen = _most(self._names, self._limits.names)
        names = _of_several(n for name, n in self._names.items() if name not in chosen)
        values = sum(
            max(len(texts) - self._limits.values, 0) for texts in self._frequent().values()
        )
        return LeftOut(self._dropped.names + names, self._dropped.values + values)

    def _frequent(self) -> dict[str, list[str]]:
        """Return the texts of each feature that occur in several documents, most frequent first."""
        frequent: dict[str, list[str]] = {}
        for (name, text), n in sorted(self._texts.items(), key=lambda entry: (-entry[1], entry[0])):
            if n >= FEWEST_DOCUMENTS:
                frequent.setdefault(name, []).append(text)
        return frequent

    def _drop_names(self) -> None:
        kept = _most(self._names, self._limits.names)
        gone = _of_several(n for name, n in self._names.items() if name not in kept)
        self._dropped = replace(self._dropped, names=self._dropped.names + gone)
        for counts in (self._names, self._as_number, self._numbers):
            for name in counts.keys() - kept:
                del counts[name]
        self._texts = Counter({pair: n for pair, n in self._texts.items() if pair[0] in kept})

    def _drop_texts(self) -> None:
        kept = _most(self._texts, self._limits.counted // 2)
        gone = _of_several(n for pair, n in self._texts.items() if pair not in kept)
        self._dropped = replace(self._dropped, values=self._dropped.values + gone)
        self._texts = Counter({pair: n for pair, n in self._texts.items() if pair in kept})

    def _sample(self, name: str, number: float) -> None:
        """Keep a uniform sample of all numbers so far (reservoir sampling)."""
        kept = self._numbers.setdefault(name, [])
        self._as_number[name] += 1
        if len(kept) < self._limits.numbers:
            kept.append(number)
        elif (at := int(self._rng.integers(self._as_number[name]))) < self._limits.numbers:
            kept[at] = number


def _most(counts: Counter[Key], n: int) -> set[Key]:
    return {key for key, _ in counts.most_common(n)}


def _of_several(counts: Iterable[int]) -> int:
    return sum(n >= FEWEST_DOCUMENTS for n in counts)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> float | None:
    """Return a number, or the number that a text holds, as in forms and query strings; else None.

    >>> _number(25), _number("25"), _number("old"), _number(True)
    (25, 25.0, None, None)
    """
    if _is_number(value):
        return value  # type: ignore[no-any-return]
    try:
        written = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return None
    return written if math.isfinite(written) else None


def _texts(value: Any) -> list[str]:
    """Return the values of a feature as texts."""
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, list | tuple):
        return [str(member) for member in value]
    return [str(value)]


def _edges(numbers: Sequence[float]) -> tuple[float, ...]:
    """Return the distinct inner quantiles; an interval starts at its edge."""
    inner = np.unique(np.quantile(numbers, np.arange(1, BINS) / BINS, method="higher"))
    return tuple(edge for edge in inner.tolist() if edge > min(numbers))


def _shares(edges: Sequence[float], number: float) -> list[tuple[int, float]]:
    """Return the intervals in which a number counts, with shares that add up to 1.

    The first interval has no beginning; it is taken to be as wide as the second.

    >>> _shares((0.0, 10.0, 20.0), 7.5), _shares((0.0, 10.0), -14.0)
    ([(1, 0.25), (2, 0.75)], [(0, 1.0)])
    """
    begins = [2.0 * edges[0] - edges[1], *edges]
    at = bisect_right(begins, number)
    if at in {0, len(begins)}:
        return [(max(at - 1, 0), 1.0)]
    low, high = begins[at - 1], begins[at]
    share = (number - low) / (high - low)
    return [(at - 1, 1.0 - share), (at, share)] if share > 0.0 else [(at - 1, 1.0)]
