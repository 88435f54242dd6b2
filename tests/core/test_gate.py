"""The gate: which models may replace the served one."""

import numpy as np
import pytest

from core.errors import ConfigError, ShapeError
from core.gate import decide, paired_interval


def scores(rng, n=2000, mean=0.4):
    return np.clip(rng.normal(mean, 0.2, n), 0, 1)


def test_a_model_as_good_as_the_served_one_may_replace_it() -> None:
    rng = np.random.default_rng(0)
    rival = scores(rng)
    decision = decide(rival + rng.normal(0, 0.05, rival.size), rival, rng)
    assert decision.outcome == "promoted"
    assert decision.difference is not None
    assert decision.difference.low < 0 < decision.difference.high


def test_identical_scores_pass_the_gate() -> None:
    rival = scores(np.random.default_rng(1))
    decision = decide(rival.copy(), rival, np.random.default_rng(2))
    assert decision.outcome == "promoted"
    assert decision.difference == type(decision.difference)(0.0, 0.0, 0.0)


def test_a_model_that_is_worse_beyond_doubt_is_refused() -> None:
    rng = np.random.default_rng(3)
    rival = scores(rng)
    decision = decide(rival - 0.05, rival, rng)
    assert decision.outcome == "refused"
    assert "worse than the active model: -0.0500" in decision.reason


def test_a_loss_within_one_percent_is_accepted() -> None:
    rival = scores(np.random.default_rng(4))
    assert decide(rival * 0.992, rival, np.random.default_rng(5)).outcome == "promoted"


@pytest.mark.parametrize("n", [1, 6, 199])
def test_with_few_users_the_mean_decides(n: int) -> None:
    rng = np.random.default_rng(6)
    rival = 0.1 + scores(rng, n=n)
    found = [decide(rival + by, rival, rng) for by in (-0.05, 0.0, 0.05)]
    assert [one.outcome for one in found] == ["refused", "promoted", "promoted"]
    assert all(f"only {n} users can judge, fewer than 200: the mean" in one.reason for one in found)


def test_without_any_user_there_is_no_comparison() -> None:
    none = np.zeros(0)
    decision = decide(none, none, np.random.default_rng(6))
    assert decision.outcome == "not_judged"
    assert "nobody can judge" in decision.reason


@pytest.mark.parametrize("n", [0, 5, 500])
def test_without_a_served_model_any_model_passes(n: int) -> None:
    assert decide(np.zeros(n), None, np.random.default_rng(7)).outcome == "promoted"


def test_the_interval_holds_the_truth_at_its_stated_rate() -> None:
    rng = np.random.default_rng(8)
    held = 0
    for _ in range(100):
        difference = rng.exponential(1.0, 300) - 0.9
        found = paired_interval(difference, np.zeros(300), rng)
        held += found.low <= 0.1 <= found.high
    assert held >= 88


def test_the_interval_is_that_of_the_pairs_not_of_two_samples() -> None:
    rng = np.random.default_rng(9)
    rival = rng.random(1000)
    found = paired_interval(rival + 0.01, rival, rng)
    assert found.low == pytest.approx(0.01)
    assert found.high == pytest.approx(0.01)


def test_scores_of_other_users_are_refused() -> None:
    with pytest.raises(ShapeError):
        paired_interval(np.zeros(3), np.zeros(4), np.random.default_rng(0))
    with pytest.raises(ConfigError):
        paired_interval(np.zeros(0), np.zeros(0), np.random.default_rng(0))
