"""Learning vectors point by point: slopes against differences, kernels against their twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.kernels.joint_embedding import joint_embedding
from core.kernels.label_neighbours import label_neighbours
from core.kernels.skip_gram import skip_gram
from core.labels.config import Descent
from core.labels.descent import nearest_in_labels, skip_gram_places
from core.labels.space import unit
from tests.core import reference_labels as reference
from tests.core.labelled import member, random_labels, topics

STEP = 1e-6


def difference(value, at):
    """Return the slope of ``value`` at an array, by central differences."""
    slope = np.zeros_like(at)
    for place in np.ndindex(*at.shape):
        moved = at.copy()
        moved[place] += STEP
        above = value(moved)
        moved[place] -= 2 * STEP
        slope[place] = (above - value(moved)) / (2 * STEP)
    return slope


def test_the_slope_of_the_joint_objective_is_that_of_differences():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 6)) * (rng.random((8, 6)) < 0.7) + 0.01
    weights = rng.normal(size=(6, 3))
    given_ = 0, [1, 2], [3, 4, 0, 3], 1.7, 2.5
    slope = reference.joint_slope(weights, X, *given_)
    assert np.allclose(
        slope, difference(lambda w: reference.joint_value(w, X, *given_), weights), atol=1e-7
    )
    # cosines do not depend on the length of V, hence no slope along it
    assert abs((slope * weights).sum()) < 1e-9


def test_the_slopes_of_skip_gram_are_those_of_differences():
    rng = np.random.default_rng(1)
    place, context, others = rng.normal(size=3), rng.normal(size=3), rng.normal(size=(2, 3))
    places, contexts = np.array([place, place * 0]), np.array([context, *others])
    rate, weight = 1e-6, 3.0
    # the kernel's twin, with given negatives instead of drawn ones
    by_place = difference(lambda p: reference.skip_gram_value(p, context, others, weight), place)
    step = (1 - reference.sigmoid(place @ context)) * context
    for other in others:
        step = step - weight / 2 * reference.sigmoid(place @ other) * other
    assert np.allclose(by_place, step, atol=1e-7)
    by_context = difference(lambda c: reference.skip_gram_value(place, c, others, weight), context)
    before = contexts.copy()
    reference.skip_gram(
        places, contexts, np.array([[0], [-1]]), np.array([0]), 0, 1.0, rate, rate, 0
    )
    assert np.allclose((contexts - before)[0] / rate, by_context, atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 6))
def test_neighbours_in_labels_are_those_of_all_pairs(seed, k):
    labels = random_labels(np.random.default_rng(seed), 20, 6)
    owners = labels.by_item()
    length = np.sqrt(np.maximum(labels.user_counts, 1)).astype(np.float32)
    given_ = (labels.ptr, labels.item_ix, owners.ptr, owners.item_ix)
    more = length, np.uint64(seed)
    found, expected = np.full((20, k), -1, np.int32), np.empty((20, k), np.int32)
    label_neighbours(*given_, *more, found)
    reference.label_neighbours(*given_, *more, expected)
    Y = member(labels)
    alike = Y @ Y.T / np.outer(length, length)
    assert np.array_equal(found < 0, expected < 0)
    for i in range(20):
        here = found[i] >= 0
        assert np.allclose(alike[i, found[i][here]], alike[i, expected[i][here]], atol=1e-6)
        assert len({i, *found[i][here].tolist()}) == here.sum() + 1


def test_ties_are_broken_at_random_so_that_no_point_is_a_neighbour_of_all():
    labels = random_labels(np.random.default_rng(0), 200, 1, density=1.1)
    near = nearest_in_labels(labels, 5, np.random.default_rng(0))
    assert np.bincount(near.ravel(), minlength=200).max() < 25


def near(rng, n, k):
    """Return lists of other points, some shorter than k."""
    out = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)], np.int32)
    out[0], out[1, 1:] = -1, -1
    return out


def test_skip_gram_agrees_with_its_twin():
    rng = np.random.default_rng(2)
    places, contexts = (rng.normal(size=(9, 4)).astype(np.float32) for _ in range(2))
    twins = places.astype(np.float64), contexts.astype(np.float64)
    settings_ = near(rng, 9, 3), rng.permutation(9), 4, 2.0, 0.3, 0.1, np.uint64(5)
    skip_gram(places, contexts, *settings_)
    reference.skip_gram(*twins, *settings_)
    assert np.allclose(places, twins[0], atol=1e-5)
    assert np.allclose(contexts, twins[1], atol=1e-5)


@pytest.mark.parametrize("adam", [False, True])
def test_the_joint_climb_agrees_with_its_twin_and_leaves_other_features_alone(adam):
    rng = np.random.default_rng(3)
    X = rng.random((9, 7)) * (rng.random((9, 7)) < 0.4)
    X[:, 0], X[:, 6] = 0.3, 0.0
    ptr = np.concatenate([[0], np.cumsum((X > 0).sum(1))])
    ix = np.concatenate([np.flatnonzero(row) for row in X]).astype(np.int32)
    value = X[X > 0].astype(np.float32)
    settings_ = near(rng, 9, 3), rng.permutation(9), 4, 2.0, 3.0, 0.05, adam, np.uint64(7)
    state = [rng.normal(size=(7, 4)), np.zeros((7, 4)), np.full((7, 4), float(not adam))]
    fast = [one.astype(np.float32) for one in state]
    steps, twin_steps = np.zeros(7, np.int64), np.zeros(7, np.int64)
    joint_embedding(ptr, ix, value, *settings_, *fast, steps)
    reference.joint_embedding(ptr, ix, value, *settings_, *state, twin_steps)
    assert np.allclose(fast[0], state[0], atol=2e-3 if adam else 1e-4)
    assert np.allclose(fast[2], state[2], atol=1e-4)
    assert np.array_equal(steps, twin_steps)
    assert not steps[6]


def test_points_with_similar_labels_get_similar_directions():
    labels = topics(120)[1]
    places = skip_gram_places(
        labels, 8, Descent(context=10, epochs=60, learning_rate=0.2), np.random.default_rng(0)
    )
    Y = unit(member(labels).astype(np.float32))
    alike, cosine = Y @ Y.T, unit(places) @ unit(places).T
    assert cosine[alike > 0.7].mean() > cosine[alike == 0].mean() + 0.4
