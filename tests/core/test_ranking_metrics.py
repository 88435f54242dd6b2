"""Metrics against the definitions, one user at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import ranking_metrics as metrics
from core.errors import ShapeError
from core.interactions import from_pairs


def test_a_worked_example():
    held = from_pairs(np.array([0, 0, 1]), np.array([3, 9, 2]))
    ranked = np.array([[3, 1, 2], [0, 1, -1]], np.int32)
    found = metrics.hits(ranked, held)
    assert metrics.recall(found, 3).tolist() == [0.5, 0.0]
    assert metrics.precision(found, 2).tolist() == [0.5, 0.0]
    assert metrics.reciprocal_rank(found, 3).tolist() == [1.0, 0.0]
    assert metrics.reciprocal_ranks(found, 3).tolist() == [0.5, 0.0]
    assert metrics.ndcg(found, 3) == pytest.approx([1.0 / (1.0 + 1.0 / np.log2(3.0)), 0.0])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 12))
def test_metrics_agree_with_their_definitions(seed, k):
    rng = np.random.default_rng(seed)
    known = rng.random((4, 9)) < 0.4
    known[:, 0] = True
    held = from_pairs(*np.nonzero(known), n_users=4, n_items=9)
    ranked = np.array([rng.permutation(9) for _ in range(4)], np.int32)
    found = metrics.hits(ranked, held)
    for u in range(4):
        gain = [float(known[u, item]) for item in ranked[u, :k]]
        wanted = int(known[u].sum())
        ideal = sum(1 / np.log2(place + 2) for place in range(min(k, wanted)))
        real = sum(g / np.log2(place + 2) for place, g in enumerate(gain))
        assert metrics.recall(found, k)[u] == pytest.approx(sum(gain) / wanted)
        assert metrics.precision(found, k)[u] == pytest.approx(sum(gain) / k)
        ranks = [1 / (place + 1) for place, g in enumerate(gain) if g]
        assert metrics.reciprocal_ranks(found, k)[u] == pytest.approx(sum(ranks) / wanted)
        assert metrics.ndcg(found, k)[u] == pytest.approx(real / ideal)


def test_means_have_the_documented_names():
    held = from_pairs(np.array([0]), np.array([0]))
    named = metrics.means(metrics.hits(np.array([[0, 1]], np.int32), held), (10, 20))
    wanted = {"recall@10", "ndcg@10", "recall@20", "ndcg@20", "mrr@10", "precision@5"}
    assert named.keys() == wanted
    assert named["ndcg@20"] == 1.0


def test_users_without_held_out_items_are_refused():
    held = from_pairs(np.array([0]), np.array([0]), n_users=2)
    with pytest.raises(ShapeError, match="leave such users out"):
        metrics.hits(np.zeros((2, 1), np.int32), held)
    with pytest.raises(ShapeError, match="3 lists for 2 users"):
        metrics.hits(np.zeros((3, 1), np.int32), held)
