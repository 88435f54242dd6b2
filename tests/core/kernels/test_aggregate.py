"""The stack and the mixtures beside their naive twins, and their properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.drift import run as drifting_stream
from core.kernels import aggregate as kernels
from core.online.aggregators import (
    Boa,
    ExponentiatedGradient,
    Hedge,
    HedgeWeights,
    Stack,
    Uniform,
    aggregator,
)
from tests.core import reference_default as reference


def stream(n=200, m=4, seed=0):
    """Return clipped predictions, context and ratings of experts of unequal quality."""
    rng = np.random.default_rng(seed)
    rating = rng.integers(1, 6, n).astype(float)
    noise = rng.normal(size=(n, m)) * np.linspace(0.3, 1.2, m)
    clipped = np.clip(rating[:, None] + noise + 0.2, 1.0, 5.0)
    known = np.empty((n, 5))
    known[:, 0] = clipped.mean(axis=1)
    known[:, 1:3] = rng.integers(0, 300, (n, 2))
    known[:, 3:] = rng.uniform(-0.7, 0.7, (n, 2))
    return clipped, known, rating


SIZES = {"n": st.integers(1, 60), "m": st.integers(1, 17), "seed": st.integers(0, 99)}


def test_the_running_mean_is_the_shrunk_mean_of_the_ratings_before():
    rating = np.array([5.0, 4.0, 1.0])
    total, fast, slow = np.zeros(2), np.empty(3), np.empty(3)
    kernels.running_mean(rating, total, fast)
    reference.running_mean(rating, np.zeros(2), slow)
    assert fast.tolist() == slow.tolist() == [3.0, 4.0, 4.0]
    assert total.tolist() == [10.0, 3.0]


@given(**SIZES)
def test_the_context_agrees_with_the_naive_twin(n, m, seed):
    clipped, _, rating = stream(n, m, seed)
    rng = np.random.default_rng(seed)
    user_ix, item_ix = rng.integers(0, 3, (2, n))
    fast = [np.zeros((3, 6), np.float32) for _ in range(2)]
    slow = [np.zeros((3, 6)) for _ in range(2)]
    known, wanted = np.empty((n, 5)), np.empty((n, 5))
    kernels.context(*fast, user_ix, item_ix, rating, clipped, known)
    reference.context(*slow, user_ix, item_ix, rating, clipped, wanted)
    np.testing.assert_allclose(known, wanted, atol=1e-5)
    for mine, twin in zip(fast, slow, strict=True):
        np.testing.assert_allclose(mine, twin, atol=1e-5)
    assert fast[0][:, 2].sum() == n
    frozen, twin = np.empty((1, 5)), np.empty((1, 5))
    kernels.context_predict(fast[0][:1], fast[1][:1], clipped[:1].copy(), frozen)
    reference.context_predict(
        slow[0], slow[1], clipped[:1].repeat(3, axis=0), wanted := np.empty((3, 5))
    )
    twin[0] = wanted[0]
    np.testing.assert_allclose(frozen, twin, atol=1e-5)


@given(**SIZES)
def test_the_stack_agrees_with_the_naive_twin(n, m, seed):
    clipped, known, rating = stream(n, m, seed)
    model = Stack(m, 1.0, 5.0)
    out, wanted = np.empty((n, 2)), np.empty((n, 2))
    model.learn(clipped, known, rating, np.empty(0), out)
    covariance, weight = 0.1 * np.eye(m + 7), np.zeros((2, m + 7))
    reference.stack(clipped, known, rating, covariance, weight, None, None, 1.0, 5.0, wanted)
    np.testing.assert_allclose(out, wanted, atol=1e-9)
    np.testing.assert_allclose(model.state["covariance"], covariance, atol=1e-9)
    np.testing.assert_allclose(model.state["weight"], weight, atol=1e-9)
    model.predict(clipped, known, out)
    reference.stack_predict(clipped, known, weight, None, 1.0, 5.0, wanted)
    np.testing.assert_allclose(out, wanted, atol=1e-9)


def test_the_stack_starts_as_the_plain_mean():
    clipped, known, _ = stream()
    model, out = Stack(4, 1.0, 5.0), np.empty((200, 2))
    model.predict(clipped, known, out)
    np.testing.assert_array_equal(out, known[:, :1].repeat(2, axis=1))
    np.testing.assert_allclose(model.parts(), 0.25)


def test_the_covariance_of_the_stack_stays_symmetric_and_positive():
    clipped, known, rating = stream(50_000, 6)
    model = Stack(6, 1.0, 5.0)
    model.learn(clipped, known, rating, np.empty(0), np.empty((50_000, 2)))
    covariance = model.state["covariance"]
    np.testing.assert_array_equal(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() > 0.0


def test_the_parts_of_the_stack_explain_its_output():
    """With all other features at zero weight the output is the mixture of the parts."""
    clipped, known, _ = stream()
    model = Stack(4, -np.inf, np.inf)
    model.state["weight"][0, :4] = [0.4, -0.1, 0.3, 0.0]
    out = np.empty((200, 2))
    model.predict(clipped, known, out)
    np.testing.assert_allclose(out[:, 0], clipped @ model.parts())
    assert model.parts().sum() == pytest.approx(1.0)


@given(**SIZES, share=st.sampled_from([0.0, 1e-3]), wanted=st.booleans())
def test_hedge_agrees_with_the_naive_twin(n, m, seed, share, wanted):
    clipped, _, rating = stream(n, m, seed)
    hedge = HedgeWeights(m, beta=0.9, share=share, wanted=wanted)
    out = hedge.follow(clipped, rating)
    log_weight, loss = np.zeros(m), np.zeros((2, m))
    twin = np.empty(n if wanted else 0)
    used = share if wanted else 0.0
    reference.hedge(clipped, rating, np.log(0.9), used, log_weight, loss, None, twin)
    np.testing.assert_allclose(out, twin, rtol=1e-9)
    np.testing.assert_allclose(hedge.weights(), np.exp(log_weight), rtol=1e-9)
    np.testing.assert_allclose(hedge.loss, loss, rtol=1e-9)


def test_hedge_weights_survive_losses_that_would_underflow():
    hedge = HedgeWeights(2, beta=0.5, share=0.0, wanted=True)
    clipped = np.tile([1.0, 5.0], (10_000, 1))
    hedge.follow(clipped[:5_000], np.full(5_000, 4.0))
    assert hedge.weights().tolist() == [0.0, 1.0]
    hedge.follow(clipped, np.full(10_000, 1.0))
    assert hedge.weights().tolist() == [1.0, 0.0]


MIXTURES = {"eg": (ExponentiatedGradient, (1,)), "boa": (Boa, (3,))}


@given(**SIZES, name=st.sampled_from(sorted(MIXTURES)), share=st.sampled_from([0.0, 1e-3]))
def test_mixtures_agree_with_their_naive_twins(n, m, seed, name, share):
    clipped, known, rating = stream(n, m, seed)
    model = MIXTURES[name][0](m, share=share)
    regret, spread = (model.state[part].copy() for part in ("regret", "spread"))
    out, wanted = np.empty((n, 2)), np.empty(n)
    model.learn(clipped, known, rating, np.empty(0), out)
    twin = reference.boa if name == "boa" else reference.exponentiated_gradient
    twin(clipped, rating, share, regret, spread, None, wanted)
    np.testing.assert_allclose(out, wanted[:, None].repeat(2, axis=1), atol=1e-7)
    np.testing.assert_allclose(model.state["regret"], regret, atol=1e-6)
    assert model.parts().sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["stack", "hedge", "boa", "eg", "uniform"])
def test_prediction_after_learning_is_the_next_output_of_learning(name):
    clipped, known, rating = stream(80, 3)
    hedge = HedgeWeights(3, beta=0.99, share=0.001, wanted=name == "hedge")
    model = aggregator(name, 3, hedge=hedge, share=0.001, bounds=(1.0, 5.0))

    def learn(part):
        out = np.empty((len(rating[part]), 2))
        mixture = hedge.follow(clipped[part], rating[part])
        model.learn(clipped[part], known[part], rating[part], mixture, out)
        return out

    learn(slice(0, 79))
    predicted = np.empty((1, 2))
    model.predict(clipped[79:], known[79:], predicted)
    np.testing.assert_allclose(predicted, learn(slice(79, 80)), atol=1e-12)


@pytest.mark.parametrize("name", ["stack", "hedge", "boa", "eg"])
def test_every_aggregator_beats_the_plain_mean_of_unequal_experts(name):
    clipped, known, rating = stream(4_000, 5, seed=3)
    hedge = HedgeWeights(5, beta=0.9, share=0.0, wanted=True)
    model = aggregator(name, 5, hedge=hedge, share=0.0, bounds=(1.0, 5.0))
    out = np.empty((4_000, 2))
    model.learn(clipped, known, rating, hedge.follow(clipped, rating), out)
    plain = abs(known[:, 0] - rating).mean()
    assert abs(out[:, 0] - rating).mean() < 0.95 * plain


def test_a_single_expert_is_its_own_mixture():
    clipped, known, rating = stream(20, 1)
    for model in (Boa(1, share=0.1), ExponentiatedGradient(1, share=0.1), Uniform(1)):
        out = np.empty((20, 2))
        model.learn(clipped, known, rating, np.empty(0), out)
        np.testing.assert_array_equal(out[:, 0], clipped[:, 0])
        assert model.parts().tolist() == [1.0]


def test_a_mixture_predicts_a_row_alike_alone_and_among_others():
    clipped, known, rating = stream(100, 5)
    hedge = HedgeWeights(5, beta=0.9, share=0.0, wanted=True)
    hedge.follow(clipped, rating)
    model, together, alone = Hedge(hedge), np.empty((100, 2)), np.empty((100, 2))
    model.predict(clipped, known, together)
    for t in range(100):
        model.predict(clipped[t : t + 1], known[t : t + 1], alone[t : t + 1])
    assert together.tobytes() == alone.tobytes()


def test_fixed_share_recovers_when_the_best_expert_changes_and_plain_hedge_does_not():
    measured = drifting_stream()
    assert measured["share"] <= 1.05 * measured["best"]
    assert measured["plain"] > 1.05 * measured["best"]
