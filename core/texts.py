"""Search in short texts: all words of a question must be there, whatever their case and accents.

The texts of many items are one column of folded words, which is looked through as a whole.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from core.batch.words.tokens import words_of
from core.types import F64, I64

_TEXT = np.dtypes.StringDType()


def folded(text: str) -> list[str]:
    """Return the words of a text as they are compared.

    >>> folded("Amélie: le FABULEUX destin")
    ['amelie', 'le', 'fabuleux', 'destin']
    """
    parts = unicodedata.normalize("NFKD", text)
    return words_of("".join(part for part in parts if not unicodedata.combining(part)))


@dataclass(frozen=True)
class Texts:
    """The words of the texts 0 .. n - 1."""

    column: NDArray[np.str_]
    """(n,): the words of each, a blank before and after every one."""

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Texts":
        """Return texts in the form in which they are searched."""
        spaced = ["".join(f" {word} " for word in folded(text)) for text in texts]
        return cls(np.array(spaced, _TEXT))

    def search(self, words: Sequence[str]) -> tuple[I64, F64]:
        """Return the texts that hold all words, and which share of each the words are.

        >>> texts = Texts.of(["Toy Story", "A toy story of toys", "Toys"])
        >>> found, share = texts.search(folded("TOY story"))
        >>> found.tolist(), share.round(2).tolist()
        ([0, 1], [1.0, 0.4])
        """
        found = np.arange(self.column.size)
        counted = np.zeros(self.column.size)
        for word in dict.fromkeys(words):
            times = np.strings.count(self.column[found], f" {word} ")
            found, counted = found[times > 0], (counted + times)[times > 0]
        return found, counted / np.maximum(self._lengths[found], 1)

    @cached_property
    def _lengths(self) -> I64:
        """The number of words of each text."""
        return np.strings.count(self.column, " ") // 2
