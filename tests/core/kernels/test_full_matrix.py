"""The kernel of full-matrix NN-APA beside its twin, an eigendecomposition and general solvers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import nnls

from core.kernels import full_matrix as kernels
from core.kernels.passive_aggressive import EXPERT, FULL, PA, PA1, PA2
from tests.core import problems, reference

FIRST = 3
GRID = st.integers(0, 128).map(lambda n: n / 64.0)
"""Dyadic numbers: the first prediction is exact, so both sides agree whether there is a loss."""


def packed_size(rank):
    return rank * (rank + 1) // 2


def expert_row(rank, column=0, **recipe):
    row = np.zeros((), dtype=EXPERT)
    row["factors"], row["accumulators"], row["rank"] = column, column + rank, rank
    row["rule"], row["metric"] = PA2, FULL
    row["c"], row["eps"], row["delta"], row["cap"] = 0.1, 0.0, 0.1, np.inf
    for name, value in recipe.items():
        row[name] = value
    return row


def learn(module, experts, users, items, events):
    users, items = users.copy(), items.copy()
    user_ix, item_ix, rating = events
    widest = int(experts["rank"].max())
    updates, predictions = np.zeros(experts.size), np.zeros((rating.size, experts.size))
    module.full_matrix(
        experts,
        FIRST,
        users,
        items,
        np.asarray(user_ix, dtype=np.int64),
        np.asarray(item_ix, dtype=np.int64),
        rating,
        updates,
        np.empty(5 * widest**2),
        np.empty((5 + widest) * kernels.NODES),
        predictions,
    )
    return users, items, updates, predictions


def rows_of(factors, rank, gradients):
    """Return one row: factors, and the packed sum of the gradients' squares."""
    h = (gradients.T @ gradients)[np.triu_indices(rank)]
    return np.concatenate([np.zeros(FIRST), factors, h])[None].astype(np.float32)


@settings(max_examples=150)
@given(
    data=st.data(),
    rank=st.integers(1, 12),
    seen=st.integers(0, 15),
    rule=st.sampled_from([PA1, PA2]),
    c=st.sampled_from([0.01, 0.1, 1.0]),
    delta=st.sampled_from([0.01, 1.0]),
    rating=st.sampled_from([1.0, 2.5, 5.0]),
)
def test_one_event_agrees_with_the_naive_twin(data, rank, seen, rule, c, delta, rating):
    users, items = (
        rows_of(
            data.draw(arrays.arrays(np.float64, rank, elements=GRID)),
            rank,
            data.draw(arrays.arrays(np.float64, (seen, rank), elements=GRID)),
        )
        for _ in range(2)
    )
    experts = np.array([expert_row(rank, rule=rule, c=c, delta=delta)])
    events = [0], [0], np.array([rating])
    fast = learn(kernels, experts, users, items, events)
    naive = learn(reference, experts, users, items, events)
    for mine, twin in zip(fast, naive, strict=True):
        np.testing.assert_allclose(mine, twin, rtol=2e-5, atol=2e-5 * (1.0 + np.abs(twin).max()))


