from collections import Counter
from itertools import islice

import numpy as np

from service.demo.sample_world import SampleWorld


def test_the_same_seed_gives_the_same_world_and_events() -> None:
    one, other = SampleWorld(3), SampleWorld(3)
    assert one.items == other.items
    assert list(islice(one.events(), 500)) == list(islice(other.events(), 500))
    assert list(islice(one.events(), 500)) == list(islice(one.events(), 500))


def test_another_seed_gives_another_world() -> None:
    assert SampleWorld(1).items != SampleWorld(2).items


def test_titles_are_unique_and_every_item_has_a_genre() -> None:
    items = SampleWorld(n_items=3000).items
    assert len({item.title for item in items}) == 3000
    assert {len(item.genres) for item in items} == {1, 2}


def test_ratings_use_the_whole_scale_and_times_go_forward() -> None:
    ratings = SampleWorld().ratings(20_000)
    assert set(ratings.rating) == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert (np.diff(ratings.timestamp_ms) >= 0).all()
    assert len(ratings.rating) == 20_000


def test_a_pair_is_not_rated_twice_before_half_of_everything_is_seen() -> None:
    ratings = SampleWorld().ratings(5_000)
    pairs = Counter(zip(ratings.user_ix.tolist(), ratings.item_ix.tolist(), strict=True))
    assert len(pairs) == 5_000


def test_a_few_items_are_rated_often_and_most_rarely() -> None:
    counts = np.sort(np.bincount(SampleWorld().ratings(20_000).item_ix, minlength=600))[::-1]
    assert counts[:60].sum() > 0.25 * counts.sum()
    assert counts[300:].sum() < 0.35 * counts.sum()


def test_the_world_has_a_learnable_part_and_noise() -> None:
    world = SampleWorld()
    ratings = world.ratings(20_000)
    age = np.zeros_like(ratings.user_ix)
    for n, user in enumerate(ratings.user_ix):
        age[n] = (ratings.user_ix[:n] == user).sum() if n < 3000 else 0
    early = slice(0, 3000)
    truth = world.true_rating(ratings.user_ix[early], ratings.item_ix[early], age[early])
    known = np.abs(np.clip(truth, 1, 5) - ratings.rating[early]).mean()
    blind = np.abs(ratings.rating[early].mean() - ratings.rating[early]).mean()
    assert known < 0.75 * blind
    assert known > 0.3


def test_tastes_drift() -> None:
    world = SampleWorld()
    users = np.arange(len(world.users))
    items = np.zeros_like(users)
    young = world.true_rating(users, items, np.zeros_like(users))
    old = world.true_rating(users, items, np.full_like(users, 2000))
    assert np.abs(young - old).mean() > 0.5


def test_with_a_reach_users_rate_so_many_items_at_most_and_go_on() -> None:
    world = SampleWorld(n_users=60, n_items=150, reach=60)
    ratings = world.ratings(30_000)
    rated = np.zeros((60, 150), dtype=np.bool_)
    rated[ratings.user_ix, ratings.item_ix] = True
    assert rated.sum(axis=1).max() == 60
    assert set(ratings.user_ix[-10_000:]) == set(range(60))
    assert np.array_equal(
        ratings.rating[:200], SampleWorld(n_users=60, n_items=150).ratings(200).rating
    )
