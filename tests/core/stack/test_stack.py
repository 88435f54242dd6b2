"""The stack: compared with naive loops, its gradient with differences, its guard with bad fits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import DataError
from core.stack.choices import Choice, choices_of, ndcg10, ranks
from core.stack.fitting import PRIOR, Earlier, fit, loss
from core.stack.guard import PULLS_OF_FEW, cross_fitted, guarded
from core.stack.signals import BY_BAYES, LIKES, POPULAR, signals_of_scores
from tests.core import reference_stack

NAMES = ["right", "noise", "constant"]


def events(n=60, seed=0, strength=3.0, listed=0.8):
    """Return events whose item is drawn by its first signal; some are not listed."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        size = int(rng.integers(1, 9))
        signals = rng.normal(size=(size, 3)).astype(np.float32)
        signals[:, 2] = 7.0
        chance = np.exp(strength * signals[:, 0])
        taken = int(rng.choice(size, p=chance / chance.sum())) if rng.random() < listed else -1
        yield Choice(signals, taken, int(rng.integers(0, 30)))


@given(st.integers(0, 10_000))
def test_ranks_are_those_of_a_sorted_list(seed):
    rng = np.random.default_rng(seed)
    choices = choices_of(events(12, seed))
    score = rng.integers(0, 4, len(choices.signals)).astype(np.float32)
    for event, rank in enumerate(ranks(choices, score).tolist()):
        rows = range(choices.ptr[event], choices.ptr[event + 1])
        order = sorted(rows, key=lambda row: (-score[row], row))
        taken = choices.taken[event]
        assert rank == (order.index(taken) + 1 if taken >= 0 else 0)


def test_kept_events_are_those_that_would_have_been_gathered():
    every = list(events(20))
    chosen = np.arange(20) % 3 == 0
    kept = choices_of(every).keep(chosen)
    alone = choices_of([event for event, keep in zip(every, chosen, strict=True) if keep])
    for name in ("ptr", "signals", "taken", "length"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(alone, name))


@pytest.mark.parametrize("n", [0, 7, 20])
def test_a_split_is_what_masks_would_keep(n):
    choices = choices_of(events(20))
    before = np.arange(len(choices)) < n
    for half, chosen in zip(choices.split(n), (before, ~before), strict=True):
        for name in ("ptr", "signals", "taken", "length"):
            np.testing.assert_array_equal(getattr(half, name), getattr(choices.keep(chosen), name))


@pytest.mark.parametrize("top", [0.0, 0.3, 1.0])
def test_the_loss_is_that_of_a_loop_and_its_gradient_that_of_differences(top):
    choices = choices_of(events(30, listed=1.0))
    rng = np.random.default_rng(1)
    weights, length = rng.normal(size=9) / 2, rng.normal(size=(30, 3))
    value, gradient = loss(weights, choices.signals, length, choices, top=top)
    of_twin = np.empty((3, 3))
    tables = choices.signals, choices.ptr, choices.taken, length, weights.reshape(3, 3)
    naive = reference_stack.loss(*tables, top, np.empty(9), np.empty((2, 3)), of_twin) / 30
    assert value == pytest.approx(naive + PRIOR / 60 * float(weights @ weights), rel=1e-6)
    np.testing.assert_allclose(gradient, of_twin.ravel() / 30 + PRIOR / 30 * weights, rtol=1e-6)
    for at in range(9):
        step = np.zeros(9)
        step[at] = 1e-4
        up, down = (
            loss(weights + sign * step, choices.signals, length, choices, top=top)[0]
            for sign in (1, -1)
        )
        assert gradient[at] == pytest.approx((up - down) / 2e-4, abs=1e-6)


def test_a_fit_finds_the_signal_that_matters_and_ignores_constants():
    choices = choices_of(events(2_000))
    made = fit(choices, NAMES)
    right, noise, constant = made.weights[:, 0]
    assert right > 20 * abs(noise)
    assert constant == 0.0
    order = ndcg10(ranks(choices, choices.signals[:, 0])).mean()
    assert ndcg10(ranks(choices, made.score_all(choices))).mean() == pytest.approx(order, abs=5e-3)


def foretold(n, seed=0, strength=1.0):
    """Return events whose item is drawn by the sum of two signals, beside five useless ones."""
    rng = np.random.default_rng(seed)
    for _ in range(n):
        signals = rng.normal(size=(30, 2 + len(USELESS))).astype(np.float32)
        chance = np.exp(strength * signals[:, :2].sum(axis=1))
        taken = int(rng.choice(30, p=chance / chance.sum()))
        yield Choice(signals, taken, int(rng.integers(0, 30)))


USELESS = tuple(f"noise: {n}" for n in range(5))


def gain(made, choices):
    return ndcg10(ranks(choices, made.score_all(choices))).mean()


