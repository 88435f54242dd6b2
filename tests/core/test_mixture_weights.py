"""The weights of rankers: Hedge with fixed share, by length of history, and where it leads."""

import numpy as np
import pytest

from core.mixture_weights import (
    DEPTH,
    LENGTHS,
    REMEMBERED,
    Weights,
    foreseen,
    hedge,
    length,
    ndcg10,
    reciprocal_rank,
)


def test_a_rank_counts_up_to_the_depth():
    assert [reciprocal_rank(rank) for rank in (0, 1, 4, DEPTH, DEPTH + 1)] == [0, 1, 0.25, 0.01, 0]


def test_the_better_ranker_wins_and_loses_again_when_it_becomes_worse():
    weights = {"a": 0.5, "b": 0.5}
    for _ in range(1000):
        weights = hedge(weights, {"a": 0.2, "b": 0.1})
    assert weights["a"] > 0.9
    assert sum(weights.values()) == pytest.approx(1.0)
    for _ in range(1000):
        weights = hedge(weights, {"a": 0.1, "b": 0.2})
    assert weights["b"] > 0.9


def test_a_ranker_without_a_list_keeps_its_weight():
    weights = {"a": 0.5, "b": 0.3, "asleep": 0.2}
    after = hedge(weights, {"a": 1.0, "b": 0.0})
    assert after["asleep"] == pytest.approx(0.999 * 0.2 + 0.001 / 3)
    assert after["a"] / after["b"] > 0.5 / 0.3
    assert sum(after.values()) == pytest.approx(1.0)


def test_weights_of_a_length_start_from_the_shared_ones_and_then_differ():
    weights = Weights({"a": 0.5, "b": 0.5})
    for _ in range(500):
        weights = weights.after(50, {"a": 0.2, "b": 0.1})
    assert weights.of(0) == weights.shared
    first = weights.after(1, {"a": 0.1, "b": 0.2})
    assert first.of(1) == first.shared == hedge(weights.shared, {"a": 0.1, "b": 0.2})
    for _ in range(500):
        weights = weights.after(1, {"a": 0.1, "b": 0.2}).after(50, {"a": 0.2, "b": 0.1})
    assert weights.of(4)["b"] > 0.8
    assert weights.of(20)["a"] > 0.8
    assert weights.of(5) == weights.shared


def test_every_number_of_preferences_has_one_length():
    assert [length(n) for n in (0, 4, 5, 19, 20, 10_000)] == [0, 0, 5, 5, 20, 20]
    assert [length(least) for least in LENGTHS] == list(LENGTHS)


def test_predicted_weights_are_those_that_hedge_reaches():
    gains = {"fbgd": 0.04, "popular": 0.03, "online": 0.02}
    rng = np.random.default_rng(0)
    ends = []
    for _ in range(20):
        weights = dict.fromkeys(gains, 1 / 3)
        for _ in range(REMEMBERED):
            hits = rng.random(3) < 10 * np.array([*gains.values()])
            weights = hedge(weights, dict(zip(gains, 0.1 * hits, strict=True)))
        ends.append(weights["fbgd"])
    assert foreseen(gains)["fbgd"] == pytest.approx(np.mean(ends), abs=0.05)


def test_predicted_weights_depend_on_differences_of_gains_alone():
    assert foreseen({"a": 0.3, "b": 0.2}) == pytest.approx(foreseen({"a": 0.1, "b": 0.0}))
    assert foreseen({"a": 0.3}) == {"a": 1.0}
    assert foreseen({}) == {}


def test_a_gain_is_that_of_ndcg_at_10():
    assert [ndcg10(rank) for rank in (0, 1, 3, 11)] == [0.0, 1.0, 0.5, 0.0]
