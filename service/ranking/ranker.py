"""The interface of every ranker.

A ranker is frozen: one answer uses the same ranker throughout, even if another model is promoted
meanwhile. It writes nothing: it returns results for the cache along with its list. Abilities that
a family may lack have a default here, so that callers ask the ranker and never its class.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from core.batch.row_objective import learned
from core.batch.takers import Takers
from core.features import FeatureEncoder
from core.kernels.scan import Mask
from core.labels.labelled_items import ItemsAsLabels
from core.ordinal.stars import Stars
from core.slate import Explanation
from core.stack.signals import SIGNALS, signals_of_scores
from core.types import F32, I32
from service.ranking.asker import Asker, Computed
from service.ranking.family import Family
from service.ranking.pool import HEAD, NOTHING, Head, Pool, Ranked, chosen
from service.ranking.strategies import Strategy

NO_VECTORS: F32 = np.empty((0, 0), np.float32)
NO_LIKES: F32 = np.empty(0, np.float32)
_EVERY: Mask = np.empty(0, np.bool_)
"""An empty mask, for which a scan lets every item pass."""


class Listed(NamedTuple):
    """The best items for an asker, best first."""

    items: I32
    scores: F32
    made: Computed | None = None
    """Intermediate results that were not cached yet."""

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
    """Predicts ratings for single pairs of a user and an item."""

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
    """Ranks items for an asker, by a trained model or otherwise."""

    reads_features = False
    """Whether it uses the features of the asker."""
    features: Sequence[str] = ()
    """Names of the user features that it was trained with."""
    signals: Sequence[str] = SIGNALS
    """Names of the columns of ``signals_of``; the first orders items as the ranker does, for a
    ranker by context those that are equally popular."""
    only_places = False
    """Whether it takes no part in mixtures: it serves to place new items, or where it is named."""
    keeps_heads = False
    """Whether the head of its order for a user is worth caching."""
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
        """(n, g): similar items have similar directions; empty: it does not compare items."""
        self.n_items = len(item_vectors)
        """It knows the items 0 .. n_items - 1."""
        self.effort = item_vectors.size
        """Approximate number of multiplications for a list."""

    @property
    def made_of(self) -> str:
        """Return the version of the items: what was ranked by another version is stale."""
        return self.version

    # --- ranking ----------------------------------------------------------------------------------

    @abstractmethod
    def knows(self, asker: Asker) -> bool:
        """Whether it knows enough of this asker to make a personal list."""

    def place(self, asker: Asker) -> str:
        """Return what it knows of where the list is shown, as a name; empty: nothing."""
        return ""

    @abstractmethod
    def best(self, asker: Asker, pool: Pool, n: int) -> Listed:
        """Return the best n items, or fewer if the pool has fewer."""

    @abstractmethod
    def scores(self, asker: Asker) -> F32:
        """Return the score of each item that it knows; -inf where it cannot score the item."""

    def mixing_list(self, asker: Asker, pool: Pool, n: int) -> Listed:
        """Return its list for a mixture; a list for everybody omits items that nobody liked."""
        return self.best(asker, pool, n)

    def scores_of(self, asker: Asker, items: I32) -> F32:
        """Return the scores of some items (m,); -inf where it cannot score the item."""
        scores = self.scores(asker)
        found = np.full(items.size, -np.inf, np.float32)
        known = items < scores.size
        found[known] = scores[items[known]]
        return found

    def signals_of(self, asker: Asker, items: I32) -> F32:
        """Return numbers that a stack adds up, (m, signals); it may not know the asker."""
        if not self.knows(asker):
            return signals_of_scores(np.zeros(items.size, np.float32))
        return signals_of_scores(self.scores_of(asker, items))

    def share(self, asker: Asker) -> float:
        """Return the factor of its weight in a mixture for this asker, 0 to 1."""
        return 1.0

    def head(self, asker: Asker) -> Head | None:
        """Return the head of the order for an asker; None: it is not worth caching."""
        return None

    def prepare(self, asker: Asker) -> Computed | None:
        """Return what ``scores`` and ``explain`` would compute each time; None if it is cached."""
        return None

    def warm(self) -> None:
        """Call the kernels of a first answer once, before the model goes live."""
        return

    # --- users ------------------------------------------------------------------------------------

    def feature_vector(self, features: Mapping[str, Any]) -> F32 | None:
        """Return the feature vector for a user's features; None if it knows none of them."""
        return None

    def encoded_vector(self, row: Any) -> F32 | None:
        """Return the feature vector for features as columns (1, d); None without any."""
        return None

    def user_vector(self, asker: Asker) -> F32 | None:
        """Return a vector to compare with those of other users; None if it has none."""
        return None

    def explain(self, asker: Asker, items: I32) -> Explanation | None:
        """Return the contributions of past items to the scores of items that it knows, or None."""
        return None

    # --- items ------------------------------------------------------------------------------------

    def has(self, item: int) -> bool:
        """Whether it has learned the item, so that ``similar`` can answer."""
        return item < len(self.item_vectors) and bool(self._inverse_lengths[item])

    def similar(self, item: int, pool: Pool, n: int) -> Ranked:
        """Return the items with the largest cosine similarity to a learned item."""
        inverse = self._inverse_lengths
        scores = self.item_vectors @ (self.item_vectors[item] * inverse[item])
        return chosen(scores * inverse, pool, n)

    @property
    def likes(self) -> F32:
        """Return how many people liked each item by the training (n,); empty: it does not say."""
        return NO_LIKES

    @property
    def unplaced(self) -> I32:
        """Return the items of the training that it could place if something were said of them."""
        return NOTHING

    def alike(self, items: I32, known: Mask, n: int) -> I32 | None:
        """Return the n known items that are most like each of m, (m, n), by what is said of them.

        ``known`` is a mask of the items; -1 where an item has fewer. None: it reads no documents.
        """
        return None

    def with_later(self, bodies: Mapping[int, Mapping[str, Any]]) -> "Ranker":
        """Return a ranker that also knows the items with these documents, by number.

        All items after those of the training are among them, up to the last one.
        """
        return self

    @property
    def learned(self) -> Mask | None:
        """Return which items its model has learned, if it folds others in; None: it does not."""
        return None

    def folding_in(self, takers: Takers, placing: "Ranker | None" = None) -> "Ranker":
        """Return a ranker that also knows items that its model has not learned, by their takers.

        What ``placing`` knows of them by their documents is where they begin.
        """
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
    """A ranker whose order follows from one vector of the user; the head can be cached."""

    keeps_heads = True

    @property
    def vectors_of(self) -> str:
        """Return the version of a user's vector: a cached vector with another version is stale."""
        return self.made_of

    @abstractmethod
    def fold_in(self, asker: Asker) -> F32:
        """Return the asker's vector."""

    @abstractmethod
    def nearest(self, vector: F32, pool: Pool, n: int) -> Ranked:
        """Return the best n items for a vector."""

    def best(self, asker: Asker, pool: Pool, n: int) -> Listed:
        # cached heads were computed from the history alone
        if self.version in asker.features or not asker.may_use_heads(pool, n):
            vector, made = self._vector(asker)
            return Listed(*self.nearest(vector, pool, n), made)
        return self._from_head(asker, pool, n)

    def head(self, asker: Asker) -> Head:
        """Return the head of the order for an asker."""
        return self._head(self.fold_in(asker), asker)

    def _from_head(self, asker: Asker, pool: Pool, n: int) -> Listed:
        head, made = asker.head(self.strategy, self.made_of), None
        if head is None:
            vector, made = self._vector(asker)
            head = self._head(vector, asker)
        ranked = head.best(pool, n)
        if ranked is None:
            vector, again = self._vector(asker.having(made))
            ranked, made = self.nearest(vector, pool, n), again or made
        return Listed(*ranked, self._made(asker, head, made))

    def _vector(self, asker: Asker) -> tuple[F32, Computed | None]:
        """Return the asker's vector, and the result for the cache if it was computed now."""
        made = self.prepare(asker)
        if made is None or made.vector is None:
            return self.fold_in(asker), made
        return made.vector, made

    def _made(self, asker: Asker, head: Head, made: Computed | None) -> Computed | None:
        """Return results for the cache: new ones, and a head that was computed in advance."""
        vector = None if made is None else made.vector
        if asker.heads is not None and asker.heads.get(self.strategy) is head:
            return made
        return Computed(self.strategy, self.vectors_of, vector, head)

    def _head(self, vector: F32, asker: Asker) -> Head:
        items, scores = self.nearest(vector, Pool(_EVERY, asker.preferences.seen), HEAD)
        return Head(self.made_of, items, scores, items.size < HEAD)


class ScoreRanker(HeadRanker):
    """A ranker whose "vector" of an asker is the score of each item."""

    @abstractmethod
    def new_scores(self, asker: Asker) -> F32:
        """Compute the score of each item; -inf where it cannot score the item."""

    def prepare(self, asker: Asker) -> Computed | None:
        if (self.strategy, self.made_of) in asker.vectors:
            return None
        return Computed(self.strategy, self.made_of, self.new_scores(asker))

    def fold_in(self, asker: Asker) -> F32:
        scores = asker.vectors.get((self.strategy, self.made_of))
        return self.new_scores(asker) if scores is None else scores

    def nearest(self, vector: F32, pool: Pool, n: int) -> Ranked:
        return chosen(vector, pool, n)

    def scores(self, asker: Asker) -> F32:
        return self.fold_in(asker)
