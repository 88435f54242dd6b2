import numpy as np
import pytest

from core.batch.ocmf.start import start_items, with_negatives
from core.errors import ConfigError
from core.interactions import from_pairs
from tests.core import ranking

PAIRS = ranking.tribes()


def test_a_fit_begins_near_the_leading_directions_of_the_users_rows() -> None:
    matrix = np.zeros((PAIRS.n_users, PAIRS.n_items))
    matrix[PAIRS.user_ix, PAIRS.item_ix] = 1.0
    items = start_items(PAIRS, 4, seed=0)
    np.testing.assert_allclose(items.T @ items, np.eye(4), atol=1e-4)
    best = np.linalg.svd(matrix)[1][:4]
    assert np.linalg.norm(matrix @ items) > 0.99 * np.linalg.norm(best)


def test_more_factors_than_items_add_nothing() -> None:
    few = from_pairs(np.array([0, 1, 2]), np.array([0, 1, 0]), n_users=3, n_items=2)
    assert start_items(few, 16, seed=0).shape == (2, 2)


def test_all_negatives_at_once_list_none() -> None:
    assert with_negatives(PAIRS, "all", 0.1, seed=0) is PAIRS


def test_listed_negatives_are_all_other_pairs() -> None:
    listed = with_negatives(PAIRS, "listed", 0.1, seed=0)
    assert len(listed) == PAIRS.n_users * PAIRS.n_items
    assert listed.target is not None
    assert listed.weight is not None
    positive = listed.target > 0.0
    np.testing.assert_array_equal(listed.keep(positive).item_ix, PAIRS.item_ix)
    assert set(listed.weight[~positive].tolist()) == {np.float32(0.1)}
    assert set(listed.weight[positive].tolist()) == {1.0}


def test_sampled_negatives_never_replace_a_positive() -> None:
    sampled = with_negatives(PAIRS, "sampled", 0.1, seed=0)
    assert sampled.target is not None
    np.testing.assert_array_equal(sampled.keep(sampled.target > 0.0).item_ix, PAIRS.item_ix)
    assert len(PAIRS) < len(sampled) <= 2 * len(PAIRS)


def test_more_pairs_than_can_be_listed_are_refused() -> None:
    with pytest.raises(ConfigError, match="too many to list"):
        with_negatives(PAIRS, "listed", 0.1, seed=0, most_listed=100)
