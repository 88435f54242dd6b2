"""Slates after one event: new users of MovieLens 1M in the order of time, beside popularity."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.preferences import preference_rows
from core.batch.ranker import rank
from core.batch.shrinkage import choose_shrinkage
from core.gate import paired_interval
from core.interactions import from_pairs
from core.meaning import EventMeanings, HistoryColumns
from core.ranking_metrics import hits, ndcg

DATA = Path(__file__).parents[4] / "shared" / "data" / "ml-1m" / "ratings.csv.gz"
TRAINED = 0.7
"""Share of the events that the model is trained on."""

pytestmark = [
    pytest.mark.quality,
    pytest.mark.skipif(not DATA.is_file(), reason=f"no data set in {DATA}"),
]


@cache
def events():
    """Return user_ix, item_ix and rating in the order of time."""
    columns = np.loadtxt(DATA, delimiter=",", skiprows=1, usecols=range(4)).T
    user, item, rating, _ = columns[:, np.argsort(columns[3], kind="stable")]
    user_ix, item_ix = (np.unique(ids, return_inverse=True)[1] for ids in (user, item))
    return user_ix, item_ix, rating.astype(np.float32)


def read(of):
    """Return the preferences in these events, as the trainer and serving read them."""
    user, item, rating = (column[of] for column in events())
    return preference_rows(
        user,
        HistoryColumns(item, np.zeros(user.size, np.uint8), rating, np.arange(user.size)),
        EventMeanings(),
        n_users=int(events()[0].max()) + 1,
        n_items=int(events()[1].max()) + 1,
    )


@cache
def figures():
    """Return of each new user both lists of ten, their ndcg on the next and on all, and the rating.

    A new user's first event comes after the training; the lists are judged by the next liked item
    and by all liked items. Users whose event says nothing get the popular items, as in serving.
    """
    user, item, rating = events()
    start = int(TRAINED * user.size)
    _, first = np.unique(user, return_index=True)
    trained, _ = read(np.arange(start))
    known = trained.rows(np.flatnonzero(trained.user_counts))
    shrinkage = choose_shrinkage(known, lambda part: Fbgd(FbgdConfig()).fit(part).fitted)
    model = Fbgd(FbgdConfig(shrinkage=shrinkage)).fit(known)

    later = np.setdiff1d(np.flatnonzero(rating >= 4), first)
    liked = from_pairs(user[later], item[later], n_users=first.size, n_items=trained.n_items)
    new = np.flatnonzero((first >= start) & (liked.user_counts > 0))
    said, seen = (rows.rows(new) for rows in read(first))

    popular = np.bincount(item[:start][rating[:start] >= 4], minlength=trained.n_items)
    same = np.ones((new.size, 1), np.float32)
    everybodys, _ = rank(same, popular[:, None].astype(np.float32), seen, 10)
    own, _ = rank(model.fitted.vectors(said), model.fitted.item_factors, seen, 10)
    own[said.user_counts == 0] = everybodys[said.user_counts == 0]
    _, following = np.unique(user[later], return_index=True)
    following = from_pairs(
        user[later[following]], item[later[following]], n_users=first.size, n_items=trained.n_items
    )
    gain = [
        [ndcg(hits(lists, wanted.rows(new)), 10) for lists in (own, everybodys)]
        for wanted in (following, liked)
    ]
    return own, everybodys, *gain, rating[first][new]


def test_after_one_event_the_next_liked_item_is_ranked_better_than_by_popularity():
    _, _, (own, popular), _, _ = figures()
    ahead = paired_interval(own, popular, np.random.default_rng(0))
    assert own.size >= 1000
    assert ahead.low > 0.0


def test_after_one_event_all_later_likes_are_ranked_as_well_as_by_popularity():
    _, _, _, (own, popular), _ = figures()
    ahead = paired_interval(own, popular, np.random.default_rng(0))
    # 3 % of what popularity reaches
    assert ahead.low > -0.03 * popular.mean()


def test_after_one_liked_item_nearly_every_list_is_personal():
    own, popular, _, _, stars = figures()
    differs = (own != popular).any(axis=1)
    assert differs[stars >= 4].mean() > 0.99
