"""Tests of the statistics and the tables of the one-class bench."""

import numpy as np
import pytest

from bench import one_class


def test_a_setting_counts_at_the_round_that_is_best_over_all_splits():
    values = one_class.best_round([[0.1, 0.5, 0.2], [0.4, 0.3, 0.6]])
    assert values.tolist() == [0.5, 0.3]


def test_the_interval_uses_students_t():
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    mean, half = one_class.interval(values)
    assert mean == 3.0
    assert half == pytest.approx(2.776 * np.sqrt(2.5 / 5))


def test_users_and_items_are_numbered_by_first_appearance():
    pairs, users = one_class.numbered([["b", "x"], ["a", "y"], ["b", "y"]])
    assert users == {"b": 0, "a": 1}
    assert pairs.item_ix.tolist() == [0, 1, 1]


def test_a_table_is_continued_where_it_ended(tmp_path):
    table = tmp_path / "rows.md"
    assert one_class.rows_of(table) == []
    one_class.write(table, ["| model | reg |", "|---|---|", "| SQ-wSQ | 1.5 |"])
    one_class.write(table, ["| LR-wSQ | 2 |"])
    known = one_class.rows_of(table)
    assert known == [{"model": "SQ-wSQ", "reg": "1.5"}, {"model": "LR-wSQ", "reg": "2"}]


def test_settings_in_the_table_are_not_searched_again():
    pairs, _ = one_class.numbered([["b", "x"], ["a", "y"]])
    known = [{"reg": "1.5", "nu": "0.5", "weight": "0.25", "target": "-0.5"}]
    found = one_class.searched(one_class.LOSSES["SQ-wSQ"], pairs, set(), known)
    assert (found.reg, found.nu, found.weight, found.target) == (1.5, 0.5, 0.25, -0.5)
