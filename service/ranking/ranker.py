"""What every ranker can do, and what it may be able to do.

A ranker is frozen: one answer uses the same one from beginning to end, even if another model is
promoted meanwhile. It writes nothing: results that a cache may keep stand in its answer. Abilities
that a family may lack have a default here, so that callers ask the ranker and never its class.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from core.batch.row_objective import learned
from core.features import FeatureEncoder
from core.kernels.scan import Mask
from core.labels.labelled_items import ItemsAsLabels
from core.ordinal.stars import Stars
from core.slate import Explanation
from core.types import F32, I32
from service.ranking.asker import Asker, Computed
from service.ranking.family import Family
from service.ranking.pool import HEAD, Head, Pool, Ranked, chosen
from service.ranking.strategies import Strategy

NO_VECTORS: F32 = np.empty((0, 0), np.float32)
MOST_LATER = 10_000
"""Most later items that a model ranks; with more of them it should be trained again."""
_EVERY: Mask = np.empty(0, np.bool_)
"""Lets every item pass a scan."""


class Listed(NamedTuple):
    """The best items for an asker, best first."""

    items: I32
    scores: F32
    made: Computed | None = None
    """What was computed on the way and was not cached."""

    @property
    def ranked(self) -> Ranked:
        """Return the list alone."""
        return self.items, self.scores


class AudienceModel(Protocol):
    """Ranks users for an item."""

    @property
    def strategy(self) -> Strategy: ...
    @property
    def version(self) -> str: ...
    @property
    def trained_through(self) -> Mapping[int, int]: ...
    @property
    def model(self) -> ItemsAsLabels: ...
    @property
    def users(self) -> FeatureEncoder: ...
    @property
    def items(self) -> FeatureEncoder: ...


class StarModel(Protocol):
    """Predicts ratings of single pairs."""

    @property
    def strategy(self) -> Strategy: ...
    @property
    def version(self) -> str: ...
    @property
    def trained_through(self) -> Mapping[int, int]: ...
    @property
    def stars(self) -> Stars: ...
    @property
    def users(self) -> FeatureEncoder: ...
    @property
    def items(self) -> FeatureEncoder: ...
    @property
    def typical_users(self) -> F32: ...
    @property
    def typical_items(self) -> F32: ...


class Ranker(ABC):
    """Something that ranks."""

    reads_features = False
    """Whether it uses features of the asker."""
    features: Sequence[str] = ()
    """Names of the features of users that it was trained with."""
    keeps_heads = False
    """Whether the top of its order for a user is worth caching."""
    audience: AudienceModel | None = None
    star_model: StarModel | None = None

    def __init__(
        self,
        family: Family,
        version: str,
        trained_through: Mapping[int, int],
        item_vectors: F32 = NO_VECTORS,
    ) -> None:
        self.family, self.version, self.trained_through = family, version, trained_through
        self.strategy: Strategy = family.strategy
        self.item_vectors = item_vectors
        """(n, g): items with similar directions are alike; empty: it does not compare items."""
        self.n_items = len(item_vectors)
        """Items that it knows: the first so many."""
        self.effort = item_vectors.size
        """About how many multiplications a list takes."""

    # --- ranking ----------------------------------------------------------------------------------

    @abstractmethod
    def knows(self, asker: Asker) -> bool:
        """Whether it knows enough of this asker to make a personal list."""

    @abstractmethod
    def best(self, asker: Asker, pool: Pool, n: int) -> Listed:
        """Return the best n items, or as many as there are."""

    @abstractmethod
    def scores(self, asker: Asker) -> F32:
        """Return the score of each item that it knows; -inf: it has nothing to say of the item."""

    def share(self, asker: Asker) -> float:
        """Return the share of its weight in a mixture that it has for this asker, 0 to 1."""
        return 1.0

    def head(self, asker: Asker) -> Head | None:
        """Return the top of the order for an asker; None: it is not worth caching."""
        return None

    def prepare(self, asker: Asker) -> Computed | None:
        """Return what ``scores`` and ``explain`` would compute each time; None: it is cached."""
        return None

    def warm(self) -> None:
        """Reach the kernels of a first answer, before the model serves."""
        return

    # --- users ------------------------------------------------------------------------------------

    def feature_vector(self, features: Mapping[str, Any]) -> F32 | None:
        """Return what it makes of a user's features; None: it knows none of them."""
        return None

    def user_vector(self, asker: Asker) -> F32 | None:
        """Return a vector that compares with those of other users; None: there is none."""
        return None

    def explain(self, asker: Asker, items: I32) -> Explanation | None:
        """Return which past items carry the scores of items that it knows; None: it cannot tell."""
        return None

    # --- items ------------------------------------------------------------------------------------

    def has(self, item: int) -> bool:
        """Whether it has learned anything about an item, so that ``similar`` can answer."""
        return item < len(self.item_vectors) and bool(self._inverse_lengths[item])

    def similar(self, item: int, pool: Pool, n: int) -> Ranked:
        """Return the items with the nearest direction (cosine) to that of a learned item."""
        inverse = self._inverse_lengths
        scores = self.item_vectors @ (self.item_vectors[item] * inverse[item])
        return chosen(scores * inverse, pool, n)

    def later_vectors(self, bodies: Sequence[Mapping[str, Any]]) -> F32:
        """Return the vectors of items that came after the training, by their documents."""
        return self.item_vectors[:0]

    def with_later(self, vectors: F32) -> "Ranker":
        """Return a ranker that knows also these items, which follow those of the training."""
        return self

    @cached_property
    def _inverse_lengths(self) -> F32:
        """Return 1 / length of each item's vector (n,); 0 where nothing was learned."""
        vectors = self.item_vectors
        lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        inverse: F32 = np.zeros_like(lengths)
        np.divide(1.0, lengths, out=inverse, where=learned(vectors))
        return inverse


