"""Clusters of directions: every point has one, and prediction finds it again."""

import numpy as np
import pytest
from scipy import sparse

from core.labels import clusters
from core.labels.clusters import direction_clusters, nearest_centre
from core.labels.space import unit
from tests.core.labelled import topics


@pytest.mark.parametrize(
    "rows",
    [topics(200)[0].toarray(), np.random.default_rng(0).normal(size=(2_000, 12))],
    ids=["settled", "still moving after the last sweep"],
)
def test_clusters_cover_every_point_and_prediction_finds_them_again(rows):
    rows = unit(rows)
    centres, members = direction_clusters(rows, 30, np.random.default_rng(0))
    assert np.array_equal(np.sort(np.concatenate(members)), np.arange(len(rows)))
    nearest = nearest_centre(sparse.csr_array(rows), centres)
    for cluster, points in enumerate(members):
        assert (nearest[points] == cluster).all()
        assert points.size


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_three_directions_are_three_clusters(make):
    rng = np.random.default_rng(0)
    kind = np.arange(90) % 3
    rows = unit(np.eye(3, 6)[kind] + 0.05 * rng.normal(size=(90, 6)))
    # k-means starts from three random rows: with some seed they are one of each direction
    found = [
        direction_clusters(make(rows.astype(np.float32)), 3, np.random.default_rng(seed))[1]
        for seed in range(8)
    ]
    assert any(all(np.unique(kind[points]).size == 1 for points in members) for members in found)


def test_rows_in_several_blocks_find_the_same_centres():
    rng = np.random.default_rng(0)
    rows = unit(rng.normal(size=(clusters.BLOCK + 10, 3)).astype(np.float32))
    centres = unit(rng.normal(size=(4, 3)).astype(np.float32))
    expected = np.argmax(rows @ centres.T, axis=1)
    assert np.array_equal(nearest_centre(rows, centres), expected)


def test_equally_near_centres_are_taken_in_their_order():
    centres = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], np.float32)
    assert nearest_centre(np.array([[1.0, 0.0]], np.float32), centres).tolist() == [1]


@pytest.mark.parametrize(("n", "k"), [(4, 1), (1, 3), (0, 2)])
def test_one_cluster_or_one_point_is_one_part(n, k):
    centres, members = direction_clusters(np.ones((n, 2), np.float32), k, np.random.default_rng(0))
    assert centres.shape == (1, 2)
    assert [points.tolist() for points in members] == [list(range(n))]


def test_clusters_without_points_are_left_out():
    rows = np.repeat(np.eye(2, dtype=np.float32), 10, axis=0)
    centres, members = direction_clusters(rows, 6, np.random.default_rng(0))
    assert len(centres) == len(members) <= 2
    assert all(points.size for points in members)
