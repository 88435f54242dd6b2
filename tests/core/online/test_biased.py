"""Biased experts and re-solved users beside their naive twins; start values and rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from core.kernels import biased as kernels
from core.online.biased import BiasedGroup, step_settings
from core.online.experts import Biased, Resolved
from core.online.resolved import ResolvedGroup
from core.online.tables import Batch, ItemTable, Side, UserTable
from core.rng import id_hashes
from tests.core import reference_default as reference

FIRST = 5
"""The group's first column."""


def tables(group, users=6, items=5, ring=8):
    """Return start rows and empty rings."""
    rows = []
    for side, n in ((Side.USER, users), (Side.ITEM, items)):
        table = np.zeros((n, FIRST + group.width), dtype=np.float32)
        group.start(side, id_hashes([str(number) for number in range(n)]), FIRST, table)
        rows.append(table)
    rings = np.zeros((users, ring), np.int32), np.zeros((users, ring), np.float32)
    return UserTable(rows[0], *rings, np.zeros(users, np.int64)), ItemTable(rows[1])


def events(n=120, users=6, items=5, seed=0):
    rng = np.random.default_rng(seed)
    return Batch(
        user_ix=rng.integers(0, users, n),
        item_ix=rng.integers(0, items, n),
        rating=rng.integers(2, 11, n) / 2.0,
        sequence=np.arange(n),
        mean=rng.uniform(3.0, 4.0, n),
    )


def double(table):
    """Return a copy with float64 rows, for the twin."""
    columns = {name: array.copy() for name, array in vars(table).items()}
    columns["rows"] = columns["rows"].astype(np.float64)
    return type(table)(**columns)


def by_twin(kernel, group, batch, users, items):
    """Run the twin with exactly the arguments that the group gives the kernel."""
    seen = {}

    def catch(*arguments):
        seen["arguments"] = arguments
        getattr(reference, kernel)(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, kernel, catch)
        predictions = np.zeros((batch.rating.size, group.size))
        group.learn(batch, users, items, FIRST, predictions)
    return predictions


RECIPES = st.builds(
    Biased,
    rank=st.sampled_from([1, 2, 7, 8, 9, 17, 24]),
    c_bias=st.sampled_from([0.03, 0.5]),
    c_factor=st.sampled_from([0.05, 0.5]),
    eps=st.sampled_from([0.0, 0.01, 0.7]),
    cap=st.sampled_from([0.5, 1.5]),
    bias_decay=st.sampled_from([0.0, 0.1]),
    noise=st.sampled_from([0.0, 0.02, 0.3]),
    joint=st.booleans(),
)


