"""Recommendations of a one-class model use all side information, or the call is refused."""

import numpy as np
import pytest
from scipy import sparse

from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.model import Ocmf
from core.batch.popularity import Popular
from core.errors import ConfigError, ShapeError
from tests.core import ranking

CONFIG = OcmfConfig(factors=8, loss="square", weight=0.1, graph=0.5)
COLD, LONELY = 7, 11
TRIBE = np.arange(60) % 4


def pairs_without():
    """Return pairs of tribes; two users have none."""
    pairs = ranking.tribes(60, 40)
    return pairs.keep((pairs.user_ix != COLD) & (pairs.user_ix != LONELY))


def friends():
    """Return links within each tribe; the lonely user has none."""
    links = (TRIBE[:, None] == TRIBE) & ~np.eye(60, dtype=bool)
    links[LONELY] = links[:, LONELY] = False
    return sparse.csr_array(links.astype(np.float32))


@pytest.fixture(scope="module")
def described():
    return Ocmf(CONFIG).fit(pairs_without(), features=np.eye(4)[TRIBE])


@pytest.fixture(scope="module")
def linked():
    return Ocmf(CONFIG).fit(pairs_without(), graph=friends())


def test_users_of_a_fit_with_features_are_ranked_by_their_trained_vectors(described):
    pairs = pairs_without()
    ids, scores = described.recommend(np.arange(60), pairs, 5)
    every = described.trained_users @ described.item_factors.T
    every[pairs.user_ix, pairs.item_ix] = -np.inf
    np.testing.assert_allclose(scores, -np.sort(-every, axis=1)[:, :5], rtol=1e-5)
    assert (ids[COLD] % 4 == TRIBE[COLD]).all()


def test_new_users_are_ranked_by_the_given_features(described):
    pairs = pairs_without()
    ids, _ = described.recommend(
        [70, 71], pairs.rows(np.array([0, 0])), 5, features=np.eye(4)[[3, 1]]
    )
    assert (ids % 4 == [[3], [1]]).all()
    one, _ = described.recommend(70, pairs.rows(np.array([0])), 5, features=np.eye(4)[[3]])
    np.testing.assert_array_equal(one, ids[0])


def test_users_without_features_get_popular_items(described):
    pairs = pairs_without()
    popular, _ = Popular().fit(pairs).recommend(4, pairs, 5)
    ids, scores = described.recommend(4, pairs, 5, features=np.zeros((1, 4)))
    np.testing.assert_array_equal(ids, popular)
    assert (scores > 1.0).all()


def test_a_cold_user_with_links_gets_items_of_linked_users(linked):
    pairs = pairs_without()
    ids, scores = linked.recommend(COLD, pairs, 5)
    assert (ids % 4 == TRIBE[COLD]).all()
    assert (scores > 0.0).all()
    # also within a batch, and from a given row
    both, _ = linked.recommend([4, COLD], pairs.rows(np.array([4, COLD])), 5)
    np.testing.assert_array_equal(both[1], ids)


def test_links_of_a_user_with_pairs_count_too(linked):
    pairs = pairs_without()
    found = linked.asked_vectors(np.arange(60), pairs)
    wanted = linked.user_vectors(pairs, links=friends())
    np.testing.assert_array_equal(found, wanted)
    assert not np.allclose(found, linked.user_vectors(pairs))


def test_links_of_a_new_user_are_passed_to_the_call(linked):
    nothing = pairs_without().rows(np.array([COLD]))
    ids, _ = linked.recommend(99, nothing, 5, links=friends()[[2]])
    assert (ids % 4 == TRIBE[2]).all()


def test_users_without_links_to_users_with_pairs_get_popular_items(linked):
    pairs = pairs_without()
    popular = Popular().fit(pairs).recommend(LONELY, pairs, 5)
    found = linked.recommend(LONELY, pairs, 5)
    stranger = linked.recommend(
        99, pairs.rows(np.array([COLD])), 5, links=sparse.csr_array((1, 60))
    )
    for ids, scores in (found, stranger):
        np.testing.assert_array_equal(ids, popular[0])
        np.testing.assert_array_equal(scores, popular[1])


def test_missing_and_useless_side_information_is_refused(described, linked):
    row = pairs_without().rows(np.array([5]))
    plain = Ocmf(CONFIG).fit(pairs_without())
    with pytest.raises(ShapeError, match=r"users 0 \.\. 59: give the features of others"):
        described.recommend(60, row)
    with pytest.raises(ShapeError, match=r"users 0 \.\. 59: give the links of others"):
        linked.recommend(60, row)
    with pytest.raises(ShapeError, match="2 rows for 1 users"):
        described.recommend(60, row, features=np.eye(4)[:2])
    with pytest.raises(ShapeError, match="links are 1 x 4, not 1 x 60"):
        linked.recommend(60, row, links=np.ones((1, 4)))
    with pytest.raises(ConfigError, match="leave links out"):
        described.recommend(5, row, links=friends()[[5]])
    with pytest.raises(ConfigError, match="leave links out"):
        plain.recommend(5, row, links=friends()[[5]])
    with pytest.raises(ConfigError, match="fit it with features"):
        plain.recommend(5, row, features=np.eye(4)[:1])