@pytest.mark.parametrize("exact", [0, 1])
def test_a_stream_agrees_with_the_naive_twin(exact):
    rng = np.random.default_rng(3)
    widths = [rank + packed_size(rank) for rank in (1, 5)]
    table = [expert_row(1, exact=exact, c=0.5), expert_row(5, widths[0], exact=exact, c=0.5)]
    users, items = np.zeros((2, 4, FIRST + sum(widths)), dtype=np.float32)
    for row in table:
        columns = slice(FIRST + int(row["factors"]), FIRST + int(row["accumulators"]))
        users[:, columns], items[:, columns] = rng.uniform(0.0, 1.0, (2, 4, int(row["rank"])))
    events = rng.integers(0, 4, 100), rng.integers(0, 4, 100), rng.uniform(1, 5, 100)
    fast = learn(kernels, np.array(table), users, items, events)
    naive = learn(reference, np.array(table), users, items, events)
    for mine, twin in zip(fast, naive, strict=True):
        np.testing.assert_allclose(mine, twin, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("rank", [1, 2, 5, 10, 15, 32])
@pytest.mark.parametrize("delta", [1e-6, 0.01, 1.0, 100.0])
def test_the_direction_is_that_of_an_eigendecomposition(rank, delta):
    """From no history to 100 000 gradients, independent or nearly parallel."""
    rng = np.random.default_rng(rank)
    for seen in (0, 1, rank, 100_000):
        for spread in (1.0, 1e-3):
            gradients = 0.6 + spread * rng.uniform(-0.5, 0.5, (seen, rank))
            x = rng.uniform(0.0, 1.0, rank).astype(np.float32)
            matrix = delta * np.eye(rank) + gradients.T @ gradients
            eigenvalues, vectors = np.linalg.eigh(matrix)
            wanted = (vectors / np.sqrt(np.maximum(eigenvalues, delta))) @ (vectors.T @ x)
            found, basis = np.empty(rank), np.empty((rank, rank))
            work = np.empty((5 + rank, kernels.NODES))
            q = kernels._direction(matrix, x, delta, basis, work, found)
            np.testing.assert_allclose(found, wanted, atol=1e-5 * np.abs(wanted).max())
            np.testing.assert_allclose(q, x @ wanted, rtol=1e-5)


@pytest.mark.parametrize("rule", [PA, PA1, PA2])
@pytest.mark.parametrize("error", [0.4, -0.4])
def test_the_closed_form_solves_its_problem(rule, error):
    """Factors are large enough that u >= 0 does not matter."""
    rng = np.random.default_rng(rule)
    for c in (0.05, 1.0):
        u, v = rng.uniform(2.0, 3.0, 4), rng.uniform(0.1, 0.9, 4)
        gradients = rng.uniform(0.0, 1.0, (5, 4))
        next_u, metric = one_step(u, v, gradients, u @ v + error, rule=rule, c=c, eps=0.05)
        wanted = problems.solve(u, v, u @ v + error, 0.05, metric, rule, c, non_negative=False)
        np.testing.assert_allclose(next_u, wanted, atol=5e-5)


def test_the_exact_projection_is_that_of_a_general_solver():
    rng = np.random.default_rng(0)
    differ = 0
    for _ in range(10):
        u, v = rng.uniform(0.0, 1.0, 8) ** 2, rng.uniform(0.1, 1.0, 8)
        gradients = rng.uniform(0.0, 1.0, (6, 8))
        recipe = {"rule": PA, "eps": 0.05}
        clipped, metric = one_step(u, v, gradients, 0.1, **recipe)
        next_u, _ = one_step(u, v, gradients, 0.1, exact=1, **recipe)
        direction = np.linalg.solve(metric, v)
        target = u - (u @ v - 0.15) / (v @ direction) * direction
        root = np.linalg.cholesky(metric).T
        np.testing.assert_allclose(next_u, nnls(root, root @ target)[0], atol=1e-4)
        differ += np.abs(next_u - clipped).max() > 0.01
    assert differ


def one_step(u, v, gradients, rating, **recipe):
    """Return the user's factors after one event, and the metric of the step."""
    users, items = rows_of(u, u.size, gradients), rows_of(v, v.size, gradients)
    experts = np.array([expert_row(u.size, **recipe)])
    users, *_ = learn(kernels, experts, users, items, ([0], [0], np.array([rating])))
    h = gradients.T @ gradients + np.outer(v, v)
    return users[0, FIRST : FIRST + u.size], reference.square_root(0.1 * np.eye(u.size) + h)


def test_no_loss_changes_nothing():
    rows = np.full((1, FIRST + 5), 0.5, dtype=np.float32)
    events = [0], [0], np.array([0.75])
    users, items, updates, _ = learn(
        kernels, np.array([expert_row(2, eps=0.25)]), rows, rows, events
    )
    assert (users == rows).all()
    assert (items == rows).all()
    assert updates == [0.0]


@pytest.mark.parametrize("rule", [PA, PA1, PA2])
def test_two_rows_of_zeros_stay_finite(rule):
    rows = np.zeros((1, FIRST + 5), dtype=np.float32)
    events = [0], [0], np.array([4.0])
    users, items, *_ = learn(kernels, np.array([expert_row(2, rule=rule)]), rows, rows, events)
    assert (users == 0.0).all()
    assert (items == 0.0).all()
