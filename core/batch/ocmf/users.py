"""The users of a one-class model after its fit: vectors from pairs, features and links, whoever the user is.

A snapshot stores this (``core.snapshot.of_users``), and serving answers cold users with it. No user of the fit is kept.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from core.batch.feature_map import FeatureMap, Features
from core.batch.row_objective import RowObjective
from core.errors import ConfigError, ShapeError
from core.interactions import Interactions
from core.types import F32, I32


@dataclass(frozen=True, eq=False)
class StructuredUsers:
    """min_p  row(p) + reg (|p - z|^2 - |p|^2) + link sum_v s_v |p - b_v|^2,  z = W'x, s_v and b_v of the linked users.

    Where z is known it is the user's m in row(p), too: the mean user of these features.
    A user without pairs and links is z itself: nobody has seen what such a user leaves out. Without features z is 0.
    A user with both has a deviation of its own from z, as if an identity stood beside the features.

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
    """Of the pairs; its basis is that of all vectors here."""
    weights: F32 | None = None
    """W (d, g); None: the model knows no features."""
    feature_map: FeatureMap = field(default_factory=FeatureMap)
    """Makes x (d,) of what describes a user."""
    link: float = 0.0
    """Of a link of weight 1; 0: the model knows no graph."""
    fading: float = 0.0
    """z of a user with n pairs counts n^-fading as much: 1 where users have vectors of their own anyway."""

    def feature_vectors(self, features: Features) -> F32:
        """Return z of users with these rows of features, (users, g)."""
        if self.weights is None:
            raise ConfigError("the model was fitted without features: train it with features")
        known = self.feature_map.transform(features)
        if known.shape[1] != self.weights.shape[0]:
            raise ShapeError(
                f"the features become {known.shape[1]} columns, the model has {self.weights.shape[0]}: "
                "encode them as those of the fit"
            )
        vectors: F32 = np.ascontiguousarray(known @ self.weights, np.float32)
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

        ``linked``: vectors (links, g) and weights (links,) of the linked users. In this thread alone.
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
        """Return the vector of each row, (users, g); ``feature_vectors`` holds each z, ``similar`` links the rows.

        Linked users are taken as they are without their links.
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
            [self._vector(pairs, u, feature_vectors, one) for u, one in enumerate(linked)]
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
