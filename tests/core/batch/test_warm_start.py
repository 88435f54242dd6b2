"""A model of contexts that is continued keeps its factors when users and items are added."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from core.batch.contexts.config import KINDS, ContextConfig, DescentConfig
from core.batch.contexts.descent import descend
from core.batch.contexts.dot_models import SvdFeature
from core.batch.contexts.ranker import ContextRanker
from core.errors import ConfigError, NotFitted, ShapeError
from core.interactions import from_pairs
from tests.core import ranking

LONG = DescentConfig(epochs=150, alpha0=5.0, reg=0.01)
STILL = replace(LONG, epochs=1, learning_rate=1e-9)
"""Settings of one epoch that changes almost nothing."""


def walks():
    """Return users who start anywhere and advance 3 items each second."""
    user, step = np.divmod(np.arange(40 * 8), 8)
    return from_pairs(user, (user * 5 + 3 * step) % 20, n_users=40, n_items=20, time=step)


def earlier(pairs, n_users=30, n_items=15):
    """Return the pairs of the first users and items."""
    old = pairs.keep((pairs.user_ix < n_users) & (pairs.item_ix < n_items))
    size = {"n_users": n_users, "n_items": n_items}
    return from_pairs(old.user_ix, old.item_ix, time=old.time, **size)


def genres(n_items):
    """Return features of items; new items have new features."""
    return sparse.csr_array(np.eye(n_items // 5, dtype=np.float32)[np.arange(n_items) // 5])


def fitted(kind, descent, pairs, *, previous=None, described=False):
    features = genres(pairs.n_items) if described else None
    model = ContextRanker(ContextConfig(kind, 8, descent))
    return model.fit(pairs, item_features=features, previous=previous)


@pytest.mark.parametrize(
    ("kind", "described"), [*((kind, False) for kind in KINDS), ("svdfeature", True)]
)
def test_factors_of_users_and_items_are_kept_when_others_are_added(kind, described):
    large = walks()
    small = earlier(large)
    first = fitted(kind, LONG, small, described=described)
    later = fitted(kind, STILL, large, described=described, previous=first)
    np.testing.assert_allclose(later.item_factors[:15], first.item_factors, atol=1e-5)
    old = np.arange(30)
    # after their newest item and before their first one
    for known in (small, small.keep(np.zeros(len(small), np.bool_))):
        wanted = first.asked_vectors(old, known)
        found = later.asked_vectors(old, replace(known, n_items=20))
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_epochs_of_a_continued_model_beat_as_many_from_the_start(kind):
    news, few = walks(), replace(LONG, epochs=5)
    first = fitted(kind, LONG, earlier(news, 36, 18))
    warm, cold = fitted(kind, few, news, previous=first), fitted(kind, few, news)
    assert warm.losses[-1] < cold.losses[-1]


def test_blocks_of_user_defined_contexts_grow_independently():
    rng = np.random.default_rng(0)
    small = SvdFeature((4, 2), sparse.eye_array(7, dtype=np.float32, format="csr"), 3)
    large = SvdFeature((6, 5), sparse.eye_array(7, dtype=np.float32, format="csr"), 3)
    narrow = sparse.csr_array(rng.random((9, 6)).astype(np.float32))
    wide = sparse.csr_array((9, 11), dtype=np.float32).tolil()
    wide[:, :4], wide[:, 6:8] = narrow.toarray()[:, :4], narrow.toarray()[:, 4:]
    wide = wide.tocsr()
    pairs = ranking.tiny()
    before = descend(small, narrow, pairs, LONG)
    after = descend(large, wide, pairs, STILL, previous=before)
    np.testing.assert_allclose(
        large.left(after.parameters, wide), small.left(before.parameters, narrow), atol=1e-5
    )


def test_a_model_that_cannot_be_continued_is_refused_with_the_reason():
    pairs = walks()
    first = fitted("pitf", STILL, pairs)
    with pytest.raises(ConfigError, match="the previous model is of kind pitf"):
        fitted("cp", STILL, pairs, previous=first)
    with pytest.raises(NotFitted, match="call fit first"):
        fitted("pitf", STILL, pairs, previous=ContextRanker(ContextConfig("pitf", 8)))
    with pytest.raises(ShapeError, match="add new rows at the end"):
        fitted("pitf", STILL, earlier(pairs), previous=first)
    news = pairs.keep(pairs.user_ix < 19)
    with pytest.raises(
        ConfigError, match=r"19 users have pairs, but 40 had pairs .* give all pairs"
    ):
        fitted("pitf", STILL, news, previous=first)
    # users may be removed
    fitted("pitf", STILL, pairs.keep(pairs.user_ix < 20), previous=first)
    plain = fitted("svdfeature", STILL, pairs)
    with pytest.raises(ShapeError, match="keep factors, blocks and numbers"):
        fitted("svdfeature", STILL, pairs, described=True, previous=plain)
    timeless = from_pairs(pairs.user_ix, pairs.item_ix, n_users=40, n_items=20)
    with pytest.raises(ShapeError, match="keep factors, blocks and numbers"):
        fitted("svdfeature", STILL, timeless, previous=plain)
