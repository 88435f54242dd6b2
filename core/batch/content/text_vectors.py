"""Vectors of texts: means of the vectors that their words get from the catalogue's own texts.

They carry to each other what was learned of items with words of like meaning, so they tell most
where few items were taken. Words of their own columns (``words.py``) tell more where many were, so
the fit chooses.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.batch.content.words import texts_of
from core.batch.feature_map import unit_rows
from core.batch.words.tokens import words_of
from core.errors import ShapeError
from core.types import F32


@dataclass(frozen=True, eq=False)
class TextVectors:
    """n words with a vector and a weight each; a text is the mean of those it has."""

    weights: Mapping[str, float]
    """log(1 + documents / documents with it), in the order of the vectors."""
    vectors: F32
    """(n, g), of length 1; 0 for a word of which nothing was learned."""
    _number: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.weights) != len(self.vectors):
            shape = self.vectors.shape
            raise ShapeError(f"{len(self.weights)} words have vectors of the shape {shape}")
        numbers = {word: number for number, word in enumerate(self.weights)}
        object.__setattr__(self, "_number", numbers)

    @property
    def width(self) -> int:
        """Return the number of factors."""
        return int(self.vectors.shape[1])

    def of(self, bodies: Sequence[Mapping[str, Any]]) -> F32:
        """Return the vectors of documents (m, g), of length 1; 0 without a known word.

        A word counts once in a document, whichever of its texts it is in.
        """
        found = np.zeros((len(bodies), self.width), np.float32)
        for at, body in enumerate(bodies):
            said = {word for text in texts_of(body) for word in words_of(text)}
            known = sorted(word for word in said if word in self._number)
            if known:
                weights = np.array([self.weights[word] for word in known], np.float32)
                found[at] = weights @ self.vectors[[self._number[word] for word in known]]
        unit: F32 = np.asarray(unit_rows(found), np.float32)
        return unit
