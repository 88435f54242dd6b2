"""Gradient descent on label neighbours: skip-gram (ExMLDS2), or the map itself (ExMLDS4)."""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from core.interactions import Interactions
from core.kernels.joint_embedding import joint_embedding
from core.kernels.label_neighbours import label_neighbours
from core.kernels.skip_gram import skip_gram
from core.labels.config import Descent
from core.types import F32, I32

LAST_RATE = 0.01
"""Last learning rate relative to the first; the rate falls with every epoch."""


def nearest_in_labels(labels: Interactions, k: int, rng: np.random.Generator) -> I32:
    """Return each point's k nearest points by cosine of labels, (n, k); -1 where fewer exist."""
    owners = labels.by_item()
    length = np.sqrt(np.maximum(labels.user_counts, 1)).astype(np.float32)
    found = np.full((labels.n_users, k), -1, np.int32)
    label_neighbours(
        labels.ptr,
        labels.item_ix,
        owners.ptr,
        owners.item_ix,
        length,
        _seed(rng),
        found,
    )
    return found


def skip_gram_places(
    labels: Interactions, factors: int, settings: Descent, rng: np.random.Generator
) -> F32:
    """Return vectors of the points, (n, factors); points with common neighbours become similar."""
    n = labels.n_users
    near = nearest_in_labels(labels, settings.context, rng)
    places = ((rng.random((n, factors), dtype=np.float32) - 0.5) / factors).astype(np.float32)
    contexts = np.zeros_like(places)
    rates = settings.learning_rate * np.linspace(1.0, LAST_RATE, settings.epochs + 1)
    for first, last in pairwise(rates.tolist()):
        order = rng.permutation(n)
        skip_gram(
            places,
            contexts,
            near,
            order,
            settings.negatives,
            settings.negative_weight,
            first,
            last,
            _seed(rng),
        )
    return places


def joint_weights(
    features: Any, labels: Interactions, start: F32, settings: Descent, rng: np.random.Generator
) -> F32:
    """Return V (d, g) after gradient ascent from ``start``.

    Label neighbours get vectors of similar directions.
    """
    rows = sparse.csr_array(features, dtype=np.float32)
    near = nearest_in_labels(labels, settings.context, rng)
    weights = np.ascontiguousarray(start, np.float32).copy()
    adam = settings.optimiser == "adam"
    means = np.zeros_like(weights)
    # Adagrad's accumulators start at 1; otherwise the first steps would be as long as the learning
    # rate, whatever the slope.
    squares = np.zeros_like(weights) if adam else np.ones_like(weights)
    steps = np.zeros(weights.shape[0], np.int64)
    csr = rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data
    for _ in range(settings.epochs):
        joint_embedding(
            *csr,
            near,
            rng.permutation(labels.n_users),
            settings.negatives,
            settings.negative_weight,
            settings.scale,
            settings.learning_rate,
            adam,
            _seed(rng),
            weights,
            means,
            squares,
            steps,
        )
    return weights


def random_weights(features: Any, factors: int, rng: np.random.Generator) -> F32:
    """Return uniform random V (d, factors) that maps points to vectors of length about 1."""
    elements = np.count_nonzero(features) if isinstance(features, np.ndarray) else features.nnz
    bound = np.sqrt(features.shape[0] / max(elements, 1))
    weights: F32 = rng.uniform(-bound, bound, (features.shape[1], factors)).astype(np.float32)
    return weights


def unit_scale(weights: F32, features: Any) -> F32:
    """Return the map scaled to vectors of length 1 on average, as the learning rates assume."""
    placed = np.asarray(features @ weights, np.float64)
    length = np.sqrt(np.square(placed).sum(axis=1).mean())
    scaled: F32 = (weights / max(length, 1e-12)).astype(np.float32)
    return scaled


def _seed(rng: np.random.Generator) -> np.uint64:
    return np.uint64(rng.integers(1 << 63))