def test_a_few_events_leave_popularity_and_affinity_as_bayes_rule_adds_them():
    """A few events more than nothing: a fit from 0 has hardly found what Bayes' rule says."""
    few, many = choices_of(foretold(10)), choices_of(foretold(1_000, seed=1))
    expected, from_nothing = (fit(few, (*two, *USELESS)) for two in (BY_BAYES, ("a", "b")))
    best = ndcg10(ranks(many, many.signals[:, :2].sum(axis=1))).mean()
    assert gain(expected, many) > 0.95 * best
    assert gain(expected, many) > 1.05 * gain(from_nothing, many)


def test_many_events_overrule_what_was_expected():
    many, fresh = (choices_of(foretold(2_000, seed, strength=-1.0)) for seed in (0, 1))
    expected, from_nothing = (fit(many, (*two, *USELESS)) for two in (BY_BAYES, ("a", "b")))
    assert gain(expected, fresh) == pytest.approx(gain(from_nothing, fresh), rel=5e-3)


def test_without_an_affinity_nothing_is_expected_of_popularity():
    few = choices_of(foretold(10))
    likes, _ = BY_BAYES
    known, unknown = (fit(few, (name, "b", *USELESS)) for name in (likes, "a"))
    np.testing.assert_array_equal(known.weights, unknown.weights)
    # one that tells nothing of any item is as none
    few.signals[:, 1] = 0.5
    known, unknown = (fit(few, (*two, *USELESS)) for two in (BY_BAYES, ("a", "b")))
    np.testing.assert_array_equal(known.weights, unknown.weights)


def test_a_signal_that_an_earlier_fit_does_not_know_has_the_weight_that_is_expected():
    likes, affinity = BY_BAYES
    earlier = fit(choices_of(foretold(500)), (likes, "b", *USELESS))
    few = choices_of(foretold(10, seed=2))
    again = fit(few, (likes, affinity, *USELESS), earlier=Earlier(earlier, 200.0))
    own = dict(zip(again.names, again.weights[:, 0] / again.scale, strict=True))
    assert own[likes] == pytest.approx(earlier.weights[0, 0] / earlier.scale[0], abs=0.1)
    assert own[affinity] == pytest.approx(1.0, abs=0.1)


def with_likes(n, known, seed=0):
    """Return events that know how many liked an item, in its popularity's order, or nothing yet."""
    for event in foretold(n, seed):
        event.signals[:, 2] = event.signals[:, 0] if known else 0.0
        yield event


def test_popularity_does_not_count_twice_once_likes_come_beside_it():
    names = (POPULAR, BY_BAYES[1], LIKES, *USELESS[1:])
    earlier = fit(choices_of(with_likes(500, known=False)), names)
    few = choices_of(with_likes(20, known=True, seed=2))
    for begin in (None, earlier):
        again = fit(few, names, earlier=Earlier(earlier, 200.0), begin=begin)
        own = dict(zip(again.names, again.weights[:, 0] / again.scale, strict=True))
        assert own[POPULAR] + own[LIKES] == pytest.approx(1.0, abs=0.15)
        assert own[BY_BAYES[1]] == pytest.approx(1.0, abs=0.15)


def test_weights_depend_on_the_length_of_the_history_where_that_helps():
    def turning():
        for event in events(2_000, listed=1.0):
            # the signal means the opposite for long histories
            sign = 1.0 if event.length < 15 else -1.0
            yield event._replace(signals=event.signals * np.float32([sign, 1.0, 1.0]))

    made = fit(choices_of(turning()), NAMES)
    one = np.array([[1.0, 0.0, 7.0], [-1.0, 0.0, 7.0]], np.float32)
    assert np.subtract(*made.scores(one, 2)) > 1.0
    assert np.subtract(*made.scores(one, 29)) < 0.0


@pytest.mark.parametrize("n", [30, 1_999])
def test_equal_lengths_say_nothing_of_other_lengths(n):
    made = fit(choices_of(event._replace(length=30) for event in events(n)), NAMES)
    one = np.array([[1.0, 0.0, 7.0], [-1.0, 0.0, 7.0]], np.float32)
    assert made.scores(one, 3).tolist() == made.scores(one, 30).tolist()


def test_scores_of_one_event_are_those_of_all_and_probabilities_add_up():
    choices = choices_of(events(50))
    made = fit(choices, NAMES)
    every = made.score_all(choices)
    for event in range(50):
        rows = slice(choices.ptr[event], choices.ptr[event + 1])
        length = int(choices.length[event])
        np.testing.assert_allclose(
            made.scores(choices.signals[rows], length), every[rows], rtol=1e-4, atol=1e-4
        )
        assert made.probabilities(choices.signals[rows], length).sum() == pytest.approx(1.0)


