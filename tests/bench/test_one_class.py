"""How the one-class tables count."""

import numpy as np
import pytest

from bench import one_class


def test_a_setting_counts_at_the_round_that_is_best_over_all_splits():
    values = one_class.best_round([[0.1, 0.5, 0.2], [0.4, 0.3, 0.6]])
    assert values.tolist() == [0.5, 0.3]


def test_the_interval_is_students():
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    mean, half = one_class.interval(values)
    assert mean == 3.0
    assert half == pytest.approx(2.776 * np.sqrt(2.5 / 5))


def test_users_and_items_are_numbered_as_they_come():
    pairs, users = one_class.numbered([["b", "x"], ["a", "y"], ["b", "y"]])
    assert users == {"b": 0, "a": 1}
    assert pairs.item_ix.tolist() == [0, 1, 1]
