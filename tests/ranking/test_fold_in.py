"""Models with a vector for each item know users by what they liked, some also by features."""

import numpy as np

from core.batch.ocmf.users import StructuredUsers
from core.batch.snapshot import of_users
from core.features import Column, FeatureEncoder
from service.ranking.asker import NOBODY, Asker
from service.ranking.families import FAMILIES
from service.ranking.family import Published
from service.ranking.trained.fold_in import FoldIn, read_fold_in
from tests.models import objective
from tests.rankers import asker, everything

OCMF = FAMILIES["ocmf"]
KINDS = FeatureEncoder((Column("kind", ("k0", "k1", "k2")),))


def test_a_model_with_features_ranks_by_those_of_the_user():
    row = objective(n_items=12, factors=4)
    directions = np.eye(4, dtype=np.float32)  # three kinds, and a constant of 0.3
    model = FoldIn(OCMF, "v", StructuredUsers(row, directions), {}, KINDS)
    me = Asker(NOBODY.preferences, features={"v": model.feature_vector({"kind": "k1"})})
    expected = np.argsort(-(row.item_factors @ (directions[1] + 0.3 * directions[3])))
    assert model.reads_features
    assert model.best(me, everything(12), 12).items.tolist() == expected.tolist()
    assert model.feature_vector({"kind": "unheard of"}) is None


def test_a_model_without_features_reads_none():
    model = FoldIn(OCMF, "v", StructuredUsers(objective(n_items=12)), {})
    assert not model.reads_features
    assert model.feature_vector({"kind": "k1"}) is None


def test_a_model_is_cold_to_users_of_whose_items_it_has_learned_nothing():
    row = objective(n_items=12, factors=4)
    row.item_factors[7] = 1e-12
    model = FoldIn(OCMF, "v", StructuredUsers(row), {})
    known = [model.knows(asker(items)) for items in ([7], [20], [3, 7], [7, 9, 20])]
    assert known == [False, False, True, True]


def test_a_published_model_is_read_with_its_features():
    users = StructuredUsers(objective(n_items=12, factors=4), np.eye(4, dtype=np.float32))
    made = of_users("ocmf", users, encoder=KINDS, settings={}, metrics={}, cuts={})
    model = read_fold_in(OCMF, Published("v", made, {0: 3}))
    assert (model.features, model.trained_through) == (KINDS.features, {0: 3})
    assert model.feature_vector({"kind": "k2"}) is not None


def test_what_was_cached_is_not_made_again_and_what_was_not_is_returned():
    model, me = FoldIn(OCMF, "v", StructuredUsers(objective(12)), {}), asker([1])
    pool = everything(12)
    first = model.best(Asker(me.preferences, heads={}), pool, 5)
    assert first.made is not None
    assert first.made.head is not None
    cached = Asker(
        me.preferences, vectors={("ocmf", "v"): first.made.vector}, heads={"ocmf": first.made.head}
    )
    again = model.best(cached, pool, 5)
    assert again.made is None
    assert again.items.tolist() == first.items.tolist()
    warmed = Asker(me.preferences, heads={}, warmed={"ocmf": first.made.head})
    moved = model.best(warmed, pool, 5).made
    assert (moved.head, moved.vector) == (first.made.head, None)
