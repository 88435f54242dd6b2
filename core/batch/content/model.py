"""The fitted model: where documents place items, and which items are said to be alike."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from core.batch.content.affinity import Affinity, features_of, shares_of
from core.batch.content.encoder import DocumentEncoder
from core.batch.content.places import DocumentMap
from core.batch.feature_map import unit_rows
from core.batch.row_objective import RowObjective
from core.features import CATEGORIES
from core.kernels.scan import Mask
from core.types import F32, I32

LEAST = 0.1
"""Weight of what tells nothing about taste where items are compared, of what tells most."""
KIND = 2.0
"""Weight of categories beside features where items are compared: they say what an item is."""
BLOCK = 64
"""Items whose likeness to all others is in memory at a time."""

LookAlikes: TypeAlias = I32
"""Item numbers (m, n): for each of m items those most like it."""


@dataclass(frozen=True, eq=False)
class Content:
    """n items at the places that their documents give them, for users who are folded in.

    The score of item y for a user is p.v_y: p is folded in from what the user took, v_y is the
    place of the item by its document.
    """

    row: RowObjective
    """Folds users in by the vectors that were learned of items; where nothing was, by places."""
    places: F32
    """v (n, g); 0 where nothing is said of an item."""
    rows: sp.csr_array
    """(n, encoder.named): features and words, by which items are compared."""
    map: DocumentMap
    encoder: DocumentEncoder
    tastes: Affinity | None = None
    """None: an earlier version of the code fitted the model."""
    likes: F32 | None = None
    """How many users liked each item of the training, (m,); None: as ``tastes``."""

    @property
    def n_items(self) -> int:
        return len(self.places)

    @cached_property
    def placed(self) -> Mask:
        """Return which items have a place, (n,)."""
        some: Mask = np.any(self.places, axis=1)
        return some

    def scores(self, vector: F32) -> F32:
        """Return the score of each item (n,) for a user's vector; -inf without a place."""
        scores: F32 = self.places @ vector
        scores[~self.placed] = -np.inf
        return scores

    def affinity(self, liked: I32, items: I32) -> F32:
        """Return the affinity of items (m,) for somebody who liked others (k,).

        It is the logarithm of how much likelier than others this person takes the item, by what is
        said of it (``Affinity``); 0 for an item that the model does not know.
        """
        found = np.zeros(items.size, np.float32)
        if self.tastes is not None:
            known = items < self.n_items
            past = liked[liked < self.n_items]
            found[known] = self.tastes.of(self.shares, past, items[known])
        return found

    def log_likes_of(self, items: I32) -> F32:
        """Return log(1 + users who liked it) of items (m,), as of the training.

        For an item that came later it is the mean of the others: nothing is known yet.
        """
        likes = self._log_likes
        found: F32 = likes[np.minimum(items, likes.size - 1)]
        return found

    @cached_property
    def _log_likes(self) -> F32:
        """Return them for the items of the training, then once for all later ones, (m + 1,)."""
        if self.likes is None or not self.likes.size:
            return np.zeros(1, np.float32)
        known = np.log1p(self.likes)
        return np.append(known, known.mean())

    @cached_property
    def shares(self) -> sp.csr_array:
        """Return what is said of each item, in shares of its features, (n, encoder.named)."""
        return shares_of(self.rows, features_of(self.encoder))

    def likeness(self, item: int) -> F32:
        """Return how much each item is like a placed one, (n,); -inf without a place.

        Equation   cos(v_y, v_z) + cos(x_y, x_z): liked by the same people, by what is said of
                   them, and described alike; in x a column c counts by log(1 + n / items with it)
                   (|W_c| + LEAST max |W|), by what it tells about taste, categories KIND times
        """
        taste, said = self._units
        alike = taste @ taste[item] + (said @ said[[item]].T).toarray()[:, 0]
        alike[~self.placed] = -np.inf
        return np.asarray(alike, np.float32)

    def alike(self, items: I32, known: Mask, n: int) -> LookAlikes:
        """Return the n known items that are most like each of some placed ones, (m, n).

        ``known`` (n_items,) marks the items to choose from. The best come first; -1 at the end
        where there are fewer.
        """
        taste, said = self._units
        chosen = np.flatnonzero(known & self.placed)
        found = np.full((items.size, n), -1, np.int32)
        others, texts = taste[chosen], said[chosen].T
        for first in range(0, items.size, BLOCK):
            some = items[first : first + BLOCK]
            scores = taste[some] @ others.T + (said[some] @ texts).toarray()
            best = np.argsort(-scores, axis=1, kind="stable")[:, :n]
            found[first : first + BLOCK, : best.shape[1]] = chosen[best]
        return found

    def with_items(self, bodies: Mapping[int, Mapping[str, Any]]) -> "Content":
        """Return the model with the documents of more items, by number."""
        numbers = np.array(sorted(bodies), np.int64)
        rows = self.encoder.transform([bodies[number] for number in numbers.tolist()])
        named: Any = rows[:, : self.encoder.named]
        n = max(self.n_items, int(numbers.max(initial=-1)) + 1)
        places = np.zeros((n, self.places.shape[1]), np.float32)
        places[: self.n_items] = self.places
        places[numbers] = self.map.places(rows)
        said = _with_rows(self.rows, n, numbers, named)
        return replace(self, row=standing_in(self.row, places), places=places, rows=said)

    @cached_property
    def _units(self) -> tuple[F32, sp.csr_array]:
        """Return the places and the weighted rows, both at length 1."""
        taste: Any = unit_rows(self.places)
        often = np.bincount(self.rows.indices, minlength=self.rows.shape[1])
        rare = np.log1p(self.n_items / np.maximum(often, 1))
        telling = np.linalg.norm(self.map.weights[: self.rows.shape[1]], axis=1)
        weight = rare * (telling + LEAST * telling.max(initial=0.0))
        names = np.array(self.encoder.facts.names)
        weight[: names.size][names == CATEGORIES] *= KIND
        weighted: Any = self.rows @ sp.diags_array(weight.astype(np.float32))
        said: Any = unit_rows(weighted)
        return taste, said


def standing_in(row: RowObjective, places: F32) -> RowObjective:
    """Return an objective in which places stand for vectors that were not learned.

    No user is held to miss such an item: its unlabelled pairs weigh 0, so that gram and sum stay.
    """
    n, (learned, g) = len(places), row.item_factors.shape
    factors, negative = np.zeros((n, g), np.float32), np.zeros(n, np.float32)
    factors[:learned], negative[:learned] = row.item_factors, row.negative
    missing = np.ones(n, np.bool_)
    missing[:learned] = ~row.learned
    factors[missing], negative[missing] = places[missing], 0.0
    return replace(row, item_factors=factors, negative=negative)


def _with_rows(old: sp.csr_array, n: int, numbers: Any, rows: sp.csr_array) -> sp.csr_array:
    """Return n rows: the old ones, and new ones in place of some."""
    kept = np.ones(old.shape[0], np.float32)
    kept[numbers[numbers < old.shape[0]]] = 0.0
    stays: Any = sp.diags_array(kept) @ old
    stays.resize((n, old.shape[1]))
    ones = np.ones(numbers.size, np.float32)
    at = sp.csr_array((ones, (numbers, np.arange(numbers.size))), shape=(n, numbers.size))
    found: Any = stays + at @ rows
    made = sp.csr_array(found, dtype=np.float32)
    made.eliminate_zeros()
    return made
