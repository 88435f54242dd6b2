"""Odd data and wrong numbers, for every ranking model: a result, or an error with the reason."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from core.batch.contexts.config import KINDS, ContextConfig, DescentConfig
from core.batch.contexts.ranker import ContextRanker
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.feature_map import FeatureMap
from core.batch.ocmf.config import FeatureUse, OcmfConfig
from core.batch.ocmf.feature_use import SideInformation, fit_with
from core.batch.ocmf.model import Ocmf
from core.batch.popularity import Popular
from core.errors import ConfigError, CoreError, DataError
from core.interactions import from_pairs
from tests.core import ranking

DESCENT = DescentConfig(epochs=3, alpha0=2.0, reg=0.1)
SQUARE = OcmfConfig(loss="square", weight=0.2, reg=0.5, factors=8, rounds=3)
OCMF = {
    "sq-sq": OcmfConfig(loss="square", weight=1.0, reg=0.5, factors=8, rounds=3),
    "sq-wsq": SQUARE,
    "lr-wsq": OcmfConfig(loss="logistic", weight=0.2, reg=0.5, factors=8, rounds=3),
}
MODELS = {
    "popular": Popular,
    "fbgd": lambda: Fbgd(FbgdConfig(factors=8, alpha0=2.0, reg=0.1, epochs=3)),
    **{kind: lambda kind=kind: ContextRanker(ContextConfig(kind, 8, DESCENT)) for kind in KINDS},
    **{f"ocmf-{name}": lambda one=config: Ocmf(one) for name, config in OCMF.items()},
}


def world(users, items, n_users, n_items):
    users = np.array(users)
    time = np.arange(users.size)
    return from_pairs(users, np.array(items), n_users=n_users, n_items=n_items, time=time)


WORLDS = {
    "empty users": world([1, 1, 4, 4], [0, 2, 2, 3], 6, 4),
    "empty items": world([0, 0, 1], [1, 5, 5], 2, 9),
    "one user": world([0, 0, 0], [0, 2, 3], 1, 5),
    "one item": world([0, 2, 3], [0, 0, 0], 4, 1),
    "one pair": world([0], [0], 1, 1),
    "more factors than items": world([0, 0, 1, 2, 3], [0, 1, 1, 2, 0], 30, 3),
    "more factors than users": world([0, 0, 1, 1], [0, 7, 7, 19], 2, 20),
    "users who have everything": world([0, 0, 1, 1], [0, 1, 0, 1], 2, 2),
}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("model", MODELS)
def test_odd_data_have_a_result(model, name):
    pairs = WORLDS[name]
    fitted = MODELS[model]().fit(pairs)
    assert np.isfinite(fitted.item_factors).all()
    assert np.isfinite(fitted.user_vectors(pairs)).all()
    ids, scores = fitted.recommend(np.arange(pairs.n_users), pairs, 3)
    assert np.isfinite(scores[ids >= 0]).all()
    for user in range(pairs.n_users):
        had = set(pairs.rows(np.array([user])).item_ix.tolist())
        # a list ends where the items run out
        assert (ids[user] >= 0).sum() == min(3, pairs.n_items - len(had))
        assert not had & set(ids[user].tolist())


@pytest.mark.parametrize("model", MODELS)
def test_duplicate_pairs_count_once(model):
    once, twice = ([0, 0, 1, 2], [0, 1, 1, 2]), ([0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 2])
    vectors = []
    for users, items in (once, twice):
        pairs = from_pairs(np.array(users), np.array(items), time=np.array(items))
        vectors.append(MODELS[model]().fit(pairs).user_vectors(pairs).tobytes())
    assert vectors[0] == vectors[1]


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("model", MODELS)
def test_an_invalid_weight_is_refused(model, weight):
    matrix = sparse.csr_array(np.array([[weight, 1.0], [1.0, 0.0]]))
    with pytest.raises(DataError, match="NaN or infinite"):
        MODELS[model]().fit(matrix)


@pytest.mark.parametrize("weight", [np.nan, np.inf, -1.0, 0.0])
def test_a_weight_of_a_list_of_pairs_must_be_above_0(weight):
    with pytest.raises(CoreError, match="weight"):
        from_pairs(np.array([0, 1]), np.array([0, 1]), weight=np.array([1.0, weight]))


BROKEN = {
    "weight is NaN": {"weight": np.array([1.0, np.nan], np.float32)},
    "weight is not above 0": {"weight": np.array([1.0, -1.0], np.float32)},
    "one weight for each pair": {"weight": np.ones(1, np.float32)},
    "target is NaN": {"target": np.array([np.inf, 1.0], np.float32)},
    "item numbers": {"item_ix": np.array([0, 7], np.int32)},
}


@pytest.mark.parametrize("says", BROKEN)
@pytest.mark.parametrize("model", ["fbgd", "mf", "ocmf-sq-wsq", "ocmf-lr-wsq"])
def test_pairs_made_by_hand_are_checked_by_the_fit(model, says):
    pairs = replace(from_pairs(np.array([0, 1]), np.array([0, 1])), **BROKEN[says])
    with pytest.raises(CoreError, match=says):
        MODELS[model]().fit(pairs)


@pytest.mark.parametrize("model", [name for name in MODELS if name != "popular"])
def test_a_fit_without_pairs_is_refused(model):
    empty = np.empty(0, np.int64)
    with pytest.raises(DataError, match="no pairs"):
        MODELS[model]().fit(from_pairs(empty, empty, n_users=2, n_items=2, time=empty))


def test_popularity_of_no_pairs_counts_nothing():
    # a training compares with it, even if there was no preference at the cut
    empty = from_pairs(np.empty(0, np.int64), np.empty(0, np.int64), n_users=2, n_items=2)
    ids, scores = Popular().fit(empty).recommend(1, empty, 3)
    assert ids.tolist() == [0, 1, -1]
    assert scores.tolist() == [0.0, 0.0, -np.inf]


# --- side information -----------------------------------------------------------------------------


def some_features(n_users, *, empty, dense):
    """Return the tribe of each user as features; users in ``empty`` have none."""
    known = np.eye(4)[np.arange(n_users) % 4]
    known[empty] = 0.0
    return known if dense else sparse.csr_array(known)


@pytest.mark.parametrize("empty", ["some", "all"])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("use", ["cold", "beside", "made"])
@pytest.mark.parametrize("name", OCMF)
def test_rows_without_features_have_a_result(name, use, dense, empty):
    pairs = ranking.tribes(users=40, items=20)
    pairs = pairs.keep(pairs.user_ix > 2)
    at = np.arange(0, 40, 3) if empty == "some" else np.arange(40)
    side = SideInformation(some_features(40, empty=at, dense=dense))
    found = fit_with(pairs, FeatureUse(OCMF[name], use), side)
    vectors = found.vectors(pairs, side)
    assert np.isfinite(vectors).all()
    # users without pairs and features have equal vectors
    alone = found.users.feature_vectors(some_features(2, empty=[0, 1], dense=dense))
    np.testing.assert_allclose(vectors[0], alone[0], atol=1e-6)


@pytest.mark.parametrize("use", [None, "cold", "beside", "made"])
@pytest.mark.parametrize("name", OCMF)
def test_a_disconnected_graph_has_a_result(name, use):
    pairs = ranking.tribes(users=40, items=20)
    # two islands, a pair, and isolated users
    links = np.zeros((40, 40), np.float32)
    for a, b in ((0, 1), (1, 2), (2, 0), (5, 6), (6, 7), (7, 5), (10, 11)):
        links[a, b] = links[b, a] = 1.0
    side = SideInformation(
        None if use is None else some_features(40, empty=[], dense=True), sparse.csr_array(links)
    )
    config = OcmfConfig(**{**vars(OCMF[name]), "graph": 2.0})
    found = fit_with(pairs, FeatureUse(config, use or "beside"), side)
    assert np.isfinite(found.vectors(pairs, side)).all()


@pytest.mark.parametrize("width", [0, 3])
def test_items_without_features_have_a_result(width):
    pairs = ranking.tribes(users=40, items=20)
    known = sparse.csr_array(np.eye(20, 3, dtype=np.float32)[:, :width])
    for features in (known, sparse.csr_array((20, 3), dtype=np.float32)):
        model = ContextRanker(ContextConfig("svdfeature", 4, DESCENT))
        model.fit(pairs, item_features=features)
        assert np.isfinite(model.item_factors).all()
        assert np.isfinite(model.user_vectors(pairs)).all()


@pytest.mark.parametrize(
    "odd",
    [
        "abc",
        None,
        ["a", "b"],
        [["1"], ["2"]],
        np.array([["a"], ["b"]], object),
        np.array([["2020-01-01"]], "M8[D]"),
        [[1.0], [1.0, 2.0]],
        [[10**400]],
    ],
    ids=repr,
)
def test_features_that_are_not_finite_are_refused(odd):
    with pytest.raises(DataError, match="a matrix of numbers"):
        FeatureMap().transform(odd)


def test_a_feature_too_large_for_single_precision_is_refused():
    for matrix in ([[1e300]], sparse.csr_array([[1e300]])):
        with pytest.raises(DataError, match="NaN or infinite"):
            FeatureMap().transform(matrix)


@pytest.mark.parametrize("config", [FbgdConfig, OcmfConfig, DescentConfig])
def test_a_seed_below_0_is_refused(config):
    with pytest.raises(ConfigError, match="seed must be 0 or more, not -1"):
        config(seed=-1)