class HeadRanker(Ranker):
    """A ranker whose order follows from one vector of the user; its top can be cached."""

    keeps_heads = True

    @property
    def made_of(self) -> str:
        """Return the version of the items: a head of another one is stale."""
        return self.version

    @abstractmethod
    def fold_in(self, asker: Asker) -> F32:
        """Return the asker's vector."""

    @abstractmethod
    def nearest(self, vector: F32, pool: Pool, n: int) -> Ranked:
        """Return the best n items for a vector."""

    def best(self, asker: Asker, pool: Pool, n: int) -> Listed:
        # cached heads are of the history alone
        if self.version in asker.features or not asker.may_use_heads(pool, n):
            made = self.prepare(asker)
            return Listed(*self.nearest(self.fold_in(asker.having(made)), pool, n), made)
        return self._from_head(asker, pool, n)

    def head(self, asker: Asker) -> Head:
        """Return the top of the order for an asker."""
        return self._head(self.fold_in(asker), asker)

    def _from_head(self, asker: Asker, pool: Pool, n: int) -> Listed:
        head, made = asker.head(self.strategy, self.made_of), None
        if head is None:
            made = self.prepare(asker)
            asker = asker.having(made)
            head = self._head(self.fold_in(asker), asker)
        found = head.best(pool, n)
        if found is None:
            made = self.prepare(asker) or made
            asker = asker.having(made)
            found = self.nearest(self.fold_in(asker), pool, n)
        return Listed(*found, self._made(asker, head, made))

    def _made(self, asker: Asker, head: Head, made: Computed | None) -> Computed | None:
        """Return what was not cached; a head that was made in advance is cached from now on."""
        vector = None if made is None else made.vector
        if asker.heads is not None and asker.heads.get(self.strategy) is head:
            return made
        return Computed(self.strategy, self.version, vector, head)

    def _head(self, vector: F32, asker: Asker) -> Head:
        items, scores = self.nearest(vector, Pool(_EVERY, asker.preferences.seen), HEAD)
        return Head(self.made_of, items, scores, items.size < HEAD)
