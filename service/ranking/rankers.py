"""What can rank: each model that serves, what is popular, what is trending. Lists of (item numbers, scores).

A ranker is frozen: one answer uses the same one from beginning to end, whatever is promoted meanwhile. Only
serial kernels run here, without the GIL.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from core.batch.ocmf.users import StructuredUsers
from core.batch.preferences import Preferences
from core.batch.row_objective import learned
from core.features import FeatureEncoder
from core.kernels import scan
from core.kernels.scan import Mask
from core.types import F32, I32
from service.rec_ids import Strategy
from service.serving.online_items import OnlineItems

Array = TypeVar("Array", bound=np.ndarray[Any, Any])

NOTHING: I32 = np.empty(0, np.int32)
_NONE: F32 = np.empty(0, np.float32)

Ranked = tuple[I32, F32]
"""Item numbers, best first, and their scores."""

HEAD = 128
"""Items at the head of a ranker's order for a user that are worth keeping: a mixture reads 100."""
_EVERY: Mask = np.empty(0, np.bool_)


class Pool(Struct, frozen=True, eq=False):
    """The items that an answer may choose from."""

    allowed: Mask
    """(n,): which of all items may be shown."""
    excluded: I32 = msgspec.field(default_factory=lambda: NOTHING)
    """Rising."""
    candidates: I32 | None = None
    """Rising, below n: the only items to choose from, if they are allowed and not excluded."""

    @property
    def listed(self) -> I32:
        """Return the candidates that may be chosen, rising."""
        chosen = NOTHING if self.candidates is None else self.candidates
        chosen = chosen[self.allowed[chosen]]
        return chosen[~np.isin(chosen, self.excluded, assume_unique=True)]

    @property
    def size(self) -> int:
        """Return how many items there are to choose from."""
        if self.candidates is not None:
            return self.listed.size
        excluded = self.excluded[self.excluded < self.allowed.size]
        return int(np.count_nonzero(self.allowed) - np.count_nonzero(self.allowed[excluded]))

    @property
    def fitting(self) -> int:
        """Return how many there would be if none were excluded."""
        return Pool(self.allowed, NOTHING, self.candidates).size

    def without(self, items: I32) -> "Pool":
        """Return the pool without some more items."""
        return Pool(self.allowed, np.union1d(self.excluded, items), self.candidates)


class Head(Struct, frozen=True, eq=False):
    """Where the order of one ranker for a user begins: the best items but those that count as seen."""

    edition: str
    """Of what the ranker was made of."""
    items: I32
    scores: F32
    whole: bool
    """Whether nothing follows."""

    @property
    def nbytes(self) -> int:
        return self.items.nbytes + self.scores.nbytes

    def best(self, pool: "Pool", n: int) -> Ranked | None:
        """Return the best n items of a pool without seen ones; None: some of them lie beyond the head."""
        place = np.empty(min(n, self.items.size), np.int32)
        scan.first(self.items, pool.excluded, pool.allowed, place)
        if place.size and place[-1] < 0:
            place = place[place >= 0]
        if place.size < n and not self.whole:
            return None
        return self.items[place], self.scores[place]


class Asker(Struct, frozen=True, eq=False):
    """For whom items are ranked: the preferences, and what some ranker made of them before."""

    preferences: Preferences
    vectors: Mapping[str, F32] = msgspec.field(default_factory=dict)
    """By version of the model."""
    heads: Mapping[Strategy, Head] | None = None
    """None: nobody would keep them, or the answer may hold what was seen."""
    coming: Mapping[Strategy, Head] = msgspec.field(default_factory=dict)
    """Made ahead, for models that were about to serve."""
    made: dict[str, F32] = msgspec.field(default_factory=dict)
    made_heads: dict[Strategy, Head] = msgspec.field(default_factory=dict)
    """The vectors and heads that were not there and are worth keeping."""
    row: F32 | None = None
    """The user's row of the online model; None: there is none, or nobody will ask for it."""
    described: Mapping[str, F32] = msgspec.field(default_factory=dict)
    """By version of a model that knows features: what it makes of this user's."""
    unknown: str = "nothing that the model could use is known of this user yet"
    """The reason of an answer by those that do not know the asker."""


class Ranker(Protocol):
    """Something that ranks."""

    strategy: Strategy
    version: str
    trained_through: Mapping[int, int]
    """Partition -> sequence."""
    n_items: int
    """Items that it knows: the first so many."""
    effort: int
    """About how many multiplications a list takes."""

    def knows(self, asker: Asker) -> bool:
        """Whether its list is the asker's own."""

    def best(self, asker: Asker, pool: Pool, n: int) -> Ranked:
        """Return the best n items, or as many as there are."""

    def scores(self, asker: Asker) -> F32:
        """Return the score of each item that it knows."""

    def part(self, asker: Asker) -> float:
        """Return how much of its weight in a mixture it has for this asker, 0 to 1."""


