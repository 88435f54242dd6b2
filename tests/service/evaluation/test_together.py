"""Many askers at once get what each alone would get."""

from functools import partial

import numpy as np
import pytest

from core.interactions import from_pairs
from service.evaluation import together
from service.evaluation.rankers import asker_of, families_that_rank, settled
from service.ranking.pool import HEAD, Pool
from service.ranking.stack import candidates
from service.training.data.material import Material

ITEMS = 3 * HEAD


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(4)
    user, item = rng.integers(0, 60, 1500), rng.integers(0, ITEMS, 1500)
    # user 7 has no history, the last items have no likes
    kept = (user != 7) & (item < ITEMS - 5)
    return from_pairs(user[kept], item[kept], n_users=61, n_items=ITEMS)


def asker(pairs, user):
    return asker_of(pairs.item_ix[pairs.ptr[user] : pairs.ptr[user + 1]], ordered=False)


def test_candidates_are_those_of_each_asker_alone(pairs):
    names = families_that_rank(ordered=False)
    found = settled(names, Material(pairs), 0.0, 0, lambda share: None)
    rankers = [one.ranker(Material(pairs)) for one in found]
    users = np.arange(pairs.n_users)[::-1].copy()
    many = [*together.prepared(rankers, pairs, users, partial(asker, pairs), at_once=16)]
    assert len(many) == users.size
    for user, one in zip(users.tolist(), many, strict=True):
        alone = asker(pairs, user)
        pool = Pool(np.ones(ITEMS, np.bool_), alone.preferences.seen)
        ours, theirs = (candidates(rankers, person, pool) for person in (one, alone))
        assert ours.items.tolist() == theirs.items.tolist()
        np.testing.assert_allclose(ours.signals, theirs.signals, rtol=1e-2, atol=1e-3)
