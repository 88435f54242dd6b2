"""Diversity by its equation, and explanations that sum to the score, for both losses."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.batch.ocmf.users import StructuredUsers
from core.batch.row_objective import FAMILIAR, RowObjective
from core.slate import choose, explain, topic_parts


def by_hand(score, k, vectors, diversity, groups, most):
    """Choose item by item, comparing every pair."""
    low, high = score.min(initial=np.inf), score.max(initial=-np.inf)
    span = high - low if high > low else 1.0
    taken = []

    def cosine(y, z):
        length = np.linalg.norm(vectors[y]) * np.linalg.norm(vectors[z])
        return vectors[y] @ vectors[z] / length if length > 0 else 0.0

    def full(y):
        return any(sum(group in groups[z] for z in taken) >= most for group in groups[y])

    while len(taken) < k:
        best, value = None, -np.inf
        for y in range(score.size):
            if y in taken or full(y):
                continue
            near = max((cosine(y, z) for z in taken), default=0.0)
            own = (1 - diversity) * (score[y] - low) / span - diversity * near
            if own > value + 1e-6:
                best, value = y, own
        if best is None:
            break
        taken.append(best)
    return taken


WORLD = st.tuples(
    st.integers(0, 8),
    st.integers(0, 10),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.3, 0.7, 1.0]),
    st.integers(1, 3),
)


@given(WORLD)
def test_the_chosen_items_maximise_the_equation(world):
    m, k, seed, diversity, most = world
    rng = np.random.default_rng(seed)
    score = -np.sort(-rng.normal(size=m)).astype(np.float32)
    vectors = rng.normal(size=(m, 3)).astype(np.float32) * (rng.random((m, 1)) > 0.2)
    groups = [list(np.flatnonzero(rng.random(3) < 0.4)) for _ in range(m)]
    given = {"vectors": vectors, "diversity": diversity, "groups": groups, "most": most}
    chosen = choose(score, k, **given).tolist()
    assert chosen == by_hand(score, k, vectors, diversity, groups, most)
    assert choose(score, k // 2, **given).tolist() == chosen[: k // 2]


def test_without_options_the_order_stays():
    score = np.array([3, 2, 2, 1], np.float32)
    assert choose(score, 3).tolist() == [0, 1, 2]
    assert choose(score, 9).tolist() == [0, 1, 2, 3]
    assert choose(np.empty(0, np.float32), 3).tolist() == []


def test_the_second_of_two_equal_items_comes_late():
    score = np.array([1.0, 0.99, 0.5], np.float32)
    vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    assert choose(score, 3, vectors=vectors, diversity=0.5).tolist() == [0, 2, 1]


def test_no_category_exceeds_its_share():
    score = np.arange(6, 0, -1).astype(np.float32)
    groups = [["a"], ["a", "b"], ["a"], [], ["b"], []]
    assert choose(score, 6, groups=groups, most=1).tolist() == [0, 3, 4, 5]
    assert choose(score, 6, groups=groups, most=2).tolist() == [0, 1, 3, 4, 5]


def objective(rng, loss, n_items=12, g=4):
    """Return an arbitrary objective, in a basis where S need not be diagonal."""
    q = rng.normal(size=(n_items, g)).astype(np.float32)
    negative = rng.uniform(0.01, 0.2, n_items).astype(np.float32)
    values, basis = np.linalg.eigh((q * negative[:, None]).T @ q)
    q = np.ascontiguousarray(q @ basis, np.float32)
    gram, total = values.astype(np.float32), (q.T @ negative).astype(np.float32)
    return RowObjective(q, gram, total, negative, -0.3, 0.2, 0.5, 3.0, loss)


def of_no_pair(users, z, vector, pairs, items):
    """Return q_y'A^-1 (r- s + d m + features), one number at a time, for a converged user."""
    row, (item_ix, weight, target) = users.row, pairs
    n, g = item_ix.size, vector.size
    shrinks = row.mean_row is not None and n < FAMILIAR
    d = row.shrinkage * (1 - n / FAMILIAR) ** 2 if shrinks else 0.0
    a = np.diag(row.gram.astype(float)) + (float(row.regs(np.array([n]))[0]) + d) * np.eye(g)
    for j, w, r in zip(item_ix, weight.astype(float), target, strict=True):
        q = row.item_factors[j].astype(float)
        likely = 1 / (1 + np.exp(np.sign(r) * (q @ vector)))
        h = w if row.loss == "square" else w * likely * (1 - likely) / 2
        a += (h - row.negative[j]) * np.outer(q, q)
    b = row.negative_target * row.item_sum + d * (0 if row.mean_row is None else row.mean_row)
    if z is not None:
        strength = float(row.regs(np.array([max(n, 1)]))[0]) * max(n, 1) ** -users.fading
        b = row.negative_target * row.item_sum + (d + strength) * z
    return row.item_factors[items] @ np.linalg.solve(a, b)


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("n", [0, 1, 5, FAMILIAR + 2])
@pytest.mark.parametrize("described", [False, True])
def test_an_explanation_is_exact(loss, n, described):
    """The contributions of the pairs and the score without a history sum to the score."""
    rng = np.random.default_rng(n)
    mean_row = rng.normal(size=4).astype(np.float32)
    row = replace(objective(rng, loss, n_items=30), mean_row=mean_row, shrinkage=0.4)
    users = StructuredUsers(row, fading=0.5)
    item_ix = np.sort(rng.permutation(30)[:n]).astype(np.int32)
    weight = rng.uniform(0.5, 2, n).astype(np.float32)
    target = np.where(rng.random(n) < 0.7, 1, -1).astype(np.float32)
    pairs, items = (item_ix, weight, target), np.array([3, 7, 11], np.int32)
    z = 2 * rng.normal(size=4).astype(np.float32) if described and n else None
    vector = users.vector(*pairs, feature_vector=z)
    made = explain(row, vector, *pairs, row.item_factors[items])
    assert made.contribution.shape == (3, n)
    np.testing.assert_allclose(made.score, row.item_factors[items] @ vector, rtol=1e-5)
    wanted = of_no_pair(users, z, vector, pairs, items)
    np.testing.assert_allclose(made.constant, wanted, rtol=2e-3, atol=2e-4)


