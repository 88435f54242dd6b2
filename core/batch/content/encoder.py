"""What is said of items as rows: columns of features, of words, and vectors of texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from core.batch.content.text_vectors import TextVectors
from core.batch.content.words import Words
from core.batch.feature_map import unit_rows
from core.features import FeatureEncoder, of_item

SAID, MEANT = 0.5, 0.25
"""Lengths of the words of a document and of its texts, beside features of length 1."""

Bodies = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class DocumentEncoder:
    """Turns documents of items into rows: features, words, then vectors of texts if there are any.

    ``to_json`` and ``of_json`` store the features and words as JSON.
    """

    facts: FeatureEncoder = field(default_factory=FeatureEncoder)
    words: Words = field(default_factory=Words)
    texts: TextVectors | None = None

    @property
    def named(self) -> int:
        """Return the number of columns that are features and words."""
        return self.facts.width + self.words.width

    @property
    def width(self) -> int:
        """Return the number of all columns."""
        return self.named + (0 if self.texts is None else self.texts.width)

    def transform(self, bodies: Bodies) -> sp.csr_array:
        """Return the rows (n, width) of documents; one that says nothing known is empty.

        The features of a document have length 1 together, its words SAID, its texts MEANT.
        """
        documents = [of_item(body) for body in bodies]
        parts: list[Any] = [unit_rows(self.facts.transform(documents, smooth=True))]
        if self.words.width:
            parts.append(self._words(bodies))
        if self.texts is not None:
            parts.append(sp.csr_array(np.float32(MEANT) * self.texts.of(bodies)))
        return sp.csr_array(sp.hstack(parts, format="csr"), dtype=np.float32)

    def _words(self, bodies: Bodies) -> sp.csr_array:
        rows = [self.words.row(body) for body in bodies]
        ptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        column = np.fromiter((at for row in rows for at in sorted(row)), np.int64, int(ptr[-1]))
        value = (SAID * row[at] for row in rows for at in sorted(row))
        values = np.fromiter(value, np.float32, column.size)
        return sp.csr_array((values, column, ptr), shape=(len(rows), self.words.width))

    def to_json(self) -> dict[str, Any]:
        """Return the features and words as JSON values."""
        return {"facts": self.facts.to_json(), "words": self.words.to_json()}

    @classmethod
    def of_json(
        cls, stored: Mapping[str, Any], texts: TextVectors | None = None
    ) -> "DocumentEncoder":
        """Return the encoder that ``to_json`` stored, with its vectors of texts."""
        facts = FeatureEncoder.of_json(stored["facts"])
        return cls(facts, Words.of_json(stored.get("words", ())), texts)


class Described(NamedTuple):
    """The items as their documents describe them."""

    encoder: DocumentEncoder
    rows: sp.csr_array
    """(items, encoder.width)"""

    @property
    def without_texts(self) -> "Described":
        """Return the same without vectors of texts."""
        named: Any = self.rows[:, : self.encoder.named]
        return Described(replace(self.encoder, texts=None), sp.csr_array(named))
