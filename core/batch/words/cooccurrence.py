"""Which words stand beside which: counts in a window, and the pairs that fBGD learns from."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import scipy.sparse as sp

from core.interactions import Interactions, from_pairs
from core.types import I64

WINDOW = 10
"""Words to each side that stand beside a word; a word at distance d counts 1/d."""
MOST_WORDS = 2_000_000
"""Words of texts that are counted; it bounds the distinct pairs, and so the memory of a fit."""
AT_ONCE = 200_000
"""Words that are counted together."""
CERTAIN, POWER = 100.0, 0.75
"""Count from which a pair has weight 1, and the power by which fewer weigh less, as in GloVe."""


class Cooccurrence:
    """Counts words beside words in texts; words without a number count as if left out.

    >>> counted = Cooccurrence({"old": 0, "sea": 1}, window=2)
    >>> counted.add([["old", "green", "sea"], ["sea"]])
    >>> counted.counts().toarray()
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(
        self, numbers: Mapping[str, int], *, window: int = WINDOW, most: int = MOST_WORDS
    ) -> None:
        """``numbers`` are 0 .. n - 1, one for each word; ``most`` bounds the words counted."""
        self._numbers, self._window, self._left = numbers, window, most
        self._ids: list[int] = []
        self._texts: list[int] = []
        self._n_texts = 0
        self._counts: Any = sp.csr_array((len(numbers), len(numbers)))

    @property
    def full(self) -> bool:
        """Return whether as many words were counted as may be."""
        return self._left <= 0

    def add(self, texts: Iterable[Sequence[str]]) -> None:
        """Count the words of more texts."""
        for text in texts:
            if self.full:
                break
            known = [self._numbers[word] for word in text if word in self._numbers]
            self._ids += known
            self._texts.extend(repeat(self._n_texts, len(known)))
            self._n_texts += 1
            self._left -= len(known)
            if len(self._ids) >= AT_ONCE:
                self._count()

    def counts(self) -> sp.csr_array:
        """Return how often words stand beside words, symmetric (n, n); c_xy counts 1/distance."""
        self._count()
        both: Any = self._counts + self._counts.T
        return sp.csr_array(both)

    def _count(self) -> None:
        """Add the words that wait to the counts of a word and one that follows it."""
        ids, texts = np.array(self._ids, np.int64), np.array(self._texts, np.int64)
        for distance in range(1, self._window + 1):
            same = texts[:-distance] == texts[distance:]
            self._add(ids[:-distance][same], ids[distance:][same], 1.0 / distance)
        self._ids, self._texts = [], []

    def _add(self, first: I64, second: I64, weight: float) -> None:
        once = np.full(first.size, weight)
        self._counts += sp.coo_array((once, (first, second)), shape=self._counts.shape).tocsr()


def word_pairs(counts: sp.csr_array) -> Interactions:
    """Return the words beside words as pairs: each word is a user, and each beside it an item.

    Equation   target = max(log(c_xy c / (c_x c_y)), 0), weight = min(1, (c_xy / 100)^0.75); a sum
               stands for each index that is left out                        [fBGD, 3.4 and 5.1.3]
    Shapes     counts c (n, n), symmetric, not negative

    >>> pairs = word_pairs(sp.csr_array(np.array([[0.0, 100.0], [100.0, 0.0]])))
    >>> pairs.item_ix.tolist(), pairs.target.round(3), pairs.weight
    ([1, 0], array([0.693, 0.693], dtype=float32), None)
    """
    found: Any = counts.tocoo()
    total = np.asarray(counts.sum(axis=1), np.float64)
    chance = total[found.row] * total[found.col] / total.sum()
    return from_pairs(
        found.row,
        found.col,
        n_users=counts.shape[0],
        n_items=counts.shape[0],
        weight=np.minimum((found.data / CERTAIN) ** POWER, 1.0),
        target=np.maximum(np.log(found.data / chance), 0.0),
    )
