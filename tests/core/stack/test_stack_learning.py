"""A stack that learns as events come: what it finds, forgets and begins with, and its arms."""

import numpy as np
import pytest

from core.mixture_weights import Weights, reciprocal_rank
from core.stack.arms import FUSION, STACK, Arms, first_arms, with_arms
from core.stack.choices import Choice, choices_of, ndcg10, ranks
from core.stack.fitting import fit
from core.stack.learning import FEWEST, StackLearner
from core.stack.window import OF_SHORT, Judged, Window

NAMES = ("good: score", "bad: score", "history: seen")


def events(n, seed=0, sign=1.0, size=30):
    """Return events whose item is drawn by the first signal, or by its opposite."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        signals = rng.normal(size=(size, 3)).astype(np.float32)
        chance = np.exp(3.0 * sign * signals[:, 0])
        taken = int(rng.choice(size, p=chance / chance.sum()))
        rank = int((signals[:, 1] > signals[taken, 1]).sum()) + 1
        gains = {"bad": reciprocal_rank(rank), FUSION: reciprocal_rank(rank)}
        yield Judged(Choice(signals, taken, int(rng.integers(1, 40))), gains)


def learned(learner, judged, names=NAMES):
    """Let it learn events, fitting whenever that is due; return the last fit."""
    found = None
    for one in judged:
        learner.learn(one, names)
        if learner.is_due:
            found = learner.fit() or found
    return found


def gain(logit, judged):
    choices = choices_of(one.choice for one in judged)
    return float(ndcg10(ranks(choices, logit.score_all(choices))).mean())


def test_it_is_fitted_when_it_has_events_enough_and_then_ever_more_rarely():
    learner, due = StackLearner(), []
    for n, one in enumerate(events(400), 1):
        learner.learn(one, NAMES)
        if learner.is_due:
            assert learner.fit() is not None
            due.append(n)
    assert due[0] == FEWEST
    apart = np.diff(due)
    assert (2 * apart[1:] >= apart[:-1]).all()
    assert len(due) < 15


def test_it_finds_what_matters_and_says_what_each_part_adds():
    found = learned(StackLearner(), events(400))
    assert gain(found.logit, list(events(200, seed=9))) > 0.6
    assert found.added["good"] > 0.2
    assert abs(found.added["bad"]) < 0.1
    assert found.events >= 300


def test_events_whose_item_is_not_listed_teach_nothing_and_do_not_make_a_fit_due():
    learner = StackLearner()
    for one in events(200):
        learner.learn(Judged(one.choice._replace(taken=-1), one.gains), NAMES)
    assert not learner.is_due
    assert learner.fit() is None


def test_a_full_window_forgets_and_follows_a_drift():
    of_one = next(events(1)).n_bytes
    learner = StackLearner(most_bytes=300 * of_one)
    learned(learner, events(600))
    assert len(learner.window) == 300
    after = learned(learner, events(600, seed=1, sign=-1.0))
    assert gain(after.logit, list(events(200, seed=9, sign=-1.0))) > 0.6


def test_weights_from_elsewhere_hold_until_the_window_speaks_for_itself():
    start = fit(choices_of(one.choice for one in events(500)), NAMES)
    learner = StackLearner(start)
    few = learned(learner, events(70, seed=3, sign=-1.0))
    test = list(events(200, seed=9))
    plain = learned(StackLearner(), events(70, seed=3, sign=-1.0))
    assert gain(few.logit, test) > gain(plain.logit, test)
    many = learned(learner, events(2_000, seed=4, sign=-1.0))
    assert gain(many.logit, list(events(200, seed=9, sign=-1.0))) > 0.5


def test_events_after_short_histories_have_a_room_of_their_own():
    every = [one._replace(length=2 if n % 50 == 0 else 30) for n, one in enumerate(
        one.choice for one in events(2_000))]  # fmt: skip
    of_one = Judged(every[0], {}).n_bytes
    window = Window(100 * of_one)
    for one in every:
        window.add(Judged(one, {}), NAMES)
    lengths = [one.choice.length for one in window]
    assert lengths.count(2) == OF_SHORT * 100
    assert lengths.count(30) == 100 - OF_SHORT * 100
    assert window.n_seen == 2_000
    latest = [id(one) for one in every if one.length == 30][-75:]
    assert [id(one.choice) for one in window if one.choice.length == 30] == latest


def test_many_events_with_short_lists_fill_the_memory_too():
    window = Window(100_000)
    signals = np.zeros((1, len(NAMES)), np.float32)
    for n in range(200):
        window.add(Judged(Choice(signals, 0, n), {}), NAMES)
    # an array, a dictionary and the objects around them have a kilobyte
    assert len(window) < 100


def test_short_histories_may_follow_other_laws_than_long_ones():
    def turning(n, seed):
        for one in events(n, seed):
            short = one.choice.length < 4
            signals = one.choice.signals[:, [1, 0, 2] if short else [0, 1, 2]]
            yield Judged(one.choice._replace(signals=signals), one.gains)

    found = learned(StackLearner(), turning(3_000, 0))
    for chosen in (lambda n: n < 3, lambda n: n > 10):
        test = [one for one in turning(2_000, 5) if chosen(one.choice.length)]
        assert gain(found.logit, test) > 0.5


def test_a_new_family_changes_the_window_and_gets_weight_from_the_events_that_follow():
    learner = StackLearner()
    poor = [Judged(one.choice._replace(signals=one.choice.signals[:, 1:]), one.gains)
            for one in events(200)]  # fmt: skip
    learned(learner, poor, NAMES[1:])
    found = learned(learner, events(400, seed=1))
    assert found.logit.names == NAMES
    assert gain(found.logit, list(events(200, seed=9))) > 0.6
    gone = learned(learner, poor, NAMES[1:])
    assert gone is None or gone.logit.names == NAMES[1:]


def test_a_first_stack_gets_the_weight_that_its_ranks_would_have_earned():
    learner = StackLearner()
    found = learned(learner, events(300))
    first = with_arms(first_arms(["bad"], has_stack=False), ["bad"], has_stack=True)
    weights = learner.arms(first, STACK)
    assert Arms(found.logit, weights).best(10, [STACK, FUSION, "bad"]) == STACK
    assert weights.shared.keys() == {STACK, FUSION, "bad"}


def test_another_scale_of_signals_and_lengths_changes_no_probability():
    choices = choices_of(one.choice for one in events(100))
    made = fit(choices, NAMES)
    mean, scale = np.float32([1.0, -2.0, 0.5]), np.float32([3.0, 0.5, 2.0])
    other = made.rescaled(mean, scale, (0.3, 2.0))
    one = next(events(1, seed=5)).choice
    np.testing.assert_allclose(
        other.probabilities(one.signals, 17), made.probabilities(one.signals, 17), rtol=1e-4
    )


def test_a_family_whose_scores_grow_enormously_does_not_outshout_the_others():
    def told(seed, unit):
        for one in events(300, seed):
            signals = one.choice.signals * np.float32([1.0, unit, 1.0])
            yield Judged(one.choice._replace(signals=signals), one.gains)

    before = learned(StackLearner(), told(0, 1e-6)).logit
    found = learned(StackLearner(before), told(1, 1e3)).logit
    assert gain(found, list(told(9, 1e3))) > 0.5


@pytest.mark.parametrize("has_stack", [True, False])
def test_arms_follow_the_families_and_none_disappears(has_stack):
    weights = first_arms(["fbgd", "next"], has_stack=has_stack)
    for _ in range(3_000):
        weights = weights.after(7, {"fbgd": 1.0, "next": 0.0, FUSION: 0.5})
    assert Arms(None, weights).best(7, ["next", "fbgd", FUSION]) == "fbgd"
    assert min(weights.shared.values()) > 1e-5
    other = with_arms(weights, ["next", "sequence"], has_stack=True)
    assert other.shared.keys() == {STACK, FUSION, "next", "sequence"}
    assert sum(other.shared.values()) == pytest.approx(1.0)
    assert all(sum(one.values()) == pytest.approx(1.0) for one in other.by_length.values())


def test_each_length_of_history_has_arms_of_its_own():
    weights = first_arms(["popular", "fbgd"], has_stack=True)
    for _ in range(200):
        weights = weights.after(2, {"popular": 1.0, "fbgd": 0.1, STACK: 0.2, FUSION: 0.3})
        weights = weights.after(5, {"popular": 0.1, "fbgd": 1.0, STACK: 0.2, FUSION: 0.3})
        weights = weights.after(9, {"popular": 0.1, "fbgd": 0.1, STACK: 0.9, FUSION: 0.3})
    arms = Arms(None, weights)
    found = [arms.best(n, weights.shared) for n in (1, 2, 3, 7, 8, 19)]
    assert found == ["popular", "popular", "fbgd", "fbgd", STACK, STACK]


def test_an_arm_that_cannot_answer_is_passed_over():
    arms = Arms(None, Weights({STACK: 0.7, FUSION: 0.1, "fbgd": 0.2}))
    assert arms.best(3, [FUSION, "fbgd"]) == "fbgd"
    assert arms.best(3, []) == FUSION
    assert Arms().best(3, [STACK, FUSION]) == FUSION