def explained(model, item_ix, weight, target, items):
    vector = model.vector(item_ix, weight, target)
    return explain(model, vector, item_ix, weight, target, model.item_factors[items])


def test_a_contribution_is_the_difference_that_its_pair_makes():
    """Square loss: remove the pull of one pair and keep the system of the row."""
    rng = np.random.default_rng(3)
    model = objective(rng, "square")
    item_ix, ones = np.array([1, 4, 6], np.int32), np.ones(3, np.float32)
    items = np.array([0], np.int32)
    whole = explained(model, item_ix, ones, ones, items)
    target = ones.copy()
    # c = w r+ - a r- = 0
    target[1] = model.negative[4] * model.negative_target
    rest = explained(model, item_ix, ones, target, items)
    np.testing.assert_allclose(rest.score, whole.score - whole.contribution[:, 1], rtol=1e-6)


def test_the_strongest_reason_is_the_most_similar_item():
    rng = np.random.default_rng(5)
    q = rng.normal(size=(30, 6)).astype(np.float32)
    q[7] = 0.95 * q[2]
    zeros, ones = np.zeros(30, np.float32), np.ones(6, np.float32)
    model = RowObjective(q, 5 * ones, zeros[:6], zeros, 0.0, 1.0, 0.0, 1.0)
    past = np.array([2, 11, 19], np.int32)
    made = explained(model, past, ones[:3], ones[:3], np.array([7], np.int32))
    assert past[made.contribution[0].argmax()] == 2


def test_contributions_of_topics_sum_to_the_rating():
    rng = np.random.default_rng(0)
    user, item = rng.random((2, 10)).astype(np.float32)
    parts = topic_parts(user, item)
    assert (parts >= 0).all()
    np.testing.assert_allclose(parts.sum(), user @ item, rtol=1e-6)