def test_the_loss_of_the_top_gives_up_events_that_no_signal_explains():
    """Two signals: one ranks a third of the events first, one lifts hopeless ones a little."""

    def mixed():
        rng = np.random.default_rng(0)
        for n in range(900):
            signals = rng.normal(size=(200, 2)).astype(np.float32)
            taken = int(rng.integers(200))
            if n % 3 == 0:
                signals[taken, 0] += 3.5
            else:
                signals[taken] += np.float32([-0.3, 0.8])
            yield Choice(signals, taken, 5)

    choices = choices_of(mixed())
    likely, top = (fit(choices, ["sharp", "broad"], top=q) for q in (0.0, 0.3))
    gains = [ndcg10(ranks(choices, made.score_all(choices))).mean() for made in (likely, top)]
    assert gains[1] > 1.02 * gains[0]


def test_the_guard_leaves_a_stack_alone_that_is_not_worse():
    found = guarded(choices_of(events(500)), NAMES, {"a": 0, "b": 1}, np.random.default_rng(0))
    assert found.alone in {None, "a"}
    assert found.ndcg10["a"] > found.ndcg10["b"]
    assert found.ndcg10["mixture"] > 0.99 * found.ndcg10["a"]


def test_the_guard_chooses_the_best_ranker_where_a_fit_would_be_worse():
    """Ten events and forty useless signals: whatever is fitted to half of them is noise."""
    rng = np.random.default_rng(3)

    def noisy():
        for _ in range(10):
            signals = rng.normal(size=(60, 41)).astype(np.float32)
            signals[7, 0] = 9.0
            signals[:, 0] *= np.float32(1e-3) if rng.random() < 0.5 else np.float32(1.0)
            yield Choice(signals, 7, 3)

    names = [str(n) for n in range(41)]
    found = guarded(choices_of(noisy()), names, {"good": 0, "bad": 1}, np.random.default_rng(0))
    assert found.alone == "good"


def pulled(choices, *pulls):
    names = (*BY_BAYES, *(f"noise: {n}" for n in range(choices.signals.shape[1] - 2)))
    return guarded(choices, names, {"a": 0}, np.random.default_rng(0), pulls=pulls).logit


def test_few_events_are_held_at_what_is_expected_where_that_foretells_them_better():
    """Forty events and forty useless signals: what is expected is right, and a fit is not."""
    rng = np.random.default_rng(4)
    useless = [rng.normal(size=(30, 38)).astype(np.float32) for _ in range(540)]
    listed = [
        one._replace(signals=np.hstack([one.signals[:, :2], noise]))
        for one, noise in zip(foretold(540), useless, strict=True)
    ]
    few, many = choices_of(listed[:40]), choices_of(listed[40:])
    strong, weak = pulled(few, *PULLS_OF_FEW), pulled(few, PRIOR)
    assert gain(strong, many) > 1.02 * gain(weak, many)
    np.testing.assert_array_equal(strong.weights, pulled(few, max(PULLS_OF_FEW)).weights)


def test_a_stack_is_cross_fitted_with_the_pull_that_was_chosen():
    few, names = choices_of(foretold(40)), (*BY_BAYES, *USELESS)
    for pull in (PRIOR, max(PULLS_OF_FEW)):
        found = guarded(few, names, {"a": 0}, np.random.default_rng(1), pulls=(pull,))
        held_out = cross_fitted(few, names, np.random.default_rng(1), pull=found.pull)
        assert ndcg10(ranks(few, held_out)).mean() == found.ndcg10["mixture"]


def test_events_are_not_held_at_what_they_contradict():
    many = choices_of(foretold(300, strength=-1.0))
    np.testing.assert_array_equal(pulled(many, *PULLS_OF_FEW).weights, pulled(many, PRIOR).weights)


def test_with_too_few_events_the_best_ranker_is_chosen():
    choices = choices_of([next(events(1, listed=1.0))])
    assert cross_fitted(choices, NAMES, np.random.default_rng(0)) is None
    assert guarded(choices, NAMES, {"a": 0}, np.random.default_rng(0)).alone == "a"


def test_the_same_seed_gives_the_same_bits():
    made = [
        guarded(choices_of(events(200)), NAMES, {"a": 0}, np.random.default_rng(5))
        for _ in range(2)
    ]
    np.testing.assert_array_equal(made[0].logit.weights, made[1].logit.weights)
    assert made[0].ndcg10 == made[1].ndcg10


def test_without_an_event_in_its_list_there_is_nothing_to_fit():
    with pytest.raises(DataError, match="give more events"):
        fit(choices_of(events(20, listed=0.0)), NAMES)


MEASURABLE = (
    st.just(0.0) | st.floats(2.0**-40, 10, width=32) | st.floats(-10, -(2.0**-40), width=32)
)
"""Scores whose multiples are normal numbers: below these, float32 loses digits or all of them."""


@given(st.lists(MEASURABLE, min_size=1), st.floats(0.01, 100))
def test_the_logarithm_of_a_score_has_no_unit(scores, unit):
    plain = signals_of_scores(np.array(scores, np.float32))
    other = signals_of_scores(np.array(scores, np.float32) * np.float32(unit))
    np.testing.assert_allclose(plain[:, 1], other[:, 1], atol=1e-3)
    assert np.isfinite(plain).all()
