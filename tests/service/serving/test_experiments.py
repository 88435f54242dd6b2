"""Who is in which arm, and how arms compare by what was counted."""

from collections import Counter

import numpy as np
import pytest

from service.arms import BUCKETS, CountedArm
from service.serving.experiments.assignment import Assignment
from service.serving.experiments.comparison import broken, results
from service.store.experiments import Arm, Experiment, Guardrail, State

IMPRESSION, CLICK = 6, 2


def experiment(*shares: float, state: State = "running", own: str = "9f2c01") -> Experiment:
    arms = [Arm(f"arm{n}", share, {"diversity": n / 10}) for n, share in enumerate(shares)]
    return Experiment(
        id=own, name="one", arms=tuple(arms), state=state, created_ms=0, who="ada", promoted="arm1"
    )


USERS = [f"user-{n}" for n in range(20_000)]


def arms_of(assignment: Assignment) -> list[str]:
    found = [assignment.of(user) for user in USERS]
    return ["" if one is None else one.arm for one in found]


def test_arms_have_their_shares_and_users_stay_where_they_are() -> None:
    one = Assignment([experiment(0.2, 0.3, 0.1)])
    found = Counter(arms_of(one))
    for arm, share in [("arm0", 0.2), ("arm1", 0.3), ("arm2", 0.1), ("", 0.4)]:
        assert found[arm] / len(USERS) == pytest.approx(share, abs=0.02)
    assert arms_of(Assignment([experiment(0.2, 0.3, 0.1)])) == arms_of(one)


def test_experiments_and_buckets_are_drawn_independently() -> None:
    first, second = (Assignment([experiment(0.5, 0.5, own=name)]) for name in ("9f2c01", "0a0b0c"))
    pairs = Counter(zip(arms_of(first), arms_of(second), strict=True))
    assert all(n / len(USERS) == pytest.approx(0.25, abs=0.02) for n in pairs.values())
    treatments = [first.of(user) for user in USERS]
    counted = [one.counted for one in treatments if one is not None and one.counted is not None]
    for number in (0, 1):
        buckets = Counter(arm.bucket for arm in counted if arm.number == number)
        assert len(buckets) == BUCKETS
        assert max(buckets.values()) < 2 * min(buckets.values())


def test_nobody_is_treated_where_nothing_runs() -> None:
    assert Assignment([]).of("ada") is None
    assert Assignment([experiment(0.5, 0.5, state="stopped")]).of("ada") is None
    assert Assignment([experiment(0.5, 0.5)]).of(None) is None


def test_a_promoted_arm_holds_for_everybody_below_one_that_runs() -> None:
    promoted = experiment(0.5, 0.5, state="promoted", own="0a0b0c")
    for user in (None, "ada"):
        found = Assignment([promoted]).of(user)
        assert found is not None
        assert (found.parameters, found.counted) == ({"diversity": 0.1}, None)
    model = Arm("other", 1.0, {"model": "popular"})
    running = Experiment("9f2c01", "two", (model,), "running", 0, "ada")
    found = Assignment([promoted, running]).of("ada")
    assert found is not None
    assert found.parameters == {"diversity": 0.1, "model": "popular"}
    assert found.decided == {"diversity", "model"}
    assert found.otherwise is not None
    assert found.otherwise.parameters == {"diversity": 0.1}


def counts(rates: tuple[float, ...], shown: int) -> dict[CountedArm, Counter[int]]:
    rng, found = np.random.default_rng(1), {}
    for number, rate in enumerate(rates):
        for bucket in range(BUCKETS):
            taken = int(rng.binomial(shown, rate))
            found[CountedArm("9f2c01", number, bucket)] = Counter({IMPRESSION: shown, CLICK: taken})
    found[CountedArm("0a0b0c", 1, 1)] = Counter({IMPRESSION: 10**6})
    return found


def test_results_add_up_what_was_counted_for_this_experiment() -> None:
    found = results(experiment(0.5, 0.5), counts((0.1, 0.2), 1_000), IMPRESSION)
    assert [one.shown for one in found] == [64_000, 64_000]
    assert found[0].lifts == {}
    difference, rate = found[1].lifts[CLICK], found[1].rates[CLICK]
    assert difference is not None
    assert rate is not None
    assert 0.8 < difference.low < 1.0 < difference.high < 1.2
    assert rate.value == found[1].events[CLICK] / found[1].shown


def test_results_before_anything_happened_are_empty() -> None:
    for one in results(experiment(0.5, 0.5), {}, IMPRESSION):
        assert (one.shown, one.events, one.rates, one.lifts) == (0, {}, {}, {})


@pytest.mark.parametrize(
    ("rates", "most_loss", "which"),
    [((0.1, 0.1), 0.0, None), ((0.1, 0.1, 0.05), 0.0, 2), ((0.1, 0.08), 0.3, None)],
)
def test_a_guardrail_is_broken_by_what_is_sure(
    rates: tuple[float, ...], most_loss: float, which: int | None
) -> None:
    found = results(experiment(*(0.3 for _ in rates)), counts(rates, 500), IMPRESSION)
    lost = broken(Guardrail("click", most_loss), found, CLICK)
    assert (None if lost is None else lost.arm) == which