@given(recipes=st.lists(RECIPES, min_size=1, max_size=3), seed=st.integers(0, 99))
def test_biased_experts_agree_with_the_naive_twin(recipes, seed):
    group = BiasedGroup(recipes, first_number=0, seed=1)
    batch = events(n=25, seed=seed)
    users, items = tables(group)
    slow_users, slow_items = double(users), double(items)
    predictions = np.empty((25, group.size))
    group.learn(batch, users, items, FIRST, predictions)
    wanted = by_twin("biased", group, batch, slow_users, slow_items)
    # float32 rows: each of the 25 steps rounds at 1e-7 of values up to about 10
    np.testing.assert_allclose(predictions, wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(users.rows, slow_users.rows, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(items.rows, slow_items.rows, rtol=1e-4, atol=1e-4)
    once = np.empty((5, group.size))
    twice = np.empty((5, group.size))
    group.predict(users.rows[:5], items.rows, 3.3, FIRST, once)
    first = np.cumsum([0, *(2 * (r.rank + 1) for r in recipes)])[:-1] + FIRST
    ranks = np.array([r.rank for r in recipes])
    reference.biased_predict(users.rows[:5], items.rows, 3.3, first, ranks, twice)
    np.testing.assert_allclose(once, twice, rtol=1e-5)


@pytest.mark.parametrize("rank", [1, 4, 16, 24])
@pytest.mark.parametrize("experts", [1, 2])
def test_re_solved_users_agree_with_the_naive_twin(rank, experts):
    recipes = [Resolved(rank=rank + 3 * number, noise=0.3) for number in range(experts)]
    group = ResolvedGroup(recipes, first_number=0, seed=1)
    batch = events()
    users, items = tables(group, ring=8)  # 20 ratings a user: the ring goes round
    slow_users, slow_items = double(users), double(items)
    predictions = np.empty((120, group.size))
    group.learn(batch, users, items, FIRST, predictions)
    wanted = by_twin("resolved", group, batch, slow_users, slow_items)
    np.testing.assert_allclose(predictions, wanted, atol=2e-4)
    np.testing.assert_allclose(users.rows, slow_users.rows, rtol=1e-4, atol=2e-4)
    np.testing.assert_allclose(items.rows, slow_items.rows, rtol=1e-4, atol=2e-4)
    for ring in ("recent_item", "recent_rating", "recent_count"):
        np.testing.assert_array_equal(getattr(users, ring), getattr(slow_users, ring))


def test_a_ring_that_is_refilled_from_the_history_gives_the_same_bits():
    group = ResolvedGroup([Resolved(rank=5, growth=1.0)], first_number=0, seed=1)
    batch = events(n=90)
    users, items = tables(group, ring=8)
    group.learn(batch, users, items, FIRST, np.empty((90, 1)))
    filled = UserTable(*(array.copy() for array in vars(users).values()))
    for user in range(6):
        order = np.arange(users.recent_count[user] - 8, users.recent_count[user]) % 8
        filled.recent_item[user] = users.recent_item[user, order]
        filled.recent_rating[user] = users.recent_rating[user, order]
        filled.recent_count[user] = 8
    more, same = events(n=60, seed=5), ItemTable(items.rows.copy())
    one, other = np.empty((60, 1)), np.empty((60, 1))
    group.learn(more, users, items, FIRST, one)
    group.learn(more, filled, same, FIRST, other)
    assert one.tobytes() == other.tobytes()
    assert users.rows.tobytes() == filled.rows.tobytes()
    assert items.rows.tobytes() == same.rows.tobytes()


def test_a_user_is_re_solved_when_the_count_has_grown_enough():
    group = ResolvedGroup([Resolved(rank=2, growth=1.5)], first_number=0, seed=1)
    users, items = tables(group, users=1)
    batch = events(n=20, users=1)
    solved_at = []
    for t in range(20):
        before = users.rows[0, -1]
        one = Batch(*(column[t : t + 1] for column in vars(batch).values()))
        group.learn(one, users, items, FIRST, np.empty((1, 1)))
        if users.rows[0, -1] != before:
            solved_at.append(t + 1)
    assert solved_at == [1, 3, 6, 10, 16]


def test_a_small_error_changes_nothing():
    group = BiasedGroup([Biased(4, 0.1, 0.1, eps=5.0)], first_number=0, seed=1)
    users, items = tables(group)
    before = users.rows.tobytes(), items.rows.tobytes()
    group.learn(events(), users, items, FIRST, np.empty((120, 1)))
    assert (users.rows.tobytes(), items.rows.tobytes()) == before


def test_start_values_are_a_pure_function_of_seed_side_and_id():
    group = BiasedGroup([Biased(4, 0.1, 0.1), Biased(4, 0.1, 0.1)], first_number=2, seed=1)
    other_seed = BiasedGroup([Biased(4, 0.1, 0.1)], first_number=2, seed=2)
    hashes = id_hashes(["a", "b"])
    rows = np.zeros((2, group.width), np.float32)
    group.start(Side.USER, hashes, 0, rows)
    again, item, moved = (np.ones_like(rows) for _ in range(3))
    group.start(Side.USER, hashes[::-1].copy(), 0, again)
    group.start(Side.ITEM, hashes, 0, item)
    other_seed.start(Side.USER, hashes, 0, moved[:, : other_seed.width])
    np.testing.assert_array_equal(rows, again[::-1])
    factors = [array[:, 1:5] for array in (rows, item, moved)]
    assert len({part.tobytes() for part in factors}) == 3
    assert not np.array_equal(rows[:, 1:5], rows[:, 11:15])  # nor do two experts start alike
    assert abs(rows[:, 1:5]).max() <= 0.02 * np.sqrt(3.0)


@pytest.mark.parametrize(
    ("family", "wrong"),
    [
        (Biased, {"rank": 0}),
        (Biased, {"c_bias": 0.0}),
        (Biased, {"c_factor": float("nan")}),
        (Biased, {"delta_factor": -1.0}),
        (Biased, {"eps": -0.1}),
        (Resolved, {"rank": 0}),
        (Resolved, {"rank": 10_000}),
        (Resolved, {"reg": 0.0}),
        (Resolved, {"growth": 0.9}),
        (Resolved, {"noise": float("inf")}),
    ],
)
def test_a_recipe_that_cannot_learn_is_refused(family, wrong):
    fine = {"rank": 2, "c_bias": 0.1, "c_factor": 0.1}
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        family(**(fine | wrong))


def test_settings_hold_the_gain_that_is_twice_the_aggressiveness():
    assert step_settings(Biased(3, c_bias=0.1, c_factor=0.25))[:2] == [0.2, 0.5]