class Trained(ABC):
    """A model that a training published: it knows which items are alike, and may know people by their features."""

    knows_features = False
    """Whether it was trained with features of users."""
    features: Sequence[str] = ()
    """Names of those that it was trained with."""
    trusted = True
    """Whether it ranks for people before a mixture has judged it, and where nothing else knows them."""

    def __init__(
        self, strategy: Strategy, version: str, trained_through: Mapping[int, int], places: F32
    ) -> None:
        self.strategy, self.version, self.trained_through = strategy, version, trained_through
        self.places = places
        """(n, g): items of like directions are alike."""
        self.n_items, self.effort = len(places), places.size

    @abstractmethod
    def knows(self, asker: Asker) -> bool: ...

    @abstractmethod
    def best(self, asker: Asker, pool: Pool, n: int) -> Ranked: ...

    @abstractmethod
    def scores(self, asker: Asker) -> F32: ...

    @abstractmethod
    def describe(self, features: Mapping[str, Any]) -> F32 | None:
        """Return what these features make of a user, None if it knows none of them."""

    def part(self, asker: Asker) -> float:
        return 1.0

    @cached_property
    def _inverse_lengths(self) -> F32:
        """Return 1 / length of each place (n,), 0 where nothing was learned: all but rounding is 0 there."""
        lengths = np.sqrt(np.einsum("ij,ij->i", self.places, self.places))
        inverse: F32 = np.zeros_like(lengths)
        np.divide(1.0, lengths, out=inverse, where=learned(self.places))
        return inverse

    def has(self, item: int) -> bool:
        """Whether the model has learned anything of an item."""
        return item < len(self.places) and bool(self._inverse_lengths[item])

    def similar(self, item: int, pool: Pool, n: int) -> Ranked:
        """Return the items of the nearest direction (cosine) to that of an item which it knows."""
        inverse = self._inverse_lengths
        scores = self.places @ (self.places[item] * inverse[item])
        return chosen(scores * inverse, pool, n)


class FoldIn(Trained):
    """A model with a vector for each item: the user's is made of the history as it is now."""

    def __init__(
        self,
        strategy: Strategy,
        version: str,
        users: StructuredUsers,
        trained_through: Mapping[int, int],
        encoder: FeatureEncoder | None = None,
    ) -> None:
        super().__init__(strategy, version, trained_through, users.row.item_factors)
        self.users = users
        self._encoder = encoder if users.weights is not None else None
        self.knows_features = self._encoder is not None
        self.features = [] if self._encoder is None else self._encoder.features
        self.item_factors = users.row.item_factors

    def knows(self, asker: Asker) -> bool:
        known = self.users.row.knows(asker.preferences.item_ix)
        return known or self.version in asker.described

    def describe(self, features: Mapping[str, Any]) -> F32 | None:
        row = None if self._encoder is None else self._encoder.transform([features])
        return None if row is None or not row.nnz else self.users.described(row)[0]

    def vector(self, asker: Asker) -> F32:
        """Return the asker's vector (g,)."""
        described = asker.described.get(self.version)
        # the one that is kept was made of the history alone
        vector = asker.vectors.get(self.version) if described is None else None
        if vector is None:
            own = asker.preferences.within(self.n_items)
            vector = self.users.vector(own.item_ix, own.weight, own.target, described=described)
            if described is None:
                asker.made[self.version] = vector
        return vector

    def best(self, asker: Asker, pool: Pool, n: int) -> Ranked:
        own = self.version in asker.described
        found = None if own else _from_head(self, self.version, asker, pool, n)
        return self.of_all(asker, pool, n) if found is None else found

    def of_all(self, asker: Asker, pool: Pool, n: int) -> Ranked:
        return self.near(self.vector(asker), pool, n)

    def near(self, vector: F32, pool: Pool, n: int) -> Ranked:
        """Return the items of the highest products with a vector."""
        if pool.candidates is not None:
            listed = pool.listed
            listed = listed[listed < self.n_items]
            return _sorted(listed, self.item_factors[listed] @ vector, n)
        item, score = _empty(min(n, self.n_items))
        if item.size:
            scan.scan(vector, self.item_factors, pool.excluded, pool.allowed, item, score)
        return _found(item, score)

    def scores(self, asker: Asker) -> F32:
        scores: F32 = self.item_factors @ self.vector(asker)
        return scores


