import numpy as np
import pytest

from core import splits
from core.errors import ConfigError, DataError
from core.interactions import from_pairs
from tests.core import ranking


def as_set(pairs):
    return set(zip(pairs.user_ix.tolist(), pairs.item_ix.tolist(), strict=True))


@pytest.mark.parametrize("name", ["random", "within users", "last", "time"])
def test_a_split_keeps_every_pair_once(name):
    pairs, rng = ranking.tribes(), np.random.default_rng(0)
    fit, held = {
        "random": lambda: splits.random_split(pairs, 0.2, rng),
        "within users": lambda: splits.split_within_users(pairs, 0.2, rng),
        "last": lambda: splits.leave_last_out(pairs),
        "time": lambda: splits.time_split(pairs, 0.2),
    }[name]()
    assert as_set(fit) | as_set(held) == as_set(pairs)
    assert not as_set(fit) & as_set(held)
    assert 0 < len(held) < 0.3 * len(pairs)
    if name in {"within users", "last"}:
        assert (fit.user_counts[pairs.user_counts > 0] > 0).all()
    if name == "time":
        assert fit.time.max() < held.time.min()


def test_at_least_one_pair_of_a_few_short_histories_is_held_out():
    pairs = from_pairs(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 1]))
    for seed in range(50):
        fit, held = splits.split_within_users(pairs, 0.1, np.random.default_rng(seed))
        assert len(held) > 0
        assert (fit.user_counts > 0).all()
    single = from_pairs(np.array([0, 1]), np.array([0, 0]))
    assert len(splits.split_within_users(single, 0.1, np.random.default_rng(0))[1]) == 0


def test_leaving_the_last_out_takes_the_newest():
    pairs = from_pairs(np.array([0, 0, 1]), np.array([5, 4, 3]), time=np.array([10, 20, 5]))
    assert as_set(splits.leave_last_out(pairs)[1]) == {(0, 4)}


def test_a_split_of_too_few_pairs_is_an_error_with_advice():
    with pytest.raises(ConfigError, match="between 0 and 1"):
        splits.random_split(ranking.tiny(), 1.0, np.random.default_rng(0))
    with pytest.raises(ConfigError, match="needs times"):
        splits.time_split(ranking.tiny(), 0.2)
    for n in (0, -1):
        with pytest.raises(ConfigError, match="at least one pair of each user"):
            splits.leave_last_out(ranking.tribes(), n)
    nothing = ranking.tribes().keep(np.zeros(len(ranking.tribes()), np.bool_))
    with pytest.raises(DataError, match="no pairs to split"):
        splits.time_split(nothing, 0.2)


def test_a_tilted_split_holds_out_popular_items_more_often_for_tilted_users_alone():
    """Items 0 to 49 are taken by all users, the 5 000 others by few."""
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(1000), 100)
    item = np.concatenate(
        [np.r_[np.arange(50), 50 + rng.permutation(5000)[:50]] for _ in range(1000)]
    )
    pairs = from_pairs(user, item)
    tilt = np.where(np.arange(1000) < 500, 0.3, 0.0)
    _, held = splits.split_within_users(pairs, 0.2, rng, tilt)
    frequent = held.item_ix < 50
    tilted = held.user_ix < 500
    assert 0.47 < frequent[~tilted].mean() < 0.53
    assert frequent[tilted].mean() > 0.6
    assert (held.user_counts == 20).all()
