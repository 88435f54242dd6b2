"""The alternating fit: its objective, fold-in, recommendations and bad input."""

from dataclasses import replace

import numba
import numpy as np
import pytest
from scipy import sparse

from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.graph import laplacian, similarity
from core.batch.ocmf.model import Ocmf
from core.batch.ocmf.start import with_negatives
from core.batch.snapshot import objective_of, of_objective
from core.errors import ConfigError, CoreError, DataError, NotFitted, ShapeError
from core.interactions import as_interactions, from_pairs
from tests.core import reference_ocmf as reference

SQ_SQ = OcmfConfig(loss="square", weight=1.0, reg=0.5, factors=4, rounds=8)
SQ_WSQ = replace(SQ_SQ, weight=0.2)
LR_WSQ = replace(SQ_WSQ, loss="logistic", target=-0.5)
MODELS = {"sq-sq": SQ_SQ, "sq-wsq": SQ_WSQ, "lr-wsq": LR_WSQ}


def world(m=40, n=25, seed=0):
    """Return pairs of users and items with tastes; user 0 has none."""
    rng = np.random.default_rng(seed)
    liking = rng.normal(size=(m, 3)) @ rng.normal(size=(3, n))
    labelled = liking + 0.5 * rng.normal(size=(m, n)) > 1.2
    labelled[0] = False
    return from_pairs(*np.nonzero(labelled), n_users=m, n_items=n)


