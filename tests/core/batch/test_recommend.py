"""Calls that every ranking model answers, with the arguments of ``implicit``."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from core.batch.contexts.config import KINDS, ContextConfig, DescentConfig
from core.batch.contexts.ranker import ContextRanker
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.model import Ocmf
from core.batch.popularity import Popular
from core.errors import ConfigError, DataError, ShapeError
from tests.core import ranking

DESCENT = DescentConfig(epochs=20, alpha0=20.0)
FBGD = FbgdConfig(factors=8, alpha0=60.0, reg=1.0)
MODELS = {
    "popular": Popular,
    "fbgd": lambda: Fbgd(FBGD),
    "ocmf": lambda: Ocmf(OcmfConfig(factors=8, loss="square")),
    "ocmf-below": lambda: Ocmf(OcmfConfig(factors=8, target=-0.5)),
    **{kind: lambda kind=kind: ContextRanker(ContextConfig(kind, 8, DESCENT)) for kind in KINDS},
}
COLD = 7


def pairs_with_somebody_cold():
    pairs = ranking.tribes(60, 40)
    return pairs.keep(pairs.user_ix != COLD)


@pytest.fixture(scope="module")
def models():
    pairs = pairs_with_somebody_cold()
    return {name: make().fit(pairs) for name, make in MODELS.items()}


@pytest.fixture
def user_items():
    pairs = pairs_with_somebody_cold()
    return sparse.csr_matrix((np.ones(len(pairs)), pairs.item_ix, pairs.ptr), (60, 40))


@pytest.mark.parametrize(
    "name", [name for name in MODELS if name not in ("svdfeature", "pitf", "cp")]
)
def test_the_row_of_a_user_gives_the_same_as_all_rows(models, user_items, name):
    model = models[name]
    ids, scores = model.recommend(np.arange(60), user_items, N=5)
    for user in (0, 5, 59):
        for row in (user_items[user], sparse.csr_array(user_items)[user]):
            one = model.recommend(user, row, N=5)
            np.testing.assert_array_equal(one[0], ids[user])
            np.testing.assert_allclose(one[1], scores[user], rtol=1e-5)
    some = np.array([59, 3, 5])
    np.testing.assert_array_equal(model.recommend(some, user_items[some], 5)[0], ids[some])
    np.testing.assert_array_equal(model.recommend(some, user_items, 5)[0], ids[some])


@pytest.mark.parametrize("kind", ["svdfeature", "pitf", "cp"])
def test_the_row_of_a_user_gives_the_same_as_all_rows_in_context_models(models, kind):
    pairs, some = pairs_with_somebody_cold(), np.array([59, 3, 5])
    ids, _ = models[kind].recommend(np.arange(60), pairs, N=5)
    np.testing.assert_array_equal(models[kind].recommend(some, pairs.rows(some), 5)[0], ids[some])


def test_items_are_filtered_by_the_arguments_of_implicit(models, user_items):
    model, liked = models["fbgd"], user_items[3].indices
    every, _ = model.recommend(3, user_items[3], N=40, filter_already_liked_items=False)
    assert sorted(every) == list(range(40))
    ids, scores = model.recommend(3, user_items[3], N=40, filter_items=[0, 1, 1])
    left = 40 - np.union1d(liked, [0, 1]).size
    assert not {0, 1, *liked.tolist()} & set(ids.tolist())
    assert ids[left:].tolist() == [-1] * (40 - left)
    assert (scores[left:] == -np.inf).all()


def test_filtering_items_for_all_users_needs_little_memory(models):
    rows = ranking.tribes(60, 40).rows(np.arange(20_000) % 60)
    tracemalloc.start()
    ids, _ = models["popular"].recommend(np.arange(20_000), rows, 5, filter_items=np.arange(30))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not np.isin(ids, np.arange(30)).any()
    assert peak < 20_000 * 30 * 4


def test_no_users_get_no_lists(models, user_items):
    for rows in (user_items, user_items[[]]):
        ids, scores = models["fbgd"].recommend([], rows, N=4, filter_items=[1])
        assert ids.shape == scores.shape == (0, 4)


@pytest.mark.parametrize("name", ["fbgd", "ocmf", "ocmf-below", "mf", "cp"])
def test_unknown_users_get_popular_items(models, name):
    pairs = pairs_with_somebody_cold()
    popular = models["popular"].recommend(COLD, pairs, 6, filter_items=[1])
    for user in (COLD, np.array([4, COLD])):
        found = models[name].recommend(user, pairs, 6, filter_items=[1])
        np.testing.assert_array_equal(np.atleast_2d(found[0])[-1], popular[0])
        np.testing.assert_array_equal(np.atleast_2d(found[1])[-1], popular[1])
    # users with pairs are ranked by them
    assert models[name].recommend(4, pairs, 6)[1][0] < 2.0


@pytest.mark.parametrize("name", ["popular", "fbgd", "ocmf", "ocmf-below", "mf"])
def test_disliked_items_are_not_popular(name):
    liked = np.zeros((12, 4))
    liked[:9, 0], liked[8:11, 1], liked[9:11, 2] = -1.0, 1.0, 1.0
    matrix = sparse.csr_array(liked)
    ids, scores = MODELS[name]().fit(matrix).recommend(11, matrix, 4)
    assert ids.tolist() == [1, 2, 0, 3]
    assert scores.tolist() == [3.0, 2.0, 0.0, 0.0]


def test_with_shrinkage_cold_users_get_a_ranking():
    pairs = pairs_with_somebody_cold()
    model = Fbgd(FbgdConfig(factors=8, alpha0=60.0, reg=1.0, shrinkage=1.0)).fit(pairs)
    _, scores = model.recommend(COLD, pairs, 6)
    assert (scores < 1.0).all()
    assert (np.diff(scores) < 0.0).all()


@pytest.mark.parametrize("asked", [[2, 0, 1], [1, 1], [*range(59, -1, -1)]])
def test_rows_belong_to_the_requested_users_in_any_order(models, user_items, asked):
    ids, scores = models["fbgd"].recommend(np.arange(60), user_items, N=5)
    again = models["fbgd"].recommend(asked, user_items[asked], N=5)
    np.testing.assert_array_equal(again[0], ids[asked])
    # the position of a row within a block decides the order of its sums
    np.testing.assert_allclose(again[1], scores[asked], rtol=1e-6)


def test_invalid_requests_are_refused_with_the_reason(models, user_items):
    model = models["fbgd"]
    with pytest.raises(
        ConfigError, match="user numbers must be at least 0 and below 2147483648: got -1"
    ):
        model.recommend(-1, user_items)
    with pytest.raises(DataError, match="user numbers must be whole"):
        model.recommend(1.5, user_items)
    with pytest.raises(ConfigError, match=r"user numbers must be in 0 \.\. 1"):
        model.recommend([2, 0, 1], user_items[:2])
    with pytest.raises(ConfigError, match=r"item numbers must be in 0 \.\. 39"):
        model.recommend(2, user_items, filter_items=[40])
    with pytest.raises(ShapeError, match="scipy"):
        model.recommend(2, np.ones((1, 40)))
    with pytest.raises(ConfigError, match="N must be at least 1"):
        model.recommend(2, user_items, N=0)
    for odd in (2.5, np.nan, "3", None):
        with pytest.raises(ConfigError, match="a whole number, not"):
            model.recommend(2, user_items, N=odd)
        with pytest.raises(ConfigError, match="a whole number, not"):
            model.similar_items(2, N=odd)
    with pytest.raises(DataError, match="user numbers must be whole"):
        model.recommend(np.nan, user_items)
    with pytest.raises(DataError, match="item numbers must be whole"):
        model.recommend(2, user_items, filter_items=[np.nan])
    with pytest.raises(ShapeError, match="has 60 users"):
        models["mf"].recommend(60, user_items[3])