class Online:
    """The online model of one partition: all items as they were a few seconds ago, the user's row as it is now."""

    strategy: Strategy = "online"

    def __init__(self, partition: int, items: OnlineItems) -> None:
        self._items = items
        self.version = f"online-{items.model.fingerprint.hex()}"
        self.trained_through: Mapping[int, int] = {partition: items.seen_through}
        self.n_items, self.effort = items.n_items, items.rows.size

    def knows(self, asker: Asker) -> bool:
        return asker.row is not None

    def part(self, asker: Asker) -> float:
        return 1.0

    def best(self, asker: Asker, pool: Pool, n: int) -> Ranked:
        found = _from_head(self, self._items.version, asker, pool, n)
        return self.of_all(asker, pool, n) if found is None else found

    def of_all(self, asker: Asker, pool: Pool, n: int) -> Ranked:
        return chosen(self.scores(asker), pool, n)

    def scores(self, asker: Asker) -> F32:
        return _NONE if asker.row is None else self._items.scores(asker.row)


class Order:
    """Everybody's list: what is popular, or trending; items that nobody has come last, by their number."""

    def __init__(self, strategy: Strategy, order: Ranked, seen_through: Mapping[int, int]) -> None:
        self.strategy, self.trained_through = strategy, seen_through
        self.version: str = strategy
        items, scores = order
        self.n_items = self.effort = int(items.max(initial=-1)) + 1
        by_number = np.zeros(self.n_items, np.float32)
        by_number[items] = scores
        without = np.ones(self.n_items, np.bool_)
        without[items] = False
        everything = np.concatenate([items, np.flatnonzero(without).astype(np.int32)])
        self._ranked: Ranked = everything, by_number
        """All items, best first; the scores by number."""

    def knows(self, asker: Asker) -> bool:
        return False

    def part(self, asker: Asker) -> float:
        return 1.0

    def best(self, asker: Asker, pool: Pool, n: int) -> Ranked:
        order, scores = self._reaching(pool.allowed.size)
        if pool.candidates is not None:
            return chosen(scores[: pool.allowed.size], pool, n)
        place = np.empty(min(n, pool.allowed.size), np.int32)
        scan.first(order, pool.excluded, pool.allowed, place)
        item = order[place[place >= 0]]
        return item, scores[item]

    def scores(self, asker: Asker) -> F32:
        return self._ranked[1]

    def _reaching(self, n_items: int) -> Ranked:
        """Return all items, best first, and the scores by number, of at least so many items."""
        order, scores = self._ranked
        if scores.size < n_items:
            # longer ones hold for every smaller pool, too
            more = np.arange(scores.size, n_items, dtype=np.int32)
            order = np.concatenate([order, more])
            scores = np.concatenate([scores, np.zeros(more.size, np.float32)])
            self._ranked = order, scores
        return order, scores


def _from_head(
    ranker: FoldIn | Online, edition: str, asker: Asker, pool: Pool, n: int
) -> Ranked | None:
    """Return the best n items if the head of the ranker's order for this asker has them."""
    if asker.heads is None or pool.candidates is not None or n > HEAD:
        return None
    head = asker.heads.get(ranker.strategy)
    if head is None or head.edition != edition:
        head = asker.coming.get(ranker.strategy)
        if head is None or head.edition != edition:
            head = head_of(ranker, edition, asker)
        asker.made_heads[ranker.strategy] = head
    return head.best(pool, n)


def head_of(ranker: FoldIn | Online, edition: str, asker: Asker) -> Head:
    """Return where the ranker's order for an asker begins."""
    items, scores = ranker.of_all(asker, Pool(_EVERY, asker.preferences.seen), HEAD)
    return Head(edition, items, scores, items.size < HEAD)


def chosen(scores: F32, pool: Pool, n: int) -> Ranked:
    """Return the best n items of ready scores by item number."""
    if pool.candidates is not None:
        listed = pool.listed
        listed = listed[listed < scores.size]
        return _sorted(listed, scores[listed], n)
    item, score = _empty(min(n, scores.size))
    if item.size:
        scan.select(scores, pool.excluded, pool.allowed, item, score)
    return _found(item, score)


def blended(base: F32, other: F32, share: float) -> F32:
    """Return (1 - share) base + share other (n,), each of mean 0 and variance 1 over the items that it knows.

    What ``base`` does not know is left out; what only ``other`` does not know counts as its mean.
    """
    n = min(base.size, other.size)
    out = np.float32(1.0 - share) * _standard(base)
    out[:n] += np.float32(share) * _standard(other[:n])
    return out


def _standard(scores: F32) -> F32:
    known = np.isfinite(scores)
    out = np.zeros_like(scores)
    if known.any():
        centred = scores[known] - scores[known].mean()
        spread = float(centred.std())
        out[known] = centred / np.float32(spread) if spread > 0.0 else centred
    return out


def _sorted(items: I32, scores: F32, n: int) -> Ranked:
    order = np.lexsort((items, -scores))[:n]
    return items[order], scores[order]


def _empty(n: int) -> Ranked:
    return np.empty(n, np.int32), np.empty(n, np.float32)


def _found(item: I32, score: F32) -> Ranked:
    """Cut off the places that no item took; they are the last."""
    if not item.size or item[-1] >= 0:
        return item, score
    n = int(np.count_nonzero(item >= 0))
    return item[:n], score[:n]
