"""Learn from documents how they are turned into rows, the vectors of their words among it.

Apart from the encoder, so that a process that only reads models imports no code that fits.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from core.batch.content.encoder import Bodies, DocumentEncoder
from core.batch.content.text_vectors import TextVectors
from core.batch.content.words import WordFit, texts_of
from core.batch.words.cooccurrence import MOST_WORDS, Cooccurrence
from core.batch.words.tokens import words_of
from core.batch.words.vectors import WordsConfig, fit_words
from core.features import EncoderFit, of_item

FACTORS = 64
FEWEST_WORDS = 50_000
"""Fewest words of all texts together: with fewer, too few stand beside each other often enough."""
MOST_KNOWN, FEWEST_DOCUMENTS = 20_000, 3
"""Most words with a vector, those in most documents, and the fewest documents of each."""


def encoder_of(bodies: Bodies) -> DocumentEncoder:
    """Return an encoder of documents that are all in memory."""
    facts, words = EncoderFit(np.random.default_rng(0)), WordFit()
    facts.add(map(of_item, bodies))
    words.add(bodies)
    texts = text_vectors_of(lambda: [bodies], words)
    return DocumentEncoder(facts.encoder(), words.words(), texts)


def text_vectors_of(pages: Callable[[], Iterable[Bodies]], words: WordFit) -> TextVectors | None:
    """Return vectors of the texts of all documents; None where there are few texts.

    ``pages`` yields the documents that ``words`` has counted.
    """
    texts = TextVectorsFit(words)
    if not texts.wanted:
        return None
    for bodies in pages():
        texts.add(bodies)
    return texts.vectors()


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
