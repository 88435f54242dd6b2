"""Words of free texts in documents: which words of a catalogue count, and rows of them."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.batch.words.tokens import words_of
from core.errors import ConfigError

MOST_WORDS = 1_000
"""Words with a column, those in most documents; each costs time in the fit, with its square."""
FEWEST_DOCUMENTS = 2
"""Fewest documents with a word: a word of one document says nothing about others."""
COMMON = 0.7
"""Share of the documents above which a word says nothing: articles, and what all items are."""
COUNTED = 200_000
"""Distinct words that a fit counts; beyond it the rarer half is dropped."""


def texts_of(body: Mapping[str, Any]) -> list[str]:
    """Return the free texts of an item's document: its features that are texts."""
    return [value for value in body.get("features", {}).values() if isinstance(value, str)]


@dataclass(frozen=True)
class Words:
    """The words of a catalogue, each with the number by which it counts."""

    weights: Mapping[str, float] = field(default_factory=dict)
    """log(1 + documents / documents with it), in the order of the columns."""
    _column: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        columns = {word: at for at, word in enumerate(self.weights)}
        object.__setattr__(self, "_column", columns)

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return len(self.weights)

    def row(self, body: Mapping[str, Any]) -> dict[int, float]:
        """Return the words of a document by column, with length 1 together; empty without any."""
        said = {word for text in texts_of(body) for word in words_of(text)}
        known = {word: self.weights[word] for word in said if word in self.weights}
        length = math.sqrt(sum(weight * weight for weight in known.values()))
        return {self._column[word]: weight / length for word, weight in sorted(known.items())}

    def to_json(self) -> list[list[Any]]:
        """Return the words as JSON values."""
        return [[word, weight] for word, weight in self.weights.items()]

    @classmethod
    def of_json(cls, stored: Iterable[Sequence[Any]]) -> "Words":
        """Return the words that ``to_json`` stored."""
        try:
            return cls({str(word): float(weight) for word, weight in stored})
        except (TypeError, ValueError) as error:
            raise ConfigError(f"these are no words with weights: {error}") from error


class WordFit:
    """Counts the words of a catalogue in batches of documents, with bounded memory."""

    def __init__(self, *, most: int = MOST_WORDS, counted: int = COUNTED) -> None:
        self._most, self._counted = most, counted
        self._documents = 0
        self.running = 0
        """Number of words in all texts."""
        self._often: Counter[str] = Counter()

    def add(self, bodies: Iterable[Mapping[str, Any]]) -> None:
        """Count the words of more documents; one without a text does not count."""
        for body in bodies:
            words = [word for text in texts_of(body) for word in words_of(text)]
            self._documents += bool(words)
            self.running += len(words)
            self._often.update({*words})
            if len(self._often) > self._counted:
                self._often = Counter(dict(self._often.most_common(self._counted // 2)))

    def words(self) -> Words:
        """Return the words that tell documents apart, the most frequent first."""
        return Words(self.weights(self._most, FEWEST_DOCUMENTS))

    def weights(self, most: int, fewest: int) -> dict[str, float]:
        """Return the weights of words in at least ``fewest`` documents, the most frequent first."""
        common = max(COMMON * self._documents, FEWEST_DOCUMENTS)
        order = sorted(self._often.items(), key=lambda entry: (-entry[1], entry[0]))
        kept = [(word, n) for word, n in order if fewest <= n <= common][:most]
        return {word: math.log1p(self._documents / n) for word, n in kept}
