"""Rates of two groups: the formulas, and how often intervals are wrong when one always looks."""

import numpy as np
import pytest

from core.comparison import FEWEST_TAKEN, Estimate, Group, lift, rate
from core.errors import ShapeError

BUCKETS = 64


def group(shown: list[int], taken: list[int]) -> Group:
    return Group(np.array(shown, np.int64), np.array(taken, np.int64))


def test_the_error_is_that_of_the_jackknife() -> None:
    one = group([100, 300] * 8, [20, 20] * 8)
    assert one.rate == 0.1
    without = [np.log(300 / 3_100), np.log(300 / 2_900)] * 8
    assert one.error == pytest.approx(np.sqrt(15 * np.var(without)))
    found = rate(one)
    assert found is not None
    assert found.low < found.value == 0.1 < found.high
    assert found.value / found.low == pytest.approx(found.high / found.value)


def test_a_lift_is_the_ratio_of_the_rates_less_one() -> None:
    better = group([1_000] * BUCKETS, [120] * BUCKETS)
    control = group([1_000] * BUCKETS, [100] * BUCKETS)
    found = lift(better, control)
    assert found is not None
    # buckets that are alike have the error of counts
    error = np.hypot(7_680**-0.5, 6_400**-0.5)
    above, below = np.log((1 + found.high) / 1.2) / error, np.log(1.2 / (1 + found.low)) / error
    assert 1.96 < above < 4
    assert (found.value, above) == pytest.approx((0.2, below))


@pytest.mark.parametrize(
    ("shown", "taken"),
    [
        ([0] * 20, [0] * 20),
        ([4] * 20, [1] * 20),
        ([500] * 20, [FEWEST_TAKEN - 1] + [0] * 19),
        ([500] * 9 + [0] * 11, [50] * 9 + [0] * 11),
    ],
)
def test_too_little_has_no_interval(shown: list[int], taken: list[int]) -> None:
    little, much = group(shown, taken), group([500] * 20, [50] * 20)
    assert rate(little) is None
    assert lift(much, little) is None


def test_an_arm_whose_users_take_nothing_surely_loses() -> None:
    control = group([1_000] * BUCKETS, [100] * BUCKETS)
    for taken in (0, FEWEST_TAKEN - 1):
        found = lift(group([1_000] * BUCKETS, [taken] + [0] * (BUCKETS - 1)), control)
        assert found is not None
        assert found.low == -1.0 <= found.value < found.high < -0.99
    assert lift(group([1] * BUCKETS, [0] * BUCKETS), control) is None


def test_one_busy_user_makes_nothing_sure() -> None:
    usual = group([150] * BUCKETS, [8] * BUCKETS)
    shown, taken = usual.shown.copy(), usual.taken.copy()
    shown[0] += 20_000
    taken[0] += 4_000
    found = lift(usual, Group(shown, taken))
    assert found is not None
    assert found.low < -0.5 < 0 < found.high


def test_several_comparisons_share_the_probability_of_an_error() -> None:
    better, control = (group([100] * BUCKETS, [taken] * BUCKETS) for taken in (12, 10))
    one, many = lift(better, control), lift(better, control, 7)
    assert one is not None
    assert many is not None
    assert many.low < one.low < one.value == many.value < one.high < many.high


def test_what_is_no_group_is_refused() -> None:
    for shown, taken in [([1], [1]), ([1, 2], [1, 2, 3])]:
        with pytest.raises(ShapeError):
            group(shown, taken)


def looked_at(rng: np.random.Generator, effect: float, looks: int = 30) -> list[Estimate]:
    """Return what one sees who looks again and again, while users differ much from each other."""
    users, a_look = 3_000, 500
    arm, bucket = rng.integers(0, 2, users), rng.integers(0, BUCKETS, users)
    likely = np.minimum(rng.beta(1, 10, users) * np.where(arm == 1, 1 + effect, 1), 1)
    active = rng.gamma(0.5, 1, users)
    shown, taken = np.zeros((2, BUCKETS), np.int64), np.zeros((2, BUCKETS), np.int64)
    found = []
    for _ in range(looks):
        user = rng.choice(users, a_look, p=active / active.sum())
        np.add.at(shown, (arm[user], bucket[user]), 1)
        np.add.at(taken, (arm[user], bucket[user]), rng.random(a_look) < likely[user])
        estimate = lift(Group(shown[1], taken[1]), Group(shown[0], taken[0]))
        found += [] if estimate is None else [estimate]
    return found


def test_who_always_looks_is_seldom_misled_and_finds_a_large_difference() -> None:
    rng = np.random.default_rng(0)
    same = [looked_at(rng, 0.0) for _ in range(100)]
    misled = [any(one.low > 0 or one.high < 0 for one in looks) for looks in same]
    assert sum(misled) <= 5
    better = [looked_at(rng, 0.8) for _ in range(20)]
    assert all(looks[-1].low > 0 for looks in better)
