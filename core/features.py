"""Documents' features as columns of a sparse matrix, the same when a model is trained and when it serves.

Each feature becomes 0-1 columns: one for each frequent text, list member or truth value, and for a number one for
each interval between its quantiles. What was not seen in training, or is missing, has no column.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from core.errors import ConfigError

Document = Mapping[str, Any]
"""Feature name -> number, text, truth value or list of texts."""

MOST_VALUES = 1_000
"""Columns of one feature."""
FEWEST_DOCUMENTS = 2
"""A value of a single document says nothing about others."""
BINS = 8
MOST_COUNTED, MOST_NUMBERS = 100_000, 20_000
"""What the fit holds of one feature: bounds its memory."""


@dataclass(frozen=True)
class Column:
    """One feature: either ``values`` (one column each) or ``edges`` of a number (one more column than edges)."""

    name: str
    values: tuple[str, ...] = ()
    edges: tuple[float, ...] | None = None

    @property
    def width(self) -> int:
        return len(self.values) if self.edges is None else len(self.edges) + 1


@dataclass(frozen=True)
class FeatureEncoder:
    """From documents to rows; JSON can hold it (``to_json``, ``of_json``)."""

    columns: tuple[Column, ...] = ()
    _places: dict[tuple[str, str], int] = field(init=False, repr=False, compare=False)
    _numbers: dict[str, tuple[int, tuple[float, ...]]] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        places: dict[tuple[str, str], int] = {}
        numbers: dict[str, tuple[int, tuple[float, ...]]] = {}
        at = 0
        for column in self.columns:
            if column.edges is not None:
                numbers[column.name] = (at, column.edges)
            else:
                places |= {(column.name, value): at + i for i, value in enumerate(column.values)}
            at += column.width
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_numbers", numbers)

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return sum(column.width for column in self.columns)

    @property
    def names(self) -> list[str]:
        """Return the name of each column's feature, (width,)."""
        return [column.name for column in self.columns for _ in range(column.width)]

    def transform(self, documents: Sequence[Document]) -> sp.csr_array:
        """Return X (documents, width), 0-1; a document without known features is an empty row."""
        rows = [self._row(document) for document in documents]
        ptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        columns = np.fromiter((at for row in rows for at in row), np.int64, int(ptr[-1]))
        ones = np.ones(columns.size, np.float32)
        return sp.csr_array((ones, columns, ptr), shape=(len(rows), self.width))

    def _row(self, document: Document) -> list[int]:
        found = set()
        for name, value in document.items():
            if name in self._numbers and _is_number(value):
                first, edges = self._numbers[name]
                found.add(first + bisect_right(edges, value))
            else:
                places = (self._places.get((name, text)) for text in _texts(value))
                found.update(place for place in places if place is not None)
        return sorted(found)

    def to_json(self) -> list[dict[str, Any]]:
        """Return what ``of_json`` reads."""
        return [
            {"name": c.name, "values": list(c.values)}
            if c.edges is None
            else {"name": c.name, "edges": list(c.edges)}
            for c in self.columns
        ]

    @classmethod
    def of_json(cls, columns: Iterable[Mapping[str, Any]]) -> Self:
        """Return the encoder that ``to_json`` wrote."""
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
    """Return what an item's document says: its features, and its categories as one more.

    >>> of_item({"categories": ["film"], "features": {"year": 1994}})
    {'year': 1994, 'categories': ['film']}
    """
    return {**body.get("features", {}), "categories": body.get("categories", [])}


class EncoderFit:
    """Learns an encoder from documents, some at a time; holds counts and a sample of numbers."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._texts: dict[str, Counter[str]] = {}
        self._numbers: dict[str, list[float]] = {}
        self._seen: Counter[str] = Counter()

    def add(self, documents: Iterable[Document]) -> None:
        """Count the values of these documents."""
        for document in documents:
            for name, value in document.items():
                if _is_number(value):
                    self._sample(name, float(value))
                else:
                    counts = self._texts.setdefault(name, Counter())
                    texts = set(_texts(value))
                    full = len(counts) >= MOST_COUNTED
                    counts.update(text for text in texts if not full or text in counts)

    def encoder(self) -> FeatureEncoder:
        """Return the encoder of all documents so far."""
        columns = []
        for name in sorted(self._texts.keys() | self._numbers.keys()):
            texts, numbers = self._texts.get(name, Counter()), self._numbers.get(name, [])
            # a feature that is sometimes a number and sometimes a text is what it mostly is
            if self._seen[name] > texts.total():
                columns.append(Column(name, edges=_edges(numbers)))
            elif values := _frequent(texts):
                columns.append(Column(name, values))
        return FeatureEncoder(tuple(columns))

    def _sample(self, name: str, number: float) -> None:
        """Keep a uniform sample of what came so far (reservoir)."""
        kept = self._numbers.setdefault(name, [])
        self._seen[name] += 1
        if len(kept) < MOST_NUMBERS:
            kept.append(number)
        elif (at := int(self._rng.integers(self._seen[name]))) < MOST_NUMBERS:
            kept[at] = number


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _texts(value: Any) -> list[str]:
    """Return the values of a feature as texts; a number that is taken for a text is written out."""
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, list | tuple):
        return [str(member) for member in value]
    return [str(value)]


def _frequent(counts: Counter[str]) -> tuple[str, ...]:
    usual = sorted((-n, text) for text, n in counts.items() if n >= FEWEST_DOCUMENTS)
    return tuple(text for _, text in usual[:MOST_VALUES])


def _edges(numbers: Sequence[float]) -> tuple[float, ...]:
    """Return inner quantiles, each once: an interval starts with its edge."""
    inner = np.unique(np.quantile(numbers, np.arange(1, BINS) / BINS, method="higher"))
    return tuple(edge for edge in inner.tolist() if edge > min(numbers))
