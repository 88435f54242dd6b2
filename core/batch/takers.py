"""Users who took items that a model has not learned: by them, such items are folded in.

Every family reads the same rows, each in its own way, as in a training: the preferences for learned
items tell who the users are, those for the others are the pairs of the new items.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.batch.preferences import Preferences
from core.types import F32, I32, I64

MOST_ITEMS = 10_000
"""Most items that are folded in, those with most likes; with more, a model should be trained."""

Mask = NDArray[np.bool_]


class NewPairs(NamedTuple):
    """The pairs of m items that a model has not learned: of item i, those from ``ptr[i]`` on."""

    items: I32
    """Item numbers, rising (m,)."""
    ptr: I64
    user_ix: I64
    """Rows of the takers, (n,)."""
    evidence: F32
    """(n,): the weight of a like, less the weight of a dislike."""

    def of(self, at: int) -> slice:
        """Return where the pairs of an item are."""
        return slice(int(self.ptr[at]), int(self.ptr[at + 1]))


@dataclass(frozen=True, eq=False)
class Takers:
    """The preferences of some users: row u is ``item_ix[ptr[u]:ptr[u + 1]]``.

    >>> some = Takers.of_rows([Preferences(*map(np.array, ([1, 7], [1, 2], [1, 0], [])))])
    >>> some.item_ix.tolist(), some.evidence.tolist(), some.pairs_but(np.zeros(3, np.bool_)).items
    ([1, 7], [1.0, -2.0], array([1], dtype=int32))
    """

    ptr: I64
    """(users + 1,)"""
    item_ix: I32
    """(n,), rising within a row."""
    evidence: F32
    """(n,): the weight of a like, less the weight of a dislike."""

    @classmethod
    def of_rows(cls, rows: Sequence[Preferences]) -> "Takers":
        """Return users with these preferences."""
        ptr = np.cumsum([0, *(row.item_ix.size for row in rows)]).astype(np.int64)
        items = [np.empty(0, np.int32), *(row.item_ix for row in rows)]
        evidence = [np.empty(0, np.float32)]
        evidence += [np.where(row.target > 0.0, row.weight, -row.weight) for row in rows]
        return cls(
            ptr,
            np.concatenate(items).astype(np.int32),
            np.concatenate(evidence).astype(np.float32),
        )

    @classmethod
    def joined(cls, parts: Iterable["Takers"]) -> "Takers":
        """Return the users of several partitions, in the order of the parts."""
        parts = [NOBODY, *parts]
        counts = np.concatenate([np.diff(part.ptr) for part in parts])
        return cls(
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.concatenate([part.item_ix for part in parts]),
            np.concatenate([part.evidence for part in parts]),
        )

    def arrays(self) -> dict[str, Any]:
        """Return everything as arrays for a snapshot."""
        return {"ptr": self.ptr, "item_ix": self.item_ix, "evidence": self.evidence}

    @classmethod
    def of(cls, arrays: Mapping[str, Any]) -> "Takers":
        """Return what ``arrays`` has made."""
        return cls(arrays["ptr"], arrays["item_ix"], arrays["evidence"])

    @cached_property
    def version(self) -> str:
        """Return a text that is the same for the same preferences."""
        digest = blake2b(digest_size=8)
        for array in self.arrays().values():
            digest.update(array.tobytes())
        return digest.hexdigest()

    @property
    def n_users(self) -> int:
        return self.ptr.size - 1

    @property
    def user_ix(self) -> I64:
        """Return the user of each preference, (n,)."""
        return np.repeat(np.arange(self.n_users), np.diff(self.ptr))

    def row(self, user: int, learned: Mask) -> tuple[I32, F32]:
        """Return a user's learned items, and the evidence for each."""
        own = slice(int(self.ptr[user]), int(self.ptr[user + 1]))
        items, evidence = self.item_ix[own], self.evidence[own]
        kept = items < learned.size
        kept[kept] = learned[items[kept]]
        return items[kept], evidence[kept]

    def pairs_but(self, learned: Mask) -> NewPairs:
        """Return the pairs of all items that somebody likes and that are not learned."""
        new = self.item_ix >= learned.size
        new[~new] = ~learned[self.item_ix[~new]]
        at = np.flatnonzero(new)
        items, place = np.unique(self.item_ix[at], return_inverse=True)
        likes = np.bincount(place, self.evidence[at] > 0.0, items.size)
        most = np.argsort(-likes, kind="stable")[:MOST_ITEMS]
        chosen = np.zeros(items.size, np.bool_)
        chosen[most] = likes[most] > 0.0
        at, place = at[chosen[place]], (np.cumsum(chosen) - 1)[place[chosen[place]]]
        order = np.argsort(place, kind="stable")
        ptr = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=int(chosen.sum())))])
        own = at[order]
        return NewPairs(
            items[chosen].astype(np.int32),
            ptr.astype(np.int64),
            self.user_ix[own],
            self.evidence[own],
        )


NOBODY = Takers(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
