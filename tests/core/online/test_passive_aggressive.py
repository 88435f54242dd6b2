"""The kernel of SGD, NN-PA and diagonal NN-APA beside its twin and general solvers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from core.kernels import passive_aggressive as kernels
from core.kernels.passive_aggressive import DIAGONAL, EXPERT, IDENTITY, PA, PA1, PA2, SGD
from core.rng import mix
from tests.core import problems, reference

FIRST = 3
"""The group's first column."""


def expert_row(rank, column=0, key=1, **recipe):
    row = np.zeros((), dtype=EXPERT)
    row["factors"], row["accumulators"], row["rank"] = column, column + rank, rank
    row["rule"], row["metric"], row["key"] = PA2, DIAGONAL, key
    row["c"], row["eps"], row["delta"], row["cap"] = 0.1, 0.0, 0.1, np.inf
    for name, value in recipe.items():
        row[name] = value
    return row


def learn(module, experts, users, items, events, rho=1.0, low=1.0, high=5.0, log_weights=None):
    """Run the kernel or its twin; return rows, weights, updates and predictions."""
    users, items = users.copy(), items.copy()
    user_ix, item_ix, rating, sequence = events
    weights = np.zeros(experts.size) if log_weights is None else log_weights
    updates = np.zeros(experts.size)
    predictions = np.zeros((rating.size, experts.size))
    module.passive_aggressive(
        experts,
        FIRST,
        users,
        items,
        np.asarray(user_ix, dtype=np.int64),
        np.asarray(item_ix, dtype=np.int64),
        rating,
        np.asarray(sequence, dtype=np.int64),
        rho,
        float(np.log(0.99)),
        low,
        high,
        weights,
        updates,
        np.empty((2, int(experts["rank"].max())), dtype=np.float32),
        predictions,
    )
    return users, items, weights, updates, predictions


# dyadic numbers: the first prediction is exact, so both sides agree whether there is a loss
GRID = st.integers(0, 128).map(lambda n: n / 64.0)
RECIPE = st.fixed_dictionaries(
    {
        "metric": st.sampled_from([IDENTITY, DIAGONAL]),
        "rule": st.sampled_from([PA, PA1, PA2, SGD]),
        "exact": st.booleans(),
        "c": st.sampled_from([0.01, 0.1, 1.0, 10.0]),
        "eps": st.sampled_from([0.0, 0.01, 0.5]),
        "delta": st.sampled_from([0.01, 1.0]),
        "cap": st.sampled_from([0.5, 1.5, np.inf]),
    }
)


@settings(max_examples=200)
@given(
    data=st.data(), rank=st.integers(1, 20), recipe=RECIPE, rating=st.sampled_from([1.0, 2.5, 5.0])
)
def test_one_event_agrees_with_the_naive_twin(data, rank, recipe, rating):
    if recipe["rule"] == SGD:
        recipe |= {"metric": IDENTITY, "exact": False}
    rows = data.draw(arrays.arrays(np.float32, (2, 1, FIRST + 2 * rank), elements=GRID))
    experts = np.array([expert_row(rank, **recipe)])
    events = [0], [0], np.array([rating]), [7]
    fast = learn(kernels, experts, *rows, events)
    naive = learn(reference, experts, *rows, events)
    for mine, twin in zip(fast, naive, strict=True):
        # float32 beside float64; a hard step may be long, its rounding is relative
        np.testing.assert_allclose(mine, twin, rtol=2e-5, atol=2e-5 * (1.0 + np.abs(twin).max()))


@pytest.mark.parametrize("rho", [1.0, 0.2])
def test_a_stream_agrees_with_the_naive_twin(rho):
    rng = np.random.default_rng(5)
    ranks, column, table = (1, 5, 16), 0, []
    for number, (rank, rule, metric) in enumerate(
        zip(ranks, (PA1, PA2, SGD), (DIAGONAL, DIAGONAL, IDENTITY), strict=True)
    ):
        key = mix(np.array([number], dtype=np.uint64))[0]
        table.append(expert_row(rank, column, key, rule=rule, metric=metric, c=0.05))
        column += 2 * rank
    experts = np.array(table)
    users, items = rng.uniform(0.2, 0.8, (2, 6, FIRST + column)).astype(np.float32)
    events = (
        rng.integers(0, 6, 300),
        rng.integers(0, 6, 300),
        rng.uniform(1, 5, 300),
        np.arange(300) + 10**9,
    )
    fast = learn(kernels, experts, users, items, events, rho)
    naive = learn(reference, experts, users, items, events, rho)
    np.testing.assert_array_equal(fast[3], naive[3])
    assert rho == 1.0 or 0 < fast[3].min() < 300
    for mine, twin in zip(fast, naive, strict=True):
        np.testing.assert_allclose(mine, twin, rtol=1e-3, atol=1e-3)


