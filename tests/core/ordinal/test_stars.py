"""Stars of pairs with features: vectors whose product is the score, new items, refusals."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from core.batch.snapshot import encoders_of
from core.errors import ConfigError, DataError, ShapeError, SnapshotFormat
from core.features import Column, FeatureEncoder
from core.ordinal.config import BLOCK, MOST_ELEMENTS, StarsConfig
from core.ordinal.fit_stars import RatedPairs, agreement, fit_stars, levels_of_ratings
from core.ordinal.metrics import mean_auc
from core.ordinal.snapshot import of_stars, stars_of
from core.ordinal.stars import Stars
from core.snapshot import array_bytes, restored
from tests.core.rated import N_ITEMS, world

SMALL = StarsConfig(labelled=150, unlabelled=40, frequencies=32)


@pytest.fixture(scope="module")
def stars() -> Stars:
    return fit_stars(*world(), SMALL)


def test_the_product_of_the_vectors_is_the_score_of_the_model(stars: Stars) -> None:
    users, items, _ = world()
    both = np.hstack([users[:40].toarray(), items[:40].toarray()]).astype(np.float64)
    expected = stars.model.scores(both)
    assert np.allclose(stars.of_pairs(users[:40], items[:40]), expected, atol=1e-4)
    assert np.allclose(np.diag(stars.scores(users[:40])), expected, atol=1e-4)


def test_features_need_not_be_0_and_1() -> None:
    users, items, rated = world()
    high = sparse.csr_array(3.0 * items.toarray() + np.array([5.0, 0.0, -1.0], np.float32))
    model = fit_stars(users, high, rated, SMALL)
    both = np.hstack([users[:40].toarray(), high[:40].toarray()]).astype(np.float64)
    assert np.allclose(model.of_pairs(users[:40], high[:40]), model.model.scores(both), atol=1e-4)


def test_wide_features_are_answered_in_little_memory(stars: Stars) -> None:
    width, rows = 200_000, 2_000
    ends = np.zeros(width)
    wide = replace(
        stars.model, low=ends, inverse_range=ends + 1.0, widths=np.full(width, 0.1), block=1
    )
    users = sparse.csr_array((np.ones(rows), (np.arange(rows), np.arange(rows))), (rows, width))
    model = Stars(wide, width, stars.values, stars.item_vectors)
    assert wide.frequencies.shape == (width, 32)
    tracemalloc.start()
    try:
        vectors = model.user_vectors(users)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.isfinite(vectors).all()
    # a dense matrix of these features would take 3.2 GB
    assert peak < 50e6


def test_items_without_ratings_are_ranked_by_their_features(stars: Stars) -> None:
    users, _, _ = world()
    new = stars.scores(users[:3])[:, -5:]
    assert ((N_ITEMS - 5 + new.argmax(axis=1)) % 3 == np.arange(3)).all()


def test_levels_of_new_pairs_are_separated(stars: Stars) -> None:
    users, items, rated = world(seed=1)
    scores = stars.of_pairs(users[rated.user_ix], items[rated.item_ix])
    assert mean_auc(scores, rated.value.astype(np.int64)) > 0.7
    levels = stars.model.levels
    assert np.allclose(levels.probabilities(scores).sum(axis=1), 1.0)
    assert stars.values.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_metrics_of_predicted_stars_cover_pairs_with_features(stars: Stars) -> None:
    users, items, rated = world(seed=1)
    found = agreement(stars, users, items, rated)
    levels, probabilities = stars.model.levels, stars.model.levels.probabilities
    scores = stars.of_pairs(users[rated.user_ix], items[rated.item_ix])
    assert stars.values.tolist() == sorted(set(rated.value.tolist()))
    assert found["accuracy"] == pytest.approx(
        (stars.values[levels.level(scores) - 1] == rated.value).mean()
    )
    assert found["mae"] == pytest.approx(
        np.abs(probabilities(scores) @ stars.values - rated.value).mean()
    )
    nobody = sparse.csr_array(users.shape, dtype=np.float32)
    assert agreement(stars, nobody, items, rated) == {}
    assert agreement(stars, users, items, rated.rows(slice(0))) == {}


def test_an_item_without_features_is_not_ranked(stars: Stars) -> None:
    users, items, rated = world()
    bare = sparse.vstack([items, sparse.csr_array((1, 3), dtype=np.float32)]).tocsr()
    found = fit_stars(users, bare, rated, SMALL).scores(users[:2])
    assert np.isneginf(found[:, -1]).all()
    assert np.isfinite(found[:, :-1]).all()


def test_many_items_get_shorter_vectors() -> None:
    config = StarsConfig(frequencies=320)
    assert config.ordinal(N_ITEMS).blocks == 10
    assert config.ordinal(MOST_ELEMENTS // (2 * BLOCK)).blocks == 1


def test_levels_are_counted_among_the_ratings_that_occur() -> None:
    level, values = levels_of_ratings(np.array([5, 4, 2, 4, 1, 5], np.float32))
    assert level.tolist() == [4, 3, 2, 3, 1, 4]
    assert values.tolist() == [1.0, 2.0, 4.0, 5.0]


def test_fine_ratings_become_a_few_levels() -> None:
    value = np.random.default_rng(0).normal(size=500).astype(np.float32)
    level, values = levels_of_ratings(value)
    assert (level.min(), level.max(), values.size) == (1, 5, 5)
    assert np.all(np.diff(values) > 0)


def test_a_restored_snapshot_scores_the_same_bits(stars: Stars) -> None:
    encoder = FeatureEncoder((Column("kind", ("a", "b", "c")),))
    made = of_stars(
        "ordinal", stars, encoder=encoder, item_encoder=encoder, settings={}, metrics={}, cuts={}
    )
    back = restored(made.manifest, {n: array_bytes(array) for n, array in made.arrays.items()})
    users, _, _ = world()
    assert np.array_equal(stars_of(back).scores(users), stars.scores(users))
    assert encoders_of(back) == (encoder, encoder)
    del (parameters := dict(made.parameters))["n_user_features"]
    with pytest.raises(SnapshotFormat, match="model of stars"):
        stars_of(type(made)(made.model, made.arrays, parameters))


def test_data_that_teach_nothing_are_refused(stars: Stars) -> None:
    users, items, rated = world()
    nobody = sparse.csr_array(users.shape, dtype=np.float32)
    with pytest.raises(DataError, match="send both"):
        fit_stars(nobody, items, rated, SMALL)
    same = RatedPairs(rated.user_ix, rated.item_ix, np.full_like(rated.value, 3.0))
    with pytest.raises(DataError, match="the same level"):
        fit_stars(users, items, same, SMALL)
    with pytest.raises(ShapeError, match="the model needs 3"):
        stars.user_vectors(sparse.csr_array((1, 4)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("frequencies", 0),
        ("frequencies", 1_000_000),
        ("labelled", 1),
        ("unlabelled", 0),
        ("seed", -1),
    ],
)
def test_settings_out_of_bounds_are_refused(name: str, value: int) -> None:
    with pytest.raises(ConfigError, match=f"{name} must be"):
        StarsConfig(**{name: value})
