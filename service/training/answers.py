"""The answers of a model: its scores and lists for several users at once.

The evaluation and the gate read every model through this interface, whatever it consists of.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.batch.ranker import rank
from core.interactions import Interactions
from core.kernels import scan
from core.types import F32, I32, I64

Bools = NDArray[np.bool_]
BLOCK = 256
"""Users whose scores of all items are in memory at a time."""
_EVERY: Bools = np.empty(0, np.bool_)
"""Empty mask: every item may be listed."""


@dataclass(frozen=True)
class Asked:
    """n users who get answers, and their histories; all rows are in the same order."""

    user_ix: I64
    """Numbers of the users in the material, (n,)."""
    rows: Interactions
    """Their preferences; with times where the material has times."""
    seen: Interactions
    """The items that their lists leave out."""

    def part(self, first: int, last: int) -> "Asked":
        """Return the users first .. last - 1."""
        at = np.arange(first, min(last, self.user_ix.size))
        return Asked(self.user_ix[at], self.rows.rows(at), self.seen.rows(at))


class Answers(ABC):
    """A fitted model as it answers the users of its material."""

    informed: Bools | None = None
    """(users,): whether the model knows a user even without pairs; None: no user."""

    @property
    @abstractmethod
    def n_items(self) -> int:
        """Return the number of items; the model knows the items 0 .. n_items - 1."""

    @abstractmethod
    def scores(self, asked: Asked) -> F32:
        """Return the scores of all items (n, n_items); -inf where an item cannot be listed.

        The scores of a user about whom the model knows nothing are all 0 or -inf.
        """

    def ranked(self, asked: Asked, k: int) -> tuple[I32, F32]:
        """Return the best k items of each user (n, k) and their scores; -1 and -inf at the end."""
        n = asked.user_ix.size
        ids, scores = np.empty((n, k), np.int32), np.empty((n, k), np.float32)
        for first in range(0, n, BLOCK):
            part = asked.part(first, first + BLOCK)
            for at, row in enumerate(self.scores(part)):
                seen = part.seen.item_ix[part.seen.ptr[at] : part.seen.ptr[at + 1]]
                scan.select(row, seen, _EVERY, ids[first + at], scores[first + at])
        return ids, scores


@dataclass(frozen=True)
class UserVectors(Answers):
    """The answers of a model whose scores are products of the users' and the items' vectors."""

    vectors: Callable[[I64, Interactions], F32]
    """Maps user numbers and their rows to vectors (users, factors)."""
    item_factors: F32
    informed: Bools | None = None

    @property
    def n_items(self) -> int:
        return len(self.item_factors)

    def scores(self, asked: Asked) -> F32:
        found: F32 = self.vectors(asked.user_ix, asked.rows) @ self.item_factors.T
        return found

    def ranked(self, asked: Asked, k: int) -> tuple[I32, F32]:
        vectors = self.vectors(asked.user_ix, asked.rows)
        return rank(vectors, np.ascontiguousarray(self.item_factors), asked.seen, k)
