"""Lists with several wanted items, and a stack that gains where it gains least."""

import numpy as np
import pytest

from core.stack.balance import balanced
from core.stack.choices import joined
from core.stack.fitting import fit
from core.stack.lists import Candidates, Lists, lists_of

NAMES = ("a", "b")
SCORES = {"a": 0, "b": 1}


def sample(seed, *, popular, users=200, m=30, wanted=4):
    """Return lists in which ``a`` tells what is wanted, and ``b`` as far as ``popular`` says."""
    rng = np.random.default_rng(seed)
    found = []
    for user in range(users):
        signals = rng.normal(size=(m, 2)).astype(np.float32)
        likely = np.exp(1.5 * signals[:, 0] + popular * signals[:, 1])
        chosen = np.zeros(m, np.bool_)
        chosen[rng.choice(m, wanted, replace=False, p=likely / likely.sum())] = True
        found.append(Candidates(user, signals, chosen, wanted + 1, 9))
    return lists_of(found)


def repeated(lists, times):
    """Return the same lists several times, as if each user had been drawn so often."""
    rows = np.diff(lists.ptr)
    return Lists(
        np.tile(lists.user, times),
        np.concatenate([[0], np.tile(rows, times).cumsum()]),
        np.tile(lists.signals, (times, 1)),
        np.tile(lists.wanted, times),
        np.tile(lists.n_wanted, times),
        np.tile(lists.length, times),
    )


def test_ndcg_is_that_of_each_list_by_hand():
    lists = sample(0, popular=0.0, users=20, m=25)
    score = np.random.default_rng(1).integers(0, 5, len(lists.signals)).astype(float)
    for at, found in enumerate(lists.ndcg10(score)):
        rows = np.arange(lists.ptr[at], lists.ptr[at + 1])
        best = sorted(rows, key=lambda row: (-score[row], row))[:10]
        gain = sum(lists.wanted[row] / np.log2(2 + n) for n, row in enumerate(best))
        ideal = sum(1 / np.log2(2 + n) for n in range(int(lists.n_wanted[at])))
        assert found == pytest.approx(gain / ideal)


def test_an_event_leaves_out_what_else_the_user_wanted():
    lists = sample(0, popular=0.0, users=3, m=12, wanted=4)
    events, of_list = lists.events(7, np.random.default_rng(0))
    # 4 are wanted in each list: two events of each before a third one of any
    assert sorted(np.bincount(of_list).tolist()) == [2, 2, 3]
    assert events.counts.tolist() == [9] * 7
    for at, row in enumerate(events.taken):
        own = slice(lists.ptr[of_list[at]], lists.ptr[of_list[at] + 1])
        wanted = lists.signals[own][lists.wanted[own]]
        rows = events.signals[events.ptr[at] : events.ptr[at + 1]]
        assert (events.signals[row] == wanted).all(axis=1).any()
        assert sum((one == wanted).all(axis=1).any() for one in rows) == 1


def test_a_signal_counts_little_where_it_harms_one_of_the_samples():
    """Popularity tells much in the second sample, and the contrary in the first one."""
    plain, other = sample(1, popular=-0.3), sample(2, popular=1.2)
    found = balanced((plain, other), NAMES, SCORES, 900, np.random.default_rng(0))
    parts = [one.events(900, np.random.default_rng(0))[0] for one in (plain, other)]
    naive = fit(joined(parts), NAMES)
    fresh = sample(3, popular=-0.3)
    alone = fresh.ndcg10(fresh.signals[:, 0]).mean()
    gains = [
        fresh.ndcg10(one.score_all(fresh.choices)).mean() / alone for one in (found.logit, naive)
    ]
    assert gains[1] < 0.97
    assert gains[0] > 0.99 or found.alone == "a"


def test_a_signal_counts_where_it_helps_in_one_sample_and_harms_in_none():
    samples = sample(1, popular=0.5), sample(2, popular=1.2)
    found = balanced(samples, NAMES, SCORES, 900, np.random.default_rng(0))
    assert found.alone is None
    for seed, popular in ((3, 0.5), (4, 1.2)):
        fresh = sample(seed, popular=popular)
        gain = fresh.ndcg10(found.logit.score_all(fresh.choices)) - fresh.ndcg10(
            fresh.signals[:, 0]
        )
        assert gain.mean() > 0.01


def test_without_a_sure_gain_the_best_ranker_answers_alone():
    """``b`` helps a little: 60 users cannot tell it from chance, and 2 000 can."""
    alone = []
    for users in (60, 2_000):
        samples = sample(1, popular=0.4, users=users), sample(2, popular=0.4, users=users)
        found = balanced(samples, NAMES, SCORES, 900, np.random.default_rng(0))
        alone.append(found.alone)
    assert alone == ["a", None]


def test_repeated_lists_of_the_same_users_make_nothing_surer():
    """A gain that 200 users show is as sure if each of them is looked at eight times."""
    alone = []
    for times in (1, 8):
        samples = [repeated(sample(seed, popular=0.33, users=200), times) for seed in (1, 2)]
        found = balanced((samples[0], samples[1]), NAMES, SCORES, 400, np.random.default_rng(0))
        alone.append(found.alone)
    assert alone == ["a", "a"]


def test_with_too_few_events_the_best_ranker_answers_alone():
    few = sample(1, popular=0.0, users=1, m=4, wanted=1)
    found = balanced((few, few), NAMES, SCORES, 10, np.random.default_rng(0))
    assert found.alone in NAMES


def test_the_same_seed_gives_the_same_bits():
    samples = sample(1, popular=0.0, users=60), sample(2, popular=0.5, users=60)
    made = [balanced(samples, NAMES, SCORES, 100, np.random.default_rng(5)) for _ in range(2)]
    np.testing.assert_array_equal(made[0].logit.weights, made[1].logit.weights)
    assert made[0].ndcg10 == made[1].ndcg10
