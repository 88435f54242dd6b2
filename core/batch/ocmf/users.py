"""Vectors of users of a fitted one-class model, from pairs, features and links.

Users may be new: nothing is stored about the users of the fit. A snapshot keeps this part of a
model (``core.batch.snapshot.of_users``), and serving uses it for cold users.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from core.batch.feature_map import FeatureMap, Features
from core.batch.item_objective import ItemObjective
from core.batch.row_objective import RowObjective
from core.errors import ConfigError, ShapeError
from core.interactions import Interactions
from core.types import F32, I32


@dataclass(frozen=True, eq=False)
class StructuredUsers:
    """The part of a fitted model that makes the vector of any user.

    Equation   min_p row(p) + reg (|p - z|^2 - |p|^2) + link sum_v s_v |p - b_v|^2,  z = W'x
    Symbols    x features of the user · s_v, b_v weights and vectors of the linked users

    With features, z also replaces the mean row m in row(p): it is the mean user with these
    features. Without features z is 0. The vector of a user without pairs and links is z itself:
    such a user has seen no item, so a missing pair is no evidence against one. A user with pairs
    and features has a deviation from z, as if the features had an identity matrix beside them.

    >>> from hedgerow import Ocmf, OcmfConfig, from_pairs
    >>> from hedgerow.features import FeatureMap, users_of
    >>> pairs, x = from_pairs([0, 1, 2], [0, 1, 0]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> model = Ocmf(OcmfConfig(factors=2)).fit(pairs, features=FeatureMap().transform(x))
    >>> users = users_of(model, FeatureMap())
    >>> new = users.vector(np.array([1], np.int32), feature_vector=users.feature_vectors(x[:1])[0])
    >>> (users.row.item_factors @ new).shape
    (2,)
    """

    row: RowObjective
    """Objective of the pairs; all vectors here are in its basis."""
    weights: F32 | None = None
    """W (d, g), or None for a model without features."""
    feature_map: FeatureMap = field(default_factory=FeatureMap)
    """Map that makes x (d,) of a user's features."""
    link: float = 0.0
    """Strength of a link of weight 1; 0 for a model without a graph."""
    fading: float = 0.0
    """Exponent with which z fades: it counts n^-fading for a user with n pairs.

    It is 1 in models whose users have free vectors.
    """
    items: ItemObjective | None = None
    """By it, items are folded in; None for a model that cannot."""

    def feature_vectors(self, features: Features) -> F32:
        """Return z of the users with these features, (users, g)."""
        if self.weights is None:
            raise ConfigError("the model was fitted without features: train it with features")
        mapped = self.feature_map.transform(features)
        if mapped.shape[1] != self.weights.shape[0]:
            raise ShapeError(
                f"the features become {mapped.shape[1]} columns, "
                f"but the model has {self.weights.shape[0]}: encode them as in the fit"
            )
        vectors: F32 = np.ascontiguousarray(mapped @ self.weights, np.float32)
        return vectors

    def vector(
        self,
        item_ix: I32,
        weight: F32 | None = None,
        target: F32 | None = None,
        *,
        feature_vector: F32 | None = None,
        linked: tuple[F32, F32] | None = None,
    ) -> F32:
        """Return the vector (g,) of a user with these pairs; ``feature_vector`` is its z (g,).

        ``linked`` holds the vectors (links, g) and weights (links,) of the linked users. Runs in
        the calling thread.
        """
        if item_ix.size == 0 and linked is None and feature_vector is not None:
            return feature_vector
        pull, more_reg = np.zeros(self.row.gram.size, np.float32), 0.0
        if feature_vector is not None:
            n = max(item_ix.size, 1)
            strength = self.row.regs(np.array([n]))[0] * np.float32(n**-self.fading)
            pull += strength * feature_vector
        if linked is not None:
            vectors, weights = linked
            more_reg = self.link * float(weights.sum())
            pull += np.float32(self.link) * (weights @ vectors)
        return self.row.vector(
            item_ix, weight, target, mean_row=feature_vector, pull=pull, more_reg=more_reg
        )

    def vectors(
        self, pairs: Interactions, *, feature_vectors: F32 | None = None, similar: Any = None
    ) -> F32:
        """Return the vector of each row, (users, g).

        ``feature_vectors`` (users, g) holds z of each row, and ``similar`` (users, users) links the
        rows. The vector of a linked user is the one without links.
        """
        alone = np.stack([self._vector(pairs, u, feature_vectors) for u in range(pairs.n_users)])
        if similar is None:
            return alone
        near = sp.csr_array(similar, dtype=np.float32)
        linked = []
        for u in range(pairs.n_users):
            at = slice(near.indptr[u], near.indptr[u + 1])
            linked.append((alone[near.indices[at]], near.data[at]))
        return np.stack(
            [self._vector(pairs, u, feature_vectors, links) for u, links in enumerate(linked)]
        )

    def _vector(
        self,
        pairs: Interactions,
        u: int,
        feature_vectors: F32 | None,
        linked: tuple[F32, F32] | None = None,
    ) -> F32:
        at = slice(pairs.ptr[u], pairs.ptr[u + 1])
        return self.vector(
            pairs.item_ix[at],
            None if pairs.weight is None else pairs.weight[at],
            None if pairs.target is None else pairs.target[at],
            feature_vector=None if feature_vectors is None else feature_vectors[u],
            linked=linked,
        )
