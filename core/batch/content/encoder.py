"""What is said of items as rows: the columns of their features, and the words of their texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from core.batch.content.words import WordFit, Words
from core.batch.feature_map import unit_rows
from core.features import EncoderFit, FeatureEncoder, of_item

SAID = 0.5
"""Length of the words of a document, beside features of length 1."""


@dataclass(frozen=True)
class DocumentEncoder:
    """Turns documents of items into rows; ``to_json`` and ``of_json`` store it as JSON."""

    facts: FeatureEncoder = field(default_factory=FeatureEncoder)
    words: Words = field(default_factory=Words)

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return self.facts.width + self.words.width

    def transform(self, bodies: Sequence[Mapping[str, Any]]) -> sp.csr_array:
        """Return the rows (n, width) of documents; one that says nothing known is empty.

        The features of a document have length 1 together, its words SAID.
        """
        documents = [of_item(body) for body in bodies]
        facts: Any = unit_rows(self.facts.transform(documents, smooth=True))
        if not self.words.width:
            return sp.csr_array(facts)
        rows = [self.words.row(body) for body in bodies]
        ptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        column = np.fromiter((at for row in rows for at in sorted(row)), np.int64, int(ptr[-1]))
        value = (SAID * row[at] for row in rows for at in sorted(row))
        values = np.fromiter(value, np.float32, column.size)
        said = sp.csr_array((values, column, ptr), shape=(len(rows), self.words.width))
        return sp.csr_array(sp.hstack([facts, said], format="csr"), dtype=np.float32)

    def to_json(self) -> dict[str, Any]:
        """Return the encoder as JSON values."""
        return {"facts": self.facts.to_json(), "words": self.words.to_json()}

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> "DocumentEncoder":
        """Return the encoder that ``to_json`` stored."""
        facts = FeatureEncoder.of_json(stored["facts"])
        return cls(facts, Words.of_json(stored.get("words", ())))


def encoder_of(bodies: Sequence[Mapping[str, Any]]) -> DocumentEncoder:
    """Return an encoder of documents that are all in memory."""
    facts, words = EncoderFit(np.random.default_rng(0)), WordFit()
    facts.add(map(of_item, bodies))
    words.add(bodies)
    return DocumentEncoder(facts.encoder(), words.words())


class Described(NamedTuple):
    """The items as their documents describe them."""

    encoder: DocumentEncoder
    rows: sp.csr_array
    """(items, encoder.width)"""