def friends(m, seed=1):
    """Return links with two users that have none: the graph is not connected."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, m - 2, (2 * m, 2))
    return ends[ends[:, 0] != ends[:, 1]]


def described(m, d=6, seed=2):
    X = np.random.default_rng(seed).normal(size=(m, d))
    X[3] = 0.0
    return X


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("known", ["nothing", "features", "graph", "both"])
def test_the_loss_is_that_of_all_pairs_and_falls(name, known):
    config, pairs = replace(MODELS[name], graph=0.4), world()
    m = pairs.n_users
    X = described(m) if known in ("features", "both") else None
    links = friends(m) if known in ("graph", "both") else None
    model = Ocmf(config).fit(pairs, features=X, graph=links)
    assert all(b <= a * (1 + 1e-5) for a, b in zip(model.losses, model.losses[1:], strict=False))
    L = np.zeros((m, m)) if links is None else laplacian(similarity(links, m)).toarray()
    W = model.trained_users if X is None else np.linalg.lstsq(X, model.trained_users)[0]
    H = model.item_factors.astype(float)
    wanted = reference.objective(
        W.astype(float),
        H,
        np.eye(m) if X is None else X,
        L,
        reference.dense(pairs),
        np.ones(m),
        np.full(pairs.n_items, config.weight),
        config.target,
        reference.square if config.loss == "square" else reference.logistic,
        config.reg,
        config.graph,
    )
    assert model.losses[-1] == pytest.approx(wanted + config.reg * (H**2).sum(), rel=1e-4)


def test_square_losses_end_where_als_ends():
    pairs, config = world(), replace(SQ_WSQ, rounds=60)
    model = Ocmf(config).fit(pairs)
    H, m = model.item_factors.astype(float), pairs.n_users
    weights = np.ones(m), np.full(pairs.n_items, config.weight)
    rows = [
        reference.als_row(i, H, reference.dense(pairs), *weights, config.target, config.reg)
        for i in range(m)
    ]
    np.testing.assert_allclose(model.trained_users, rows, atol=2e-3)


@pytest.mark.parametrize("name", MODELS)
def test_fold_in_of_the_trained_pairs_gives_the_trained_rows(name):
    pairs = world()
    model = Ocmf(replace(MODELS[name], rounds=80)).fit(pairs)
    np.testing.assert_allclose(model.user_vectors(pairs), model.trained_users, atol=5e-3)


def graded(seed=0):
    """Return pairs with weights, some of them dislikes."""
    pairs, rng = world(seed=seed), np.random.default_rng(seed)
    value = rng.uniform(0.5, 2.0, len(pairs)) * rng.choice([1.0, 1.0, -1.0], len(pairs))
    return sparse.csr_array(
        (value, (pairs.user_ix, pairs.item_ix)), shape=(pairs.n_users, pairs.n_items)
    )


@pytest.mark.parametrize("make", [world, graded])
@pytest.mark.parametrize("name", MODELS)
def test_serving_folds_in_with_the_exported_row_objective(name, make):
    pairs = as_interactions(make())
    model = Ocmf(replace(MODELS[name], nu=0.5)).fit(pairs)
    exported = objective_of(of_objective("ocmf", model.objective, settings={}, metrics={}, cuts={}))
    served = exported.vectors(pairs) @ exported.item_factors.T
    ours = model.user_vectors(pairs) @ model.item_factors.T
    np.testing.assert_allclose(served, ours, atol=2e-3)


def test_fold_in_with_links_gives_the_trained_rows_of_a_graph_model():
    pairs = world()
    links = friends(pairs.n_users)
    model = Ocmf(replace(LR_WSQ, rounds=80, graph=0.5)).fit(pairs, graph=links)
    similar = similarity(links, pairs.n_users)
    folded = model.user_vectors(pairs, links=similar)
    np.testing.assert_allclose(folded, model.trained_users, atol=1e-2)
    assert np.abs(model.user_vectors(pairs) - model.trained_users).max() > 0.05


def test_a_strong_graph_pulls_friends_together():
    pairs = world()
    links = friends(pairs.n_users)

    def apart(graph):
        model = Ocmf(replace(SQ_WSQ, graph=graph)).fit(pairs, graph=links)
        users = model.trained_users
        gap = np.linalg.norm(users[links[:, 0]] - users[links[:, 1]], axis=1).mean()
        return gap / np.linalg.norm(users, axis=1).mean()

    assert apart(10.0) < 0.5 * apart(0.0)


def test_new_users_are_ranked_by_their_features():
    rng = np.random.default_rng(4)
    kind = rng.integers(0, 4, 300)
    X = sparse.csr_array(np.eye(4)[kind])
    labelled = (kind[:, None] == np.arange(12) % 4) & (rng.random((300, 12)) < 0.5)
    pairs = from_pairs(*np.nonzero(labelled[:200]), n_users=200, n_items=12)
    model = Ocmf(replace(LR_WSQ, reg=0.1)).fit(pairs, features=X[:200])
    scores = model.vectors_of(X[200:]) @ model.item_factors.T
    assert (scores.argmax(axis=1) % 4 == kind[200:]).all()


def test_listing_all_pairs_equals_the_implicit_sum_over_them():
    pairs, config = world(), replace(SQ_WSQ, rounds=30)
    whole = Ocmf(config).fit(pairs)
    listed = Ocmf(replace(config, negatives="listed")).fit(pairs)
    np.testing.assert_allclose(listed.losses, whole.losses, rtol=1e-3)
    assert listed.losses[-1] == pytest.approx(whole.losses[-1], rel=1e-5)


@pytest.mark.parametrize("negatives", ["sampled", "listed"])
@pytest.mark.parametrize("negative_loss", ["square", "logistic"])
@pytest.mark.parametrize("features", [False, True])
def test_listed_negatives_may_have_either_loss(negatives, negative_loss, features):
    pairs = world()
    config = replace(LR_WSQ, negatives=negatives, negative_loss=negative_loss, target=0.0)
    X = described(pairs.n_users) if features else None
    losses = Ocmf(config).fit(pairs, features=X).losses
    assert losses[-1] < losses[0]


def test_sampled_negatives_are_spread_over_users_and_never_positive():
    rng = np.random.default_rng(0)
    pairs = from_pairs(
        rng.integers(0, 200, 600), rng.integers(0, 150, 600), n_users=200, n_items=150
    )
    listed = with_negatives(pairs, "sampled", 0.2, seed=1)
    negative = listed.target == 0.0
    users, items = listed.user_ix[negative], listed.item_ix[negative]
    assert not reference.dense(pairs)[users, items].any()
    assert (reference.dense(listed.keep(~negative)) == reference.dense(pairs)).all()
    # a negative that falls on a positive or on another negative is dropped
    assert 0.93 * len(pairs) < users.size <= len(pairs)
    for drawn, n in ((users, 200), (items, 150)):
        counts = np.bincount(drawn, minlength=n)
        assert counts.max() < 5 * counts.mean()
        assert (counts > 0).mean() > 0.85
    assert (listed.weight == np.where(negative, np.float32(0.2), np.float32(1.0))).all()


def test_a_fit_can_be_stopped_after_a_round():
    model = Ocmf(SQ_SQ).fit(world(), on_round=lambda model, number: number == 3)
    assert model.rounds == len(model.losses) == 3


@pytest.mark.parametrize("features", [False, True])
def test_a_seed_gives_the_same_bits_on_any_number_of_threads(features):
    pairs = world(seed=5)
    X = described(pairs.n_users) if features else None
    bits = set()
    most = numba.get_num_threads()
    for threads in (1, most, most):
        numba.set_num_threads(threads)
        model = Ocmf(LR_WSQ).fit(pairs, features=X, graph=friends(pairs.n_users))
        bits.add(model.trained_users.tobytes() + model.item_factors.tobytes())
    assert len(bits) == 1


def test_recommendations_leave_out_items_of_the_user():
    pairs = world()
    model = Ocmf(LR_WSQ).fit(pairs)
    ids, scores = model.recommend(5, pairs, 10)
    assert not set(ids.tolist()) & set(pairs.rows(np.array([5])).item_ix.tolist())
    assert (np.diff(scores) <= 0).all()
    assert model.similar_items(3, 4)[0][0] == 3


# --- bad and odd input ----------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "n"), [(1, 8), (8, 1), (1, 1), (30, 3)])
@pytest.mark.parametrize("name", MODELS)
def test_one_user_one_item_and_few_items_give_a_result(name, m, n):
    users, items = np.divmod(np.arange(m * n), n)
    kept = (users + items) % 3 != 1
    pairs = from_pairs(users[kept], items[kept], n_users=m, n_items=n)
    model = Ocmf(MODELS[name]).fit(pairs)
    assert np.isfinite(model.user_vectors(pairs)).all()
    assert model.item_factors.shape == (n, min(4, m, n))


@pytest.mark.parametrize("name", MODELS)
def test_a_graph_in_pieces_and_rows_without_features_give_a_result(name):
    pairs = world()
    # two triangles, a pair, and isolated users
    links = [[0, 1], [1, 2], [2, 0], [5, 6], [6, 7], [7, 5], [10, 11]]
    X = described(pairs.n_users)
    X[::4] = 0.0
    config = replace(MODELS[name], graph=2.0)
    for features in (None, X, sparse.csr_array(X)):
        model = Ocmf(config).fit(pairs, features=features, graph=links)
        assert np.isfinite(model.trained_users).all()
        assert np.isfinite(model.losses).all()


@pytest.mark.parametrize("weight", [np.nan, np.inf])
def test_invalid_weights_are_refused(weight):
    with pytest.raises(DataError, match="NaN or infinite"):
        Ocmf(LR_WSQ).fit(sparse.csr_array(np.array([[weight, 1.0], [1.0, 0.0]])))


def test_users_without_pairs_have_a_vector_of_zeros():
    pairs = world()
    model = Ocmf(SQ_WSQ).fit(pairs)
    assert pairs.user_counts[0] == 0
    assert np.abs(model.user_vectors(pairs)[0]).max() == 0.0


def test_duplicates_count_once():
    pairs = sparse.coo_array((np.ones(3), ([0, 0, 1], [2, 2, 1])), shape=(2, 3))
    once = sparse.coo_array((np.array([2.0, 1.0]), ([0, 1], [2, 1])), shape=(2, 3))
    assert Ocmf(SQ_SQ).fit(pairs).losses == Ocmf(SQ_SQ).fit(once).losses


def test_dislikes_are_listed_negatives():
    matrix = sparse.csr_array(np.array([[1.0, 1.0, -3.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]))
    model = Ocmf(replace(LR_WSQ, factors=3, reg=0.05, target=0.0)).fit(matrix)
    score = model.trained_users @ model.item_factors.T
    assert score[0, 2] < score[1, 2]


BAD = {
    "no pairs": (lambda: Ocmf(SQ_SQ).fit(sparse.csr_array((3, 3))), DataError, "at least one"),
    "NaN weight": (
        lambda: Ocmf(SQ_SQ).fit(sparse.csr_array(np.array([[np.nan, 1.0]]))),
        DataError,
        "NaN",
    ),
    "not a matrix": (lambda: Ocmf(SQ_SQ).fit([[1, 0]]), ShapeError, "sparse matrix"),
    "features of others": (
        lambda: Ocmf(SQ_SQ).fit(world(), features=np.ones((3, 2))),
        ShapeError,
        "3 rows for 40 users",
    ),
    "NaN feature": (
        lambda: Ocmf(SQ_SQ).fit(world(), features=np.full((40, 2), np.nan)),
        DataError,
        "correct or remove",
    ),
    "huge feature": (
        lambda: Ocmf(SQ_SQ).fit(world(), features=np.full((40, 2), 1e25)),
        DataError,
        "divide it by a constant",
    ),
    "flat features": (
        lambda: Ocmf(SQ_SQ).fit(world(), features=np.ones(40)),
        ShapeError,
        "one row for each user",
    ),
    "graph of others": (
        lambda: Ocmf(SQ_SQ).fit(world(), graph=sparse.csr_array((3, 3))),
        ShapeError,
        "the graph is 3 x 3 for 40",
    ),
    "link to nobody": (
        lambda: Ocmf(SQ_SQ).fit(world(), graph=[[0, 40]]),
        DataError,
        "outside 0 .. 39",
    ),
    "negative link": (
        lambda: Ocmf(SQ_SQ).fit(world(), graph=-sparse.eye_array(40)),
        DataError,
        "negative",
    ),
    "not links": (lambda: Ocmf(SQ_SQ).fit(world(), graph=[1, 2]), ShapeError, "(links, 2)"),
    "not fitted": (lambda: Ocmf(SQ_SQ).user_vectors(world()), NotFitted, "call fit first"),
    "no features known": (
        lambda: Ocmf(SQ_SQ).fit(world()).vectors_of(np.ones((1, 2))),
        ConfigError,
        "fit it with features",
    ),
    "other features": (
        lambda: Ocmf(SQ_SQ).fit(world(), features=described(40)).vectors_of(np.ones((1, 2))),
        ShapeError,
        "2 features given, but the model has 6",
    ),
    "history of a described user": (
        lambda: Ocmf(SQ_SQ).fit(world(), features=described(40)).user_vectors(world()),
        ConfigError,
        "vectors_of",
    ),
    "objective of described users": (
        lambda: Ocmf(SQ_SQ).fit(world(), features=described(40)).objective,
        ConfigError,
        "not on pairs alone",
    ),
    "objective of listed negatives": (
        lambda: Ocmf(replace(SQ_SQ, negatives="listed")).fit(world()).objective,
        ConfigError,
        "set negatives to all",
    ),
    "objective of no fit": (lambda: Ocmf(SQ_SQ).objective, NotFitted, "call fit first"),
    "other items": (
        lambda: Ocmf(SQ_SQ).fit(world()).user_vectors(world(n=7)),
        ShapeError,
        "25 items",
    ),
    "odd links": (
        lambda: Ocmf(SQ_SQ).fit(world()).user_vectors(world(), links=sparse.csr_array((2, 2))),
        ShapeError,
        "not 40 x 40",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_an_error_with_advice(name):
    call, error, says = BAD[name]
    with pytest.raises(error) as raised:
        call()
    assert says in str(raised.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"factors": 0},
        {"rounds": 0},
        {"weight": 0.0},
        {"weight": 1.5},
        {"reg": float("nan")},
        {"reg_item": -1.0},
        {"graph": -0.1},
        {"nu": float("inf")},
        {"nu": 1.5},
        {"factors": 4.5},
        {"rounds": 2.5},
        {"target": float("nan")},
        {"negative_loss": "logistic"},
        {"negative_loss": "logistic", "negatives": "listed", "loss": "square"},
        {"loss": "cubic"},
        {"negatives": "some"},
    ],
)
def test_settings_outside_their_bounds_are_refused(wrong):
    with pytest.raises(CoreError):
        OcmfConfig(**wrong)


def test_too_many_pairs_to_list_are_refused():
    with pytest.raises(ConfigError, match="set negatives to all"):
        with_negatives(world(), "listed", 1.0, seed=0, most_listed=100)
