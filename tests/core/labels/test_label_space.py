"""A fitted label model: votes of neighbours, own scores and their blend, beside plain loops."""

from dataclasses import replace

import numpy as np
import pytest

from core.batch.feature_map import FeatureMap
from core.errors import ConfigError, ShapeError
from core.labels.config import Votes
from core.labels.space import LabelSpace, blended, unit
from tests.core.labelled import member, random_labels

N_FEATURES, FACTORS, N_POINTS, N_LABELS = 5, 3, 20, 6


@pytest.fixture
def space():
    """Return a space of one learner with two parts of ten points each."""
    rng = np.random.default_rng(0)
    width = FeatureMap().transform(np.ones((1, N_FEATURES))).shape[1]
    return LabelSpace(
        feature_map=FeatureMap(),
        n_features=N_FEATURES,
        centres=unit(rng.normal(size=(2, N_FEATURES)).astype(np.float32)),
        learner_ptr=np.array([0, 2]),
        weights=rng.normal(size=(2, width, FACTORS)).astype(np.float32),
        label_factors=rng.normal(size=(2, N_LABELS, FACTORS)).astype(np.float32),
        point_ptr=np.array([0, 10, N_POINTS]),
        points=unit(rng.normal(size=(N_POINTS, FACTORS)).astype(np.float32)),
        labels=random_labels(rng, N_POINTS, N_LABELS, 0.4),
        votes=Votes(neighbours=4, sharpness=3.0, blend=0.7),
    )


def features(n=9, seed=1):
    return np.random.default_rng(seed).normal(size=(n, N_FEATURES)).astype(np.float32)


def plain_scores(space, x):
    """Return the scores of one point, as the formula of the class says."""
    mapped = np.asarray(space.mapped(x[None]))[0].astype(float)
    part = int(np.argmax(space.centres @ mapped[:N_FEATURES]))
    place = space.weights[part].T @ mapped
    points = space.points[space.point_ptr[part] : space.point_ptr[part + 1]]
    cosine = points @ place / np.linalg.norm(place)
    near = np.argsort(-cosine)[: space.votes.neighbours]
    Y, votes = member(space.labels), np.zeros(N_LABELS)
    for i in near:
        weight = np.exp(space.votes.sharpness * (cosine[i] - cosine[near[0]]))
        votes += weight * Y[space.point_ptr[part] + i]
    own = space.label_factors[part] @ place
    return votes / np.linalg.norm(votes) + space.votes.blend * own / np.linalg.norm(own)


def test_scores_are_votes_of_neighbours_and_own_scores(space):
    x = features()
    expected = np.array([plain_scores(space, row) for row in x])
    np.testing.assert_allclose(space.scores(x), expected, atol=1e-4)


def test_without_a_blend_the_own_scores_do_not_count(space):
    plain = replace(space, votes=replace(space.votes, blend=0.0))
    expected = np.array([plain_scores(plain, row) for row in features()])
    np.testing.assert_allclose(plain.scores(features()), expected, atol=1e-4)
    assert not np.allclose(plain.scores(features()), space.scores(features()), atol=1e-2)


def test_very_sharp_votes_are_those_of_the_nearest_point_alone(space):
    sharp = replace(space, votes=Votes(neighbours=4, sharpness=1e4, blend=0.0))
    alone = replace(space, votes=Votes(neighbours=1, sharpness=1.0, blend=0.0))
    expected = alone.scores(features())
    voted = expected.any(axis=1)
    assert voted.sum() > 5
    np.testing.assert_allclose(sharp.scores(features())[voted], expected[voted], atol=1e-5)


def test_ranked_labels_are_those_of_the_best_scores_and_end_with_the_labels(space):
    scores = space.scores(features())
    ids, ranked = space.ranked(features(), N_LABELS + 2)
    assert np.array_equal(ids[:, :N_LABELS], np.argsort(-scores, axis=1, kind="stable"))
    assert np.array_equal(ranked[:, :N_LABELS], -np.sort(-scores, axis=1))
    assert (ids[:, N_LABELS:] == -1).all()
    assert np.isneginf(ranked[:, N_LABELS:]).all()


def test_neighbours_come_best_first_and_are_all_points_where_those_are_few(space):
    places = space.places(space.mapped(features()), 1)
    few, every = space.neighbours(places, 1, 4), space.neighbours(places, 1, 99)
    assert every.ids.shape == (9, 10)
    assert np.array_equal(np.sort(every.ids), np.tile(np.arange(10, 20), (9, 1)))
    assert (np.diff(every.cosine) <= 0.0).all()
    assert np.array_equal(few.ids, every.ids[:, :4])


def test_more_points_than_a_block_are_answered_like_one_by_one(space):
    x = features(n=600)
    alone = np.concatenate([space.scores(x[at : at + 1]) for at in (0, 511, 512, 599)])
    np.testing.assert_allclose(space.scores(x)[[0, 511, 512, 599]], alone, atol=1e-5)
    assert space.scores(x[:0]).shape == (0, N_LABELS)


def test_a_row_of_zeros_stays_out_of_a_blend():
    votes, own = np.zeros((1, 3), np.float32), np.array([[3.0, 4.0, 0.0]], np.float32)
    assert np.allclose(blended(votes, own, 2.0), [[1.2, 1.6, 0.0]])


def test_other_features_and_no_labels_are_refused(space):
    with pytest.raises(ShapeError, match="needs 5 features"):
        space.scores(np.ones((2, 4), np.float32))
    with pytest.raises(ConfigError, match="at least 1"):
        space.ranked(features(), 0)
