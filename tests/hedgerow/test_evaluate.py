"""A fitted model is measured on held-out pairs."""

import numpy as np
import pytest

from core.errors import DataError, ShapeError
from hedgerow import Popular, from_pairs
from hedgerow.metrics import evaluate

TRAIN = from_pairs([0, 1, 1, 2], [0, 0, 1, 2], n_users=3, n_items=3)
MODEL = Popular().fit(TRAIN)  # 0, then 1, then 2


def test_lists_leave_out_what_is_known() -> None:
    test = from_pairs([0, 2], [1, 0], n_users=3, n_items=3)
    found = evaluate(MODEL, TRAIN, test, ks=(1, 2))
    assert found == {
        "recall@1": 1.0,
        "ndcg@1": 1.0,
        "recall@2": 1.0,
        "ndcg@2": 1.0,
        "mrr@10": 1.0,
        "precision@5": pytest.approx(0.2),
    }


def test_pairs_of_training_and_dislikes_do_not_count() -> None:
    test = from_pairs([0, 0, 1], [0, 1, 2], n_users=3, n_items=3)
    alone = from_pairs([0, 1], [1, 2], n_users=3, n_items=3)
    assert evaluate(MODEL, TRAIN, test) == evaluate(MODEL, TRAIN, alone)
    disliked = from_pairs([0, 1, 2], [1, 2, 1], target=[1, 1, 0], n_users=3, n_items=3)
    assert evaluate(MODEL, TRAIN, disliked) == evaluate(MODEL, TRAIN, alone)


def test_parts_of_other_sizes_or_without_a_judge_are_refused() -> None:
    with pytest.raises(ShapeError, match="number both alike"):
        evaluate(MODEL, TRAIN, from_pairs(np.array([0]), np.array([1])))
    with pytest.raises(DataError, match="held-out"):
        evaluate(MODEL, TRAIN, TRAIN)
