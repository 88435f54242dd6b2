"""Topics: groups of items by what the same people like, and the names of the groups."""

import numpy as np
import pytest

from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.interactions import from_pairs
from core.topics.grouping import BLOCK, MOST_TOPICS, n_topics, topics_of
from core.topics.naming import typical_terms

TASTES, EACH, BESTSELLERS = 5, 40, 10


def liked(*, seed: int = 0):
    """Return pairs of users with one of five tastes; everybody also likes the first items."""
    rng = np.random.default_rng(seed)
    users, items = [], []
    for user in range(400):
        own = BESTSELLERS + (user % TASTES) * EACH + rng.choice(EACH, 8, replace=False)
        common = rng.choice(BESTSELLERS, 5, replace=False)
        for item in [*own, *common]:
            users.append(user)
            items.append(item)
    return from_pairs(np.array(users), np.array(items))


def found(pairs, factors=16, seed=0):
    vectors = Fbgd(FbgdConfig(factors=factors, seed=seed)).fit(pairs).objective.item_factors
    taken = np.bincount(pairs.item_ix, minlength=pairs.n_items).astype(np.float32)
    return topics_of(vectors, taken)


@pytest.mark.parametrize("seed", range(4))
def test_each_taste_is_in_topics_of_its_own_although_all_like_the_same_bestsellers(seed):
    """All topics began with the items that everybody likes when they were factors themselves."""
    topics = found(liked(seed=seed), seed=seed)
    tops = [set(items[:10].tolist()) for items in topics.members]
    assert len(tops) == n_topics(210)
    assert sum(len(one & other) for one in tops for other in tops if one is not other) == 0
    leading = set()
    for items in topics.members:
        tastes = np.bincount((items[items >= BESTSELLERS] - BESTSELLERS) // EACH, minlength=TASTES)
        if tastes.sum() >= 10:
            assert tastes.max() >= 0.9 * tastes.sum()
            leading.add(int(np.argmax(tastes)))
    assert leading == set(range(TASTES))


def test_each_item_with_a_vector_is_in_one_topic_and_the_others_in_none():
    vectors = np.random.default_rng(0).normal(size=(60, 8)).astype(np.float32)
    vectors[[3, 40]] = 0.0
    taken = np.full(60, 2.0, np.float32)
    topics = topics_of(vectors, taken)
    assert np.flatnonzero(topics.topic < 0).tolist() == [3, 40]
    assert not topics.strength[[3, 40]].any()
    assert (
        sorted(np.concatenate(topics.members).tolist())
        == np.flatnonzero(topics.topic >= 0).tolist()
    )
    assert all(
        np.all(np.diff(topics.strength[items]) <= 0.0) and items.size for items in topics.members
    )
    sizes = [float(taken[items].sum()) for items in topics.members]
    assert sizes == sorted(sizes, reverse=True)


def test_topics_follow_from_their_input_alone():
    pairs = liked()
    np.testing.assert_array_equal(found(pairs).topic, found(pairs).topic)


@pytest.mark.parametrize(
    "vectors",
    [np.empty((0, 4)), np.empty((0, 0)), np.zeros((5, 4)), np.ones((1, 4)), np.ones((50, 4))],
    ids=["no items", "no factors", "nothing learned", "one item", "all alike"],
)
def test_degenerate_vectors_have_at_most_one_topic(vectors):
    topics = topics_of(vectors.astype(np.float32), np.ones(len(vectors), np.float32))
    assert len(topics.members) == bool(vectors.any())
    assert np.isfinite(topics.strength).all()


def test_a_rare_item_is_listed_after_the_sure_ones():
    rng = np.random.default_rng(1)
    directions = np.repeat(np.eye(4), 25, axis=0)
    vectors = (directions + 0.2 * rng.normal(size=(100, 4))).astype(np.float32)
    vectors[0] = [1.0, 0.0, 0.0, 0.0]
    taken = np.full(100, 50.0, np.float32)
    taken[0] = 1.0
    topics = topics_of(vectors, taken)
    members = topics.members[int(topics.topic[0])]
    assert members.tolist().index(0) > members.size / 2


def test_items_alike_are_in_one_topic_wherever_they_are_in_a_large_catalogue():
    rng = np.random.default_rng(2)
    few = (np.repeat(np.eye(8), 30, axis=0) + 0.3 * rng.normal(size=(240, 8))).astype(np.float32)
    times = 2 * BLOCK // len(few) + 1
    topics = topics_of(np.tile(few, (times, 1)), np.ones(times * len(few), np.float32))
    assert len(topics.members) == 8
    np.testing.assert_array_equal(topics.topic, np.tile(topics.topic[: len(few)], times))


def test_the_number_of_topics_grows_with_the_catalogue_up_to_a_bound():
    assert [n_topics(n) for n in (2, 8, 50, 199, 200, 10**6)] == [1, 2, 5, 9, 10, MOST_TOPICS]


def test_a_group_is_named_by_what_sets_it_apart():
    drama = [
        {"categories": ["drama", "western"], "features": {"title": f"Rider {n}"}} for n in range(6)
    ]
    other = [{"categories": ["drama", "musical"], "features": {"plot": "they sing & sing"}}] * 6
    assert typical_terms([drama, other]) == [["western", "rider"], ["musical", "sing", "they"]]


def test_words_name_groups_without_categories_and_lists_of_features_count_as_categories():
    teas = [{"features": {"text": f"green tea number {n}", "tags": ["Loose"]}} for n in range(4)]
    ropes = [{"features": {"text": f"rope number {n}"}} for n in range(4)]
    assert typical_terms([teas, ropes]) == [["Loose", "green", "tea"], ["rope"]]


@pytest.mark.parametrize(
    "groups", [[], [[]], [[{}], [{}]], [[{"categories": ["only"]}] * 3, []]], ids=str
)
def test_without_anything_typical_there_are_no_terms(groups):
    assert typical_terms(groups) == [[] for _ in groups]


def test_a_term_of_a_single_item_names_no_group():
    rare = [{"categories": ["a"]}, *[{"categories": ["b"]}] * 5]
    assert typical_terms([rare, [{"categories": ["c"]}] * 5])[0] == ["b"]
