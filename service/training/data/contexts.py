"""Where events happened, before and after a cut, built page by page.

Names with more texts than can be learned, such as the number of a visit, cost no memory: what comes
after the first texts of a name is left out.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.batch.here.likes import ContextLikes, Said
from core.kernels.scan import Mask
from core.meaning import EventMeanings
from core.types import I32, I64
from service.store.profiles.contexts import context_of, entries_of
from service.store.profiles.history_reader import Histories
from service.store.profiles.history_record import sequences
from service.training.data.dataset import Contexts

MOST_NAMES, MOST_TEXTS = 64, 1_000
"""Most names of contexts, and most texts of each, that are counted: the first that come."""
_MOST_KNOWN = 100_000
"""Most texts of contexts that are kept beside what they mean."""
_SEQUENCE_BITS = 48


class ContextPages:
    """The contexts of all users, page by page."""

    def __init__(self, n_items: int, meanings: EventMeanings) -> None:
        self._n_items, self._meanings = n_items, meanings
        self._seen = _Seen()
        self._known: list[_Likes] = []
        self._whole: list[_Likes] = []
        self._later: list[I32] = []

    def add(
        self,
        page: Histories,
        packed: Sequence[bytes],
        known: NDArray[np.bool_],
        later: NDArray[np.bool_],
    ) -> None:
        """Add a page; ``packed`` has what is stored of where the events of each user happened."""
        records = page.records
        means = self._meanings.meaning(records["kind"], records["value"])
        counts = (means.weight > 0.0) & (records["item"] < self._n_items)
        where = self._where(page, packed)
        liked = counts & (means.sign > 0) & (where >= 0)
        self._known.append(self._likes(page, where, liked & known))
        self._whole.append(self._likes(page, where, liked & (known | later)))
        self._later.append(where[counts & later])

    def _where(self, page: Histories, packed: Sequence[bytes]) -> I32:
        """Return the context of each record of a page (n,), as numbers of ``_Seen``."""
        entries = [
            (user << _SEQUENCE_BITS | sequence, self._seen.number(text))
            for user, own in enumerate(packed)
            for sequence, text in entries_of(own)
        ]
        where = np.full(page.user_ix.size, -1, np.int32)
        if entries:
            key, number = np.array(sorted(entries), np.int64).T
            own = (page.user_ix.astype(np.int64) << _SEQUENCE_BITS) | sequences(page.records)
            at = np.minimum(np.searchsorted(key, own), key.size - 1)
            found = key[at] == own
            where[found] = number[at[found]]
        return where

    def _likes(self, page: Histories, where: I32, chosen: Mask) -> "_Likes":
        """Return the likes of some records; each user counts once for each."""
        own = where[chosen]
        said = [self._seen.said_of[number] for number in own.tolist()]
        repeats = np.fromiter(map(len, said), np.int64, len(said))
        said_ix = np.array([one for each in said for one in each], np.int64)
        user = np.repeat(page.user_ix[chosen].astype(np.int64), repeats)
        item = np.repeat(page.records["item"][chosen].astype(np.int64), repeats)
        n_said = len(self._seen.said) + 1
        key = np.unique((user * n_said + said_ix) * self._n_items + item)
        rest, item = np.divmod(key, max(self._n_items, 1))
        users = np.bincount(np.unique(rest) % n_said, minlength=n_said)
        return _Likes((rest % n_said).astype(np.int32), item.astype(np.int32), users)

    def contexts(self) -> Contexts:
        return Contexts(
            self._joined(self._known),
            self._joined(self._whole),
            np.concatenate([*self._later, np.empty(0, np.int32)]),
            [dict(self._seen.said[one] for one in each) for each in self._seen.said_of],
        )

    def _joined(self, parts: Sequence["_Likes"]) -> ContextLikes:
        none = np.empty(0, np.int32)
        said_ix = np.concatenate([none, *(part.said_ix for part in parts)])
        item_ix = np.concatenate([none, *(part.item_ix for part in parts)])
        said = tuple(self._seen.said)
        n_users = np.zeros(len(said) + 1, np.int64)
        for part in parts:
            # no user is on two pages
            n_users[: part.n_users.size] += part.n_users
        return ContextLikes(self._n_items, said, said_ix, item_ix, n_users[:-1])


class _Likes(NamedTuple):
    """The likes of a page, and how many of its users liked something where each text was said."""

    said_ix: I32
    item_ix: I32
    n_users: I64


class _Seen:
    """The names and texts that came so far, and the contexts that consist of them, by number."""

    def __init__(self) -> None:
        self.said: list[Said] = []
        self.said_of: list[tuple[int, ...]] = []
        """For each context the indexes of its names and texts in ``said``."""
        self._numbers: dict[tuple[int, ...], int] = {}
        self._known: dict[bytes, int] = {}
        self._texts: dict[str, dict[str, int]] = {}

    def number(self, text: bytes) -> int:
        """Return the number of a context as it is stored; -1 if nothing in it is counted."""
        number = self._known.get(text)
        if number is None:
            number = self._number(tuple(sorted(self._counted(text))))
            if len(self._known) < _MOST_KNOWN:
                self._known[text] = number
        return number

    def _number(self, said: tuple[int, ...]) -> int:
        if not said:
            return -1
        number = self._numbers.setdefault(said, len(self.said_of))
        if number == len(self.said_of):
            self.said_of.append(said)
        return number

    def _counted(self, text: bytes) -> Iterator[int]:
        for name, said in context_of(text.decode(errors="replace")).items():
            if name not in self._texts and len(self._texts) >= MOST_NAMES:
                continue
            texts = self._texts.setdefault(name, {})
            if said not in texts and len(texts) < MOST_TEXTS:
                texts[said] = len(self.said)
                self.said.append((name, said))
            if said in texts:
                yield texts[said]
