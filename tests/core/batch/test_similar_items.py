"""Similar items, by the direction of their vectors in every model."""

import numpy as np
import pytest

from core.batch.contexts.config import ContextConfig, DescentConfig
from core.batch.contexts.ranker import ContextRanker
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.model import Ocmf
from core.batch.popularity import Popular
from core.errors import ConfigError, NotFitted
from core.interactions import from_pairs
from tests.core import ranking

TRIBES = 4
DESCENT = DescentConfig(epochs=60, alpha0=20.0)
MODELS = {
    "fbgd": lambda: Fbgd(FbgdConfig(factors=8, alpha0=60.0, reg=1.0, epochs=10)),
    "ocmf": lambda: Ocmf(OcmfConfig(factors=8)),
    **{
        kind: lambda kind=kind: ContextRanker(ContextConfig(kind, 8, DESCENT))
        for kind in ("mf", "svdfeature", "pitf", "cp")
    },
}


@pytest.fixture(scope="module")
def models():
    pairs = ranking.tribes(TRIBES * 60, TRIBES * 20, TRIBES)
    return {name: make().fit(pairs) for name, make in MODELS.items()}


# CP is left out: its similarities are chance where the item before is uninformative
@pytest.mark.parametrize("name", [name for name in MODELS if name != "cp"])
def test_similar_items_are_liked_by_the_same_users(models, name):
    items = np.arange(TRIBES * 20)
    ids, scores = models[name].similar_items(items, 11)
    share = (ids[:, 1:] % TRIBES == items[:, None] % TRIBES).mean()
    assert share > 0.7
    assert ids[:, 0].tolist() == items.tolist()
    assert (scores[:, 0] == 1.0).all()
    assert (np.diff(scores, axis=1) <= 1e-5).all()
    one = models[name].similar_items(5, 11)
    np.testing.assert_array_equal(one[0], ids[5])
    np.testing.assert_allclose(one[1], scores[5], atol=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_lists_longer_than_the_items_are_filled_with_no_item(models, name):
    ids, scores = models[name].similar_items(3, 90)
    assert np.array_equal(np.sort(ids[:80]), np.arange(80))
    assert (ids[80:] == -1).all()
    assert (scores[80:] == -np.inf).all()


def test_an_item_without_pairs_has_no_similar_items():
    pairs = ranking.tiny()
    model = Fbgd(FbgdConfig(factors=2, alpha0=3.0, reg=0.1, epochs=5)).fit(pairs)
    ids, scores = model.similar_items(0, 3)
    assert ids.tolist() == [0, -1, -1]
    assert scores.tolist() == [1.0, -np.inf, -np.inf]
    assert 0 not in model.similar_items(1, 7)[0]


@pytest.mark.parametrize("n", [0, -1])
def test_a_list_of_no_items_is_refused(models, n):
    with pytest.raises(ConfigError, match="N must be at least 1"):
        models["fbgd"].similar_items(0, n)


@pytest.mark.parametrize("item", [-1, 80, [3, 80]])
def test_an_invalid_item_number_is_refused(models, item):
    with pytest.raises(ConfigError, match=r"item numbers must be in 0 \.\. 79"):
        models["mf"].similar_items(item)


def test_popularity_refuses_similar_items():
    with pytest.raises(ConfigError, match="use a model such as Fbgd"):
        Popular().fit(from_pairs(np.array([0, 1]), np.array([0, 1]))).similar_items(1)
    with pytest.raises(NotFitted, match="call fit first"):
        ContextRanker(ContextConfig("pitf")).similar_items(1)