@given(data=st.data(), rank=st.integers(1, 20), n=st.integers(0, 5))
def test_prediction_agrees_with_the_naive_twin_and_with_learning(data, rank, n):
    rows = data.draw(arrays.arrays(np.float32, (2, n, FIRST + 2 * rank), elements=GRID))
    experts = np.array([expert_row(rank)])
    fast, naive = np.zeros((n, 1)), np.zeros((n, 1))
    kernels.passive_aggressive_predict(experts, FIRST, *rows, fast)
    reference.passive_aggressive_predict(experts, FIRST, *rows, naive)
    np.testing.assert_array_equal(fast, naive)
    if n:
        events = np.arange(n), np.arange(n), np.full(n, 3.0), np.arange(n)
        np.testing.assert_array_equal(learn(kernels, experts, *rows, events)[4], fast)


@pytest.mark.parametrize("rule", [PA, PA1, PA2])
@pytest.mark.parametrize("metric", [IDENTITY, DIAGONAL])
@pytest.mark.parametrize("error", [0.4, -0.4])
def test_the_closed_form_solves_its_problem(metric, rule, error):
    """Factors are large enough that u >= 0 does not matter."""
    rng = np.random.default_rng(rule + 10 * metric)
    for c in (0.05, 1.0):
        u, v = rng.uniform(1.0, 2.0, 5), rng.uniform(0.1, 0.9, 5)
        h = rng.uniform(0.0, 2.0, 5)
        next_u = one_step(u, v, h, error, metric=metric, rule=rule, c=c, eps=0.05)
        g = np.sqrt(0.1 + h + v**2) if metric == DIAGONAL else np.ones(5)
        wanted = problems.solve(u, v, u @ v + error, 0.05, np.diag(g), rule, c, non_negative=False)
        np.testing.assert_allclose(next_u, wanted, atol=2e-5)


@pytest.mark.parametrize("rule", [PA, PA1, PA2])
@pytest.mark.parametrize("metric", [IDENTITY, DIAGONAL])
def test_the_exact_step_solves_the_constrained_problem(metric, rule):
    """The prediction is far too high and some factors are small: they reach 0."""
    rng = np.random.default_rng(rule + 10 * metric)
    clipped = 0
    for c in (0.3, 10.0):
        for _ in range(4):
            u, v = rng.uniform(0.0, 1.5, 5) ** 2, rng.uniform(0.3, 1.0, 5)
            h = rng.uniform(0.0, 2.0, 5)
            error = 0.2 - u @ v
            recipe = {"metric": metric, "rule": rule, "c": c, "eps": 0.05}
            next_u = one_step(u, v, h, error, exact=1, **recipe)
            g = np.sqrt(0.1 + h + v**2) if metric == DIAGONAL else np.ones(5)
            wanted = problems.solve(u, v, 0.2, 0.05, np.diag(g), rule, c, non_negative=True)
            np.testing.assert_allclose(next_u, wanted, atol=1e-4)
            clipped += (next_u == 0.0).sum()
    assert clipped


def one_step(u, v, h, error, **recipe):
    """Return the user's factors after one event whose rating is the prediction + error."""
    users = np.concatenate([np.zeros(FIRST), u, h])[None].astype(np.float32)
    items = np.concatenate([np.zeros(FIRST), v, h])[None].astype(np.float32)
    experts = np.array([expert_row(u.size, **recipe)])
    users, *_ = learn(kernels, experts, users, items, ([0], [0], np.array([u @ v + error]), [1]))
    return users[0, FIRST : FIRST + u.size]


def test_no_loss_changes_nothing():
    rows = np.full((1, FIRST + 4), 0.5, dtype=np.float32)
    experts = np.array([expert_row(2, eps=0.25)])
    users, items, _, updates, _ = learn(
        kernels, experts, rows, rows, ([0], [0], np.array([0.75]), [1])
    )
    assert (users == rows).all()
    assert (items == rows).all()
    assert updates == [0.0]


@pytest.mark.parametrize("rule", [PA, PA1, PA2, SGD])
def test_two_rows_of_zeros_stay_finite(rule):
    rows = np.zeros((1, FIRST + 4), dtype=np.float32)
    experts = np.array([expert_row(2, rule=rule, metric=IDENTITY)])
    users, items, *_ = learn(kernels, experts, rows, rows, ([0], [0], np.array([4.0]), [1]))
    assert (users == 0.0).all()
    assert (items == 0.0).all()


def test_draws_depend_on_the_event_number_and_nothing_else():
    rng = np.random.default_rng(0)
    experts = np.array(
        [expert_row(3, 6 * s, key) for s, key in enumerate(mix(np.arange(4, dtype=np.uint64)))]
    )
    users, items = rng.uniform(0.5, 1.0, (2, 5, FIRST + 24)).astype(np.float32)
    events = (
        rng.integers(0, 5, 200),
        rng.integers(0, 5, 200),
        rng.uniform(1, 5, 200),
        np.arange(200),
    )
    whole = learn(kernels, experts, users, items, events, rho=0.3)
    weights = np.zeros(4)
    rows = users, items
    for n in range(200):
        one = [column[n : n + 1] for column in events]
        *rows, weights, _, predictions = learn(
            kernels, experts, *rows, one, rho=0.3, log_weights=weights
        )
        np.testing.assert_array_equal(predictions[0], whole[4][n])
    np.testing.assert_array_equal(rows[0], whole[0])
    np.testing.assert_array_equal(weights, whole[2])
    other = (*events[:3], np.arange(200) + 1000)
    assert (learn(kernels, experts, users, items, other, rho=0.3)[0] != whole[0]).any()
