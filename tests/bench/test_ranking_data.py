"""Tests of the generated world (its size, popularity and tastes) and of the unseen sets."""

import gzip

import numpy as np
import pytest

from bench import ranking_data
from bench.ranking_data import generated
from core import ranking_metrics
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.popularity import Popular
from core.batch.ranker import rank
from core.splits import random_split


@pytest.fixture(scope="module")
def world():
    return generated(60_000, n_users=1_500, n_items=600)


def test_it_is_about_as_large_as_asked_and_no_pair_occurs_twice(world):
    assert 0.8 * 60_000 < len(world) < 1.2 * 60_000
    assert (world.n_users, world.n_items, world.ptr.size) == (1_500, 600, 1_501)
    key = world.user_ix.astype(np.int64) * 600 + world.item_ix
    assert (np.diff(key) > 0).all()


def test_a_seed_gives_the_same_world(world):
    again = generated(60_000, n_users=1_500, n_items=600)
    assert again.item_ix.tobytes() == world.item_ix.tobytes()
    other = generated(60_000, n_users=1_500, n_items=600, seed=1)
    assert other.item_ix.tobytes() != world.item_ix.tobytes()


def test_users_are_drawn_block_by_block():
    world = generated(9_000, n_users=300, n_items=50, user_block=128)
    assert (world.user_counts > 0).all()
    assert world.item_ix.max() < 50


def test_a_model_finds_more_than_popularity(world):
    train, test = random_split(world, 0.1, np.random.default_rng(0))
    users = np.flatnonzero(test.user_counts)
    seen, held = train.rows(users), test.rows(users)

    def ndcg(model):
        ids, _ = rank(model.fit(train).user_vectors(seen), model.item_factors, seen, 10)
        return ranking_metrics.ndcg(ranking_metrics.hits(ids, held), 10).mean()

    popular = ndcg(Popular())
    assert popular > 2.0 * 10 / 600
    assert ndcg(Fbgd(FbgdConfig(24, alpha0=600.0, reg=12.0, epochs=8))) > 1.05 * popular


def test_an_unseen_set_has_distinct_pairs_and_no_users_with_few_of_them(tmp_path):
    folder = tmp_path / "lastfm-hetrec"
    folder.mkdir()
    rows = [(u, i, t) for u in range(5) for i in range(2) for t in range(4)]
    rows += [(9, 0, 0), (9, 0, 1), (9, 0, 2), (0, 0, 9), (8, 1, 9), (8, 1, 0)]
    lines = "user,item,tag\n" + "".join(f"{u},{i},{t}\n" for u, i, t in rows)
    (folder / "user_taggedartists.csv.gz").write_bytes(gzip.compress(lines.encode()))
    train, test = ranking_data.split("Last.fm tags", 0, tmp_path)
    # Five users have four tags and one has three. The tag with two users is dropped, and with it
    # the user with two tags.
    assert (train.n_users, train.n_items, len(train) + len(test)) == (6, 4, 23)


def test_only_funny_jokes_are_positives_of_jester(tmp_path):
    (tmp_path / "jester-1").mkdir()
    rows = "".join(f"{u},{i},{9.5 if i < 3 else 3.99}\n" for u in range(4) for i in range(6))
    path = tmp_path / "jester-1" / "ratings.csv.gz"
    path.write_bytes(gzip.compress(f"user,item,rating\n{rows}".encode()))
    train, test = ranking_data.split("Jester", 0, tmp_path)
    assert (train.n_users, train.n_items, len(train) + len(test)) == (4, 3, 12)
