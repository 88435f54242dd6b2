"""Small worlds of labelled points."""

import numpy as np
from scipy import sparse

from core.interactions import from_pairs


def random_labels(rng, n=30, n_labels=9, density=0.25):
    """Return random labels; some points may have none."""
    member = rng.random((n, n_labels)) < density
    return from_pairs(*np.nonzero(member), n_users=n, n_items=n_labels)


def member(labels):
    """Return Y with its zeros."""
    out = np.zeros((labels.n_users, labels.n_items))
    out[labels.user_ix, labels.item_ix] = 1.0
    return out


def topics(n=300, d=40, n_labels=24, seed=0):
    """Return features and labels of points that each belong to a topic, which both depend on."""
    world = np.random.default_rng(9)
    words = world.dirichlet(np.full(d, 0.2), 6)
    carried = world.dirichlet(np.full(n_labels, 0.15), 6)
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 6, n)
    features = np.array([rng.multinomial(20, words[t]) for t in topic], np.float32)
    chosen = np.array([rng.multinomial(4, carried[t]) > 0 for t in topic])
    labels = from_pairs(*np.nonzero(chosen), n_users=n, n_items=n_labels)
    return sparse.csr_array(features), labels


def points(n=400, d=30, n_labels=12, seed=0):
    """Return sparse features and labels that depend on them linearly, with noise."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.2, rng=rng, format="csr")
    score = X @ np.random.default_rng(9).normal(size=(d, n_labels))
    labelled = score + 0.3 * rng.normal(size=score.shape) > 1.0
    return X, from_pairs(*np.nonzero(labelled), n_users=n, n_items=n_labels)
