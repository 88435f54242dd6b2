"""A fitted label model for serving: from a point's features to the scores of all labels.

It is serial and lock-free; its arrays may be read-only maps of a file.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from core.batch.feature_map import FeatureMap, Features
from core.errors import ConfigError, ShapeError
from core.interactions import Interactions
from core.labels.clusters import nearest_centre
from core.labels.config import Votes
from core.labels.sppmi import as_matrix
from core.types import F32, F64, I32, I64

BLOCK, MOST_SCORES = 512, 1 << 22
"""Limits on the memory: points scored at a time, and scores at a time if there are many labels."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The k nearest training points of each of m points, best first."""

    ids: I64
    """(m, k)"""
    cosine: F32
    """(m, k)"""


@dataclass(frozen=True, eq=False)
class LabelSpace:
    """Learners with one or more clusters each.

    Every cluster has its own map from d features to g dimensions.

    vector     z = W' x
    votes      s1_l = sum over the k nearest i of exp(sharpness (cos(z, z_i) - best)) y_il
                                                                              [ExMLDS, eq. 1]
    own        s2_l = h_l . z                                           [ExMLDS, Algorithm 4]
    score      s1 / |s1| + blend s2 / |s2|,  s1 and s2 summed over the learners

    >>> from hedgerow import from_pairs
    >>> from hedgerow.labels import Exmlds, ExmldsConfig
    >>> features = np.eye(2, dtype=np.float32)[[0, 0, 1, 1]]
    >>> labels = from_pairs([0, 0, 1, 2, 3], [0, 1, 0, 2, 2])  # (point, label)
    >>> model = Exmlds(ExmldsConfig(factors=2)).fit(features, labels)
    >>> model.space.scores(features[:1]).shape
    (1, 3)
    """

    feature_map: FeatureMap
    n_features: int
    centres: F32
    """(clusters, n_features)"""
    learner_ptr: I64
    """(learners + 1,): the first cluster of each learner."""
    weights: F32
    """W, (clusters, d, g)"""
    label_factors: F32
    """h, (clusters, L, g)"""
    point_ptr: I64
    """(clusters + 1,): the first training point of each cluster."""
    points: F32
    """Vectors of the training points, rows of length 1, (points, g)."""
    labels: Interactions
    """Labels of the training points."""
    votes: Votes

    @property
    def n_labels(self) -> int:
        return self.labels.n_items

    @cached_property
    def _member(self) -> sparse.csr_array:
        return as_matrix(self.labels)

    def scores(self, features: Any) -> F32:
        """Return the scores of all labels, (n, L)."""
        mapped = self.mapped(features)
        step = self._step()
        blocks = [self._scores(mapped[at : at + step]) for at in range(0, mapped.shape[0], step)]
        return np.concatenate([np.empty((0, self.n_labels), np.float32), *blocks])

    def ranked(self, features: Any, n: int) -> tuple[I32, F32]:
        """Return the n best labels of each point and their scores, (points, n).

        They are -1 and -inf where there are fewer labels.
        """
        if n < 1:
            raise ConfigError(f"n must be at least 1, not {n}")
        mapped = self.mapped(features)
        ids = np.full((mapped.shape[0], n), -1, np.int32)
        found = np.full((mapped.shape[0], n), -np.inf, np.float32)
        for at in range(0, mapped.shape[0], self._step()):
            scores = self._scores(mapped[at : at + self._step()])
            order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
            rows = slice(at, at + len(scores))
            ids[rows, : order.shape[1]] = order
            found[rows, : order.shape[1]] = np.take_along_axis(scores, order, axis=1)
        return ids, found

    def mapped(self, features: Any) -> Features:
        """Return the features as the model reads them; ShapeError for another number of columns."""
        if features.ndim != 2 or features.shape[1] != self.n_features:
            raise ShapeError(
                f"the model needs {self.n_features} features: "
                f"got an array of shape {features.shape}"
            )
        return self.feature_map.transform(features)

    def places(self, mapped: Any, part: int) -> F32:
        """Return the vectors of points by the map of a cluster, (m, g)."""
        placed: F32 = np.asarray(mapped @ self.weights[part], np.float32)
        return placed

    def neighbours(self, places: F32, part: int, k: int) -> Neighbours:
        """Return the k nearest training points of a cluster by cosine."""
        first, last = self.point_ptr[part : part + 2].tolist()
        cosine = unit(places) @ self.points[first:last].T
        k = min(k, last - first)
        ids = np.argpartition(-cosine, k - 1, axis=1)[:, :k] if k < last - first else _all(cosine)
        near = np.take_along_axis(cosine, ids, axis=1)
        order = np.argsort(-near, axis=1, kind="stable")
        return Neighbours(
            np.take_along_axis(ids, order, axis=1) + first, np.take_along_axis(near, order, axis=1)
        )

    def counted(self, near: Neighbours, votes: Votes) -> F32:
        """Return the votes for each label, (m, L)."""
        ids, cosine = near.ids[:, : votes.neighbours], near.cosine[:, : votes.neighbours]
        weight = np.exp(votes.sharpness * (cosine - cosine[:, :1]).astype(np.float64))
        begins = np.arange(0, ids.size + 1, ids.shape[1])
        n_points = self.labels.n_users
        cast = sparse.csr_array((weight.ravel(), ids.ravel(), begins), (len(ids), n_points))
        counted: Any = cast @ self._member
        return np.asarray(counted.toarray(), np.float32)

    def parts_of(self, mapped: Any, learner: int) -> I64:
        """Return each point's cluster of this learner, (m,)."""
        first, last = self.learner_ptr[learner : learner + 2].tolist()
        if last - first == 1:
            return np.full(mapped.shape[0], first)
        answering: I64 = first + nearest_centre(
            mapped[:, : self.n_features], self.centres[first:last]
        )
        return answering

    def _scores(self, mapped: Any) -> F32:
        votes = np.zeros((mapped.shape[0], self.n_labels), np.float32)
        own = np.zeros_like(votes)
        for learner in range(self.learner_ptr.size - 1):
            parts = self.parts_of(mapped, learner)
            for part in np.unique(parts).tolist():
                rows = np.flatnonzero(parts == part)
                places = self.places(mapped[rows], part)
                near = self.neighbours(places, part, self.votes.neighbours)
                votes[rows] += self.counted(near, self.votes)
                if self.votes.blend > 0.0:
                    own[rows] += places @ self.label_factors[part].T
        return blended(votes, own, self.votes.blend)

    def _step(self) -> int:
        return int(np.clip(MOST_SCORES // self.n_labels, 1, BLOCK))


def blended(votes: F32, own: F32, blend: float) -> F32:
    """Return s1 / |s1| + blend s2 / |s2| of each row."""
    return unit(votes) + np.float32(blend) * unit(own)


def unit(rows: F32) -> F32:
    """Return rows scaled to length 1; a row of zeros stays zero.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32))
    array([[0.6, 0.8],
           [0. , 0. ]], dtype=float32)
    """
    length: F64 = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: F32 = (rows / np.where(length > 0, length, 1.0)).astype(np.float32)
    return scaled


def _all(cosine: F32) -> I64:
    return np.broadcast_to(np.arange(cosine.shape[1]), cosine.shape)
