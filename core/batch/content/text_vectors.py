"""Vectors of texts: means of the vectors that their words get from the catalogue's own texts.

They carry to each other what was learned of items with words of like meaning, so they tell most
where few items were taken. Words of their own columns (``words.py``) tell more where many were, so
the fit chooses.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.batch.content.words import WordFit, texts_of
from core.batch.feature_map import unit_rows
from core.batch.words.cooccurrence import MOST_WORDS, Cooccurrence
from core.batch.words.tokens import words_of
from core.batch.words.vectors import WordsConfig, fit_words
from core.errors import ShapeError
from core.types import F32

FACTORS = 64
FEWEST_WORDS = 50_000
"""Fewest words of all texts together: with fewer, too few stand beside each other often enough."""
MOST_KNOWN, FEWEST_DOCUMENTS = 20_000, 3
"""Most words with a vector, those in most documents, and the fewest documents of each."""


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


class TextVectorsFit:
    """Learns vectors from batches of documents, with bounded memory."""

    def __init__(self, words: WordFit, *, most: int = MOST_WORDS, seed: int = 0) -> None:
        """``words`` has counted all documents; about ``most`` of their words are read."""
        self._weights = words.weights(MOST_KNOWN, FEWEST_DOCUMENTS)
        self.wanted = words.running >= FEWEST_WORDS and len(self._weights) >= 2 * FACTORS
        """Whether there are enough texts to learn from."""
        self._share = min(1.0, most / max(words.running, 1))
        self._rng, self._seed = np.random.default_rng([seed, 17]), seed
        numbers = {word: number for number, word in enumerate(self._weights)}
        self._beside = Cooccurrence(numbers, most=most)

    def add(self, bodies: Iterable[Mapping[str, Any]]) -> None:
        """Read more documents; of very many words a sample of the documents is read."""
        for body in bodies:
            if self._rng.random() < self._share:
                self._beside.add(map(words_of, texts_of(body)))

    def vectors(self) -> TextVectors:
        """Return what was learned."""
        config = WordsConfig(factors=FACTORS, seed=self._seed)
        return TextVectors(self._weights, fit_words(self._beside.counts(), config))
