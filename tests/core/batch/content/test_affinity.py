"""Affinity: how much likelier than others somebody takes an item, by what is said of it."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from core.batch.content.affinity import Affinity, features_of, shares_of
from core.batch.content.affinity_fit import DOUBTS, FEWEST_NATS, SPREAD, fit_affinity
from core.batch.content.config import ContentConfig
from core.batch.content.fit import fit
from core.batch.content.snapshot import content_of, of_content
from core.interactions import Interactions, from_pairs
from core.snapshot import Snapshot
from tests.core.batch.content import affinity_by_hand as naive
from tests.core.described import N_ITEMS, bodies, body, described, fitted, likes

ITEMS = np.arange(N_ITEMS, dtype=np.int32)


def random_shares(seed: int, n: int, feature: np.ndarray) -> sparse.csr_array:
    """Return what is said of n items: of each feature nothing, or up to all columns."""
    rng = np.random.default_rng(seed)
    said = rng.random((n, feature.size)) < 0.4
    rows = np.where(said, rng.uniform(0.1, 2.0, said.shape), 0.0).astype(np.float32)
    return shares_of(sparse.csr_array(rows), feature)


def some_likes(seed: int, n_users: int, n_items: int) -> Interactions:
    taken = np.random.default_rng(seed).random((n_users, n_items)) < 0.3
    taken[0, 0] = True
    return from_pairs(*np.nonzero(taken), n_users=n_users, n_items=n_items)


@given(st.integers(0, 10_000))
def test_it_is_that_of_the_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    feature = np.repeat(np.arange(3), rng.integers(1, 4, 3)).astype(np.int32)
    shares = random_shares(seed, 9, feature)
    usual = rng.uniform(0.1, 1.0, feature.size)
    usual = (usual / np.bincount(feature, usual)[feature]).astype(np.float32)
    doubt = np.array([0.5, np.inf, 16.0], np.float32)
    liked = rng.choice(9, int(rng.integers(0, 6)), replace=False).astype(np.int32)
    found = Affinity(usual, doubt, feature).of(shares, liked, np.arange(9, dtype=np.int32))
    expected = [
        naive.affinity(usual, doubt, feature, shares.toarray(), liked.tolist(), item)
        for item in range(9)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-4)


@given(st.integers(0, 10_000), st.integers(0, 12), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_shares_are_those_of_the_formula(seed: int, n: int, filled: float) -> None:
    """Also of empty rows, of features without entries, and where entries have any order."""
    rng = np.random.default_rng(seed)
    feature = np.repeat(np.arange(5), rng.integers(0, 4, 5)).astype(np.int32)
    said = (rng.random((n, feature.size)) < filled) & (rng.random((n, 1)) < 0.7)
    said &= (rng.random(5) < 0.7)[feature]
    rows = np.where(said, rng.uniform(0.1, 2.0, said.shape), 0.0).astype(np.float32)
    stored = shuffled(sparse.csr_array(rows), rng)
    whole = rows.astype(float) @ (feature[:, None] == feature)
    expected = np.divide(rows, whole, out=np.zeros(rows.shape), where=rows > 0.0)
    found = shares_of(stored, feature)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-6)
    np.testing.assert_array_equal(stored.toarray(), rows)


def shuffled(rows: sparse.csr_array, rng: np.random.Generator) -> sparse.csr_array:
    """Return the same rows with the entries of each in any order."""
    order = np.lexsort(
        (rng.random(rows.nnz), np.repeat(range(rows.shape[0]), np.diff(rows.indptr)))
    )
    parts = rows.data[order], rows.indices[order], rows.indptr
    return sparse.csr_array(parts, shape=rows.shape)


def test_shares_take_memory_by_the_entries_and_not_by_the_features() -> None:
    n, n_features, rng = 20_000, 40, np.random.default_rng(0)
    feature = np.repeat(np.arange(n_features), 2).astype(np.int32)
    columns = rng.integers(0, feature.size, n).astype(np.int32)
    parts = np.ones(n, np.float32), columns, np.arange(n + 1, dtype=np.int32)
    rows = sparse.csr_array(parts, shape=(n, feature.size))
    tracemalloc.start()
    shares_of(rows, feature)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # a number for each item and feature would take 6.4 MB
    assert peak < 8 * sum(part.nbytes for part in parts) < n * n_features * 8 / 3


@given(st.integers(0, 10_000), st.sampled_from(DOUBTS))
def test_with_popularity_it_is_a_probability(seed: int, doubt: float) -> None:
    """Of one feature: what makes some items likelier makes the others less likely."""
    rng = np.random.default_rng(seed)
    feature = np.zeros(4, np.int32)
    shares = random_shares(seed, 12, feature)
    popular = rng.uniform(0.1, 5.0, 12)
    said = np.diff(shares.indptr) > 0
    usual = popular @ shares.toarray()
    if not said.any() or not usual.all():
        return
    tastes = Affinity(
        (usual / usual.sum()).astype(np.float32), np.array([doubt], np.float32), feature
    )
    liked = rng.choice(12, 5, replace=False).astype(np.int32)
    factor = np.exp(tastes.of(shares, liked, np.arange(12, dtype=np.int32)))
    assert popular[said] @ factor[said] == pytest.approx(popular[said].sum(), rel=1e-4)


@given(st.integers(0, 10_000))
def test_the_doubt_is_that_under_which_the_likes_are_likeliest(seed: int) -> None:
    feature = np.zeros(3, np.int32)
    shares, liked = random_shares(seed, 8, feature), some_likes(seed, 6, 8)
    made = fit_affinity(liked, shares, feature)
    rows = shares.toarray().astype(float)
    counts = rows.sum(0) + 1.0
    added = SPREAD * counts / counts.sum()
    expected = rows.T @ liked.item_counts + added
    np.testing.assert_allclose(made.usual, expected / expected.sum(), rtol=1e-5)
    of_user = {u: liked.item_ix[liked.ptr[u] : liked.ptr[u + 1]].tolist() for u in range(6)}
    gains = [naive.gain(of_user, rows, added, doubt) for doubt in DOUBTS]
    best = max(gains)
    if best > FEWEST_NATS:
        assert gains[DOUBTS.index(float(made.doubt[0]))] == pytest.approx(best, abs=1e-3)
    else:
        assert np.isinf(made.doubt[0]) or best == pytest.approx(FEWEST_NATS, abs=1e-3)


def test_what_tells_a_taste_counts_and_the_rest_does_not() -> None:
    """People like shoes or hats; who made them says nothing."""
    some = [
        {"categories": [one["categories"][0]], "features": {"maker": one["categories"][1]}}
        for one in bodies()
    ]
    model = fit(likes(), described(some), ContentConfig())
    assert model.tastes is not None
    names = model.encoder.facts.features
    doubt = dict(zip(names, model.tastes.doubt.tolist(), strict=False))
    assert doubt["categories"] < 16.0
    assert np.isinf(doubt["maker"])
    affinity = model.affinity(np.array([0, 2, 4], np.int32), ITEMS)
    assert affinity[::2].min() > 0.3 > -0.3 > affinity[1::2].max()


def test_a_few_likes_move_it_less_than_many() -> None:
    model = fitted()
    shoes = ITEMS[::2][:20]
    few, many = (model.affinity(shoes[:n], ITEMS)[::2].mean() for n in (1, 20))
    assert 0.0 < few < many


def test_an_item_of_which_nothing_is_said_has_none() -> None:
    some = bodies()
    some[4] = {}
    model = fit(likes(), described(some), ContentConfig())
    affinity = model.affinity(np.array([0, 2], np.int32), ITEMS)
    assert affinity[4] == 0.0
    assert affinity[::2].mean() > 0.0 > affinity[1::2].mean()
    np.testing.assert_allclose(model.affinity(np.array([4], np.int32), ITEMS), 0.0, atol=1e-6)
    np.testing.assert_allclose(model.affinity(np.empty(0, np.int32), ITEMS), 0.0, atol=1e-6)


def test_later_items_have_it_and_tell_it() -> None:
    model = fitted().with_items({N_ITEMS: body(0), N_ITEMS + 1: body(1)})
    later = np.array([N_ITEMS, N_ITEMS + 1, N_ITEMS + 2], np.int32)
    shoe, hat, unknown = model.affinity(np.array([0, 2], np.int32), later).tolist()
    assert shoe > 0.0 > hat
    assert unknown == 0.0
    by_later = model.affinity(later[:1], ITEMS)
    np.testing.assert_allclose(by_later, model.affinity(np.array([0], np.int32), ITEMS), atol=1e-6)
    assert fitted().affinity(later, later).tolist() == [0.0, 0.0, 0.0]


def test_of_very_many_likes_some_users_speak() -> None:
    model = fitted()
    feature = features_of(model.encoder)
    shares = shares_of(model.rows, feature)
    whole, some = (fit_affinity(likes(), shares, feature, most=most) for most in (10_000, 300))
    np.testing.assert_array_equal(some.usual, whole.usual)
    assert np.isfinite(some.doubt[0])
    none = fit_affinity(likes(), shares, feature, most=1)
    assert np.isinf(none.doubt).all()


def test_a_snapshot_keeps_it_and_one_from_before_it_opens() -> None:
    model = fitted()
    stored = of_content("content", model, settings={}, metrics={}, cuts={})
    liked = np.array([0, 2, 7], np.int32)
    again = content_of(stored)
    np.testing.assert_array_equal(again.affinity(liked, ITEMS), model.affinity(liked, ITEMS))
    arrays = {name: one for name, one in stored.arrays.items() if name not in {"usual", "doubt"}}
    old = content_of(Snapshot(stored.model, arrays, stored.parameters))
    np.testing.assert_array_equal(old.affinity(liked, ITEMS), 0.0)
    np.testing.assert_array_equal(old.places, model.places)


def test_documents_with_vectors_of_texts_alone_have_none() -> None:
    nothing = np.empty(0, np.int32)
    empty = shares_of(sparse.csr_array((8, 0), dtype=np.float32), nothing)
    made = fit_affinity(some_likes(0, 5, 8), empty, nothing)
    assert made.of(empty, np.array([1], np.int32), np.arange(8, dtype=np.int32)).tolist() == [0] * 8


def test_words_are_one_feature() -> None:
    said = [{"features": {"title": f"a red {kind}"}} for kind in ("hat", "shoe", "hat", "shoe")]
    encoder = described(said).encoder
    assert set(features_of(encoder)[encoder.facts.width :].tolist()) == {len(encoder.facts.columns)}


def test_it_comes_with_how_many_people_liked_an_item() -> None:
    model, liked = fitted(), likes()
    known = model.log_likes_of(ITEMS)
    np.testing.assert_allclose(np.expm1(known), liked.item_counts, rtol=1e-5, atol=1e-6)
    later = model.with_items({N_ITEMS: body(0)})
    both = later.log_likes_of(np.array([3, N_ITEMS], np.int32))
    np.testing.assert_allclose(both, [known[3], known.mean()], rtol=1e-6)


def test_how_many_liked_the_others_is_found_once_and_not_for_each_list() -> None:
    model, later = fitted(), np.array([N_ITEMS], np.int32)
    before = model.log_likes_of(later)
    model._log_likes[:N_ITEMS] += 1.0
    np.testing.assert_array_equal(model.log_likes_of(later), before)


def test_a_snapshot_keeps_how_many_and_one_from_before_opens() -> None:
    stored = of_content("content", fitted(), settings={}, metrics={}, cuts={})
    again = content_of(stored).log_likes_of(ITEMS)
    np.testing.assert_array_equal(again, fitted().log_likes_of(ITEMS))
    arrays = {name: one for name, one in stored.arrays.items() if name != "likes"}
    old = content_of(Snapshot(stored.model, arrays, stored.parameters))
    np.testing.assert_array_equal(old.log_likes_of(ITEMS), 0.0)
