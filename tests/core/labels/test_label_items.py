"""Items as labels: users with features alone, similar items, the audience of a new item."""

from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from scipy import sparse

from core.batch.snapshot import encoders_of, objective_of
from core.errors import ConfigError, DataError, ShapeError, SnapshotFormat
from core.features import Column, FeatureEncoder
from core.interactions import Interactions
from core.labels.config import ItemsConfig
from core.labels.items import fit_items, item_places, search_items
from core.labels.labelled_items import ItemsAsLabels
from core.labels.snapshot import items_of, of_items
from core.search.search import Budget
from core.snapshot import array_bytes, restored
from tests.core.liked import item_kinds, world

SMALL = ItemsConfig(factors=4, neighbours=30)


def each_kind() -> sparse.csr_array:
    return sparse.csr_array(np.eye(4, dtype=np.float32))


def test_users_without_a_history_get_the_items_of_their_kind() -> None:
    model = fit_items(*world(), SMALL)
    best = np.argsort(-model.scores(each_kind()), axis=1)[:, :5]
    assert (best % 4 == np.arange(4)[:, None]).all()


def test_an_item_that_nobody_liked_is_not_ranked() -> None:
    scores = fit_items(*world(), SMALL).scores(each_kind())
    assert np.isneginf(scores[:, -1]).all()
    assert np.isfinite(scores[:, :-1]).all()


def test_items_with_the_same_users_have_similar_vectors() -> None:
    places = item_places(world()[1], SMALL)
    near = places @ places.T
    assert not places[-1].any()
    same = (np.arange(24) % 4)[:, None] == np.arange(24) % 4
    known = np.arange(23)
    assert near[np.ix_(known, known)][same[:23, :23]].min() > near[:23, :23][~same[:23, :23]].max()


def test_a_new_item_finds_its_audience_by_its_features() -> None:
    features, liked = world()
    model = fit_items(features, liked, SMALL, item_kinds())
    for kind, factors in enumerate(model.factors_of(each_kind())):
        scores, parts = model.audience(factors, features)
        assert (np.argsort(-scores)[:50] % 4 == kind).all()
        assert parts.shape == features.shape
        assert np.allclose(parts.sum(axis=1) + constant(model, factors), scores, atol=1e-5)


def constant(model: ItemsAsLabels, factors: np.ndarray) -> float:
    """Return the score of a user without features."""
    nobody = sparse.csr_array((1, 4), dtype=np.float32)
    return float(model.audience(factors, nobody)[0][0])


def test_without_features_of_items_there_is_no_audience_by_features() -> None:
    with pytest.raises(ConfigError, match="without features of items"):
        fit_items(*world(), SMALL).factors_of(each_kind())
    with pytest.raises(ShapeError, match="columns of items"):
        fit_items(*world(), SMALL, item_kinds()).factors_of(sparse.csr_array((1, 9)))


def test_users_without_features_or_items_are_not_trained_on() -> None:
    features, liked = world()
    nobody = sparse.csr_array((200, 4), dtype=np.float32)
    with pytest.raises(DataError, match="no point has a label"):
        fit_items(nobody, liked, SMALL)
    twice = sparse.vstack([features, nobody]).tocsr(), stacked(liked)
    one, other = fit_items(features, liked, SMALL), fit_items(*twice, SMALL)
    assert np.array_equal(one.space.points, other.space.points)


def stacked(liked: Interactions) -> Interactions:
    ptr = np.concatenate([liked.ptr, liked.ptr[1:] + liked.ptr[-1]])
    return Interactions(liked.n_items, ptr, np.tile(liked.item_ix, 2))


def test_many_users_and_items_are_bounded() -> None:
    model = fit_items(*world(), SMALL, most_users=60, most_placed=10)
    assert len(model.space.points) == 60
    assert model.item_places.any(axis=1).sum() == 10


def test_the_search_improves_settings_and_leaves_fixed_ones() -> None:
    features, liked = world(400)
    base = replace(SMALL, neighbours=1, blend=0.0, reg=100.0)
    ticks = count()
    budget = Budget(lambda: next(ticks) * 1e-3, 10.0)
    found = search_items(features, liked, base, budget, fixed=frozenset({"reg"}))
    assert found.reg == 100.0
    assert (found.neighbours, found.blend) != (1, 0.0)
    assert search_items(features, liked, base, Budget(lambda: 0.0, 0.0)) == base
    few = Budget(lambda: next(ticks) * 1e9, 1.0)
    assert search_items(features, liked, base, few) == base


def test_a_restored_snapshot_scores_the_same_bits() -> None:
    features, liked = world()
    model = fit_items(features, liked, SMALL, item_kinds())
    encoder = FeatureEncoder((Column("kind", tuple("abcd")),))
    made = of_items(
        "exmlds", model, encoder=encoder, item_encoder=encoder, settings={}, metrics={}, cuts={}
    )
    back = restored(made.manifest, {n: array_bytes(array) for n, array in made.arrays.items()})
    again = items_of(back)
    assert again.scores(features).tobytes() == model.scores(features).tobytes()
    assert np.array_equal(again.factors_of(each_kind()), model.factors_of(each_kind()))
    assert encoders_of(back) == (encoder, encoder)
    with pytest.raises(SnapshotFormat, match="fold-in"):
        objective_of(back)
    without = {name: array for name, array in made.arrays.items() if name != "item_places"}
    with pytest.raises(SnapshotFormat, match="no item vectors"):
        items_of(replace(made, arrays=without))


@pytest.mark.parametrize(
    "wrong", [{"factors": 0}, {"reg": 0.0}, {"neighbours": 0}, {"blend": -1.0}]
)
def test_settings_out_of_bounds_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        ItemsConfig(**wrong)  # type: ignore[arg-type]
