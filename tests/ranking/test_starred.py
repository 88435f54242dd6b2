"""Predicted stars rank the items that have features, later ones included."""

import numpy as np
import pytest

from core.features import Column, FeatureEncoder
from core.ordinal.config import StarsConfig
from core.ordinal.fit_stars import fit_stars
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.pool import Pool
from service.ranking.trained.starred import Starred
from tests.core.rated import N_ITEMS, world
from tests.rankers import asker, everything

KINDS = FeatureEncoder((Column("kind", ("k0", "k1", "k2")),))


@pytest.fixture(scope="module")
def stars():
    return fit_stars(*world(), StarsConfig(labelled=150, unlabelled=40, frequencies=32))


def ranker(stars):
    return Starred(FAMILIES["ordinal"], "v", stars, {}, users=KINDS, items=KINDS)


def described(model, kind):
    return Asker(asker([]).preferences, features={"v": model.feature_vector({"kind": kind})})


def test_items_without_features_are_in_no_list(stars):
    blank = stars.item_vectors.copy()
    blank[5] = 0.0
    model = ranker(type(stars)(stars.model, stars.n_user_features, stars.values, blank))
    pool = Pool(np.ones(N_ITEMS, np.bool_), np.array([2], np.int32))
    found = model.best(described(model, "k0"), pool, N_ITEMS)
    assert set(found.items.tolist()) == set(range(N_ITEMS)) - {2, 5}
    assert (np.diff(found.scores) <= 0).all()


def test_later_items_are_ranked_by_their_documents(stars):
    model = ranker(stars)
    bodies = {N_ITEMS: {"features": {"kind": "k1"}}, N_ITEMS + 1: {}}
    later = model.with_later(bodies)
    assert later.n_items == N_ITEMS + 2
    found = later.best(described(later, "k1"), everything(N_ITEMS + 2), N_ITEMS + 2)
    assert N_ITEMS in found.items
    # nothing is known of the other one
    assert N_ITEMS + 1 not in found.items
    before = model.best(described(model, "k1"), everything(N_ITEMS), N_ITEMS)
    assert [item for item in found.items if item < N_ITEMS] == before.items.tolist()
