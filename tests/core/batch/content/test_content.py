"""Content: places of items by what is said of them, in the space of a model."""

import numpy as np
import pytest
from scipy import sparse

from core.batch.content.config import ContentConfig
from core.batch.content.fit import fit
from core.batch.content.places import DOUBT, FEWEST, place
from core.batch.content.snapshot import content_of, of_content
from core.batch.feature_map import FeatureMap
from core.errors import DataError, ShapeError, SnapshotFormat
from core.interactions import Interactions
from core.snapshot import blob, mapped
from tests.core.described import N_ITEMS, N_NEW, bodies, body, described, fitted, likes

NEW = np.arange(N_ITEMS - N_NEW, N_ITEMS)


def auc(score: np.ndarray, good: np.ndarray) -> float:
    """Return the share of pairs of a good and another one that are in the right order."""
    return float(np.mean(score[good][:, None] > score[~good][None, :]))


def test_new_items_are_ranked_for_those_who_like_their_kind() -> None:
    model, pairs = fitted(), likes()
    users = model.row.vectors(pairs)
    shoes = NEW % 2 == 0
    for taste in (0, 1):
        score = np.mean([model.scores(user)[NEW] for user in users[taste::2]], axis=0)
        assert auc(score, shoes == (taste == 0)) == 1.0


def test_the_weights_solve_the_ridge_regression_of_the_formula() -> None:
    rng = np.random.default_rng(3)
    rows = sparse.csr_array((rng.random((30, 4)) < 0.5).astype(np.float32))
    vectors, evidence = rng.normal(size=(30, 3)).astype(np.float32), rng.integers(0, 9, 30) * 1.0
    made = place(rows, vectors, evidence, ridge=2.0)
    x = FeatureMap().transform(rows).toarray().astype(np.float64)
    weight = evidence / (evidence + DOUBT)
    weight[np.diff(rows.indptr) == 0] = 0.0
    gram = sum(w * np.outer(one, one) for w, one in zip(weight, x, strict=True))
    right = sum(
        w * np.outer(one, q) for w, one, q in zip(weight, x, vectors.astype(float), strict=True)
    )
    expected = np.linalg.solve(gram + 2.0 * np.eye(5), right)
    np.testing.assert_allclose(made.map.weights, expected, atol=1e-5)


def test_no_item_speaks_for_its_own_place() -> None:
    """An item whose vector is far off moves the places of the others, and not its own."""
    rng = np.random.default_rng(4)
    rows = sparse.csr_array(np.eye(4, dtype=np.float32)[rng.integers(0, 4, 40)])
    vectors, evidence = rng.normal(size=(40, 2)).astype(np.float32), np.full(40, 50.0)
    before = place(rows, vectors, evidence, ridge=1.0)
    vectors[7] += 100.0
    after = place(rows, vectors, evidence, ridge=1.0)
    np.testing.assert_allclose(after.places[7], before.places[7], atol=1e-4)
    alike = np.flatnonzero((rows.toarray() == rows.toarray()[7]).all(axis=1))
    moved = np.abs(after.places - before.places).max(axis=1) > 0.1
    assert 0 < moved[alike].sum() < alike.size


def test_the_strength_follows_what_documents_tell() -> None:
    rng = np.random.default_rng(5)
    kinds = np.eye(4, dtype=np.float32)[rng.integers(0, 4, 200)]
    rows, evidence = sparse.csr_array(kinds), np.full(200, 50.0)
    telling = (kinds @ rng.normal(size=(4, 3))).astype(np.float32)
    noise = rng.normal(size=(200, 3)).astype(np.float32)
    assert place(rows, telling, evidence).ridge < place(rows, noise, evidence).ridge


def test_items_of_which_nothing_is_said_have_no_place() -> None:
    some = bodies()
    some[4] = {}
    some[9] = {"features": {"price": "a wrong kind"}}
    model = fit(likes(), described(some), ContentConfig())
    assert np.flatnonzero(~model.placed).tolist() == [4, 9]
    scores = model.scores(model.row.vectors(likes())[0])
    assert np.flatnonzero(np.isinf(scores)).tolist() == [4, 9]
    assert np.isinf(model.likeness(2)[[4, 9]]).all()


def test_what_is_like_an_item_is_of_its_kind() -> None:
    model = fitted()
    for item in NEW.tolist():
        likeness = model.likeness(item)
        likeness[item] = -np.inf
        assert all(other % 2 == item % 2 for other in np.argsort(-likeness)[:5])
    known = np.arange(N_ITEMS) < 40
    alike = model.alike(NEW.astype(np.int32), known, 7)
    assert alike.shape == (N_NEW, 7)
    assert (alike % 2 == NEW[:, None] % 2).all()
    assert (alike < 40).all()
    few = model.alike(NEW.astype(np.int32), np.arange(N_ITEMS) < 3, 7)
    assert (few[:, :3] >= 0).all()
    assert (few[:, 3:] == -1).all()


def test_a_document_places_an_item_as_the_training_would() -> None:
    model = fitted()
    later = model.with_items({N_ITEMS: body(2), N_ITEMS + 1: {}, N_ITEMS + 2: body(3)})
    assert later.n_items == N_ITEMS + 3
    assert later.placed[N_ITEMS:].tolist() == [True, False, True]
    np.testing.assert_array_equal(later.places[:N_ITEMS], model.places)
    # it is where an item is that came with the training, and that nobody took either
    same = model.with_items({N_ITEMS: body(int(NEW[0]))})
    np.testing.assert_allclose(same.places[N_ITEMS], model.places[NEW[0]], rtol=1e-5)
    assert later.likeness(N_ITEMS)[2] > later.likeness(N_ITEMS)[3]


def test_a_history_of_new_items_alone_tells_a_taste() -> None:
    model = fitted().with_items({N_ITEMS: body(0), N_ITEMS + 1: body(1)})
    for item in (N_ITEMS, N_ITEMS + 1):
        assert model.row.knows(np.array([item], np.int32))
        scores = model.scores(model.row.vector(np.array([item], np.int32)))
        assert auc(scores[:N_ITEMS], np.arange(N_ITEMS) % 2 == item % 2) > 0.95


def test_a_catalogue_of_numbers_alone_is_enough() -> None:
    some = [{"features": {"price": one["features"]["price"]}} for one in bodies()]
    model = fit(likes(), described(some), ContentConfig())
    users = model.row.vectors(likes())
    for taste in (0, 1):
        score = np.mean([model.scores(user) for user in users[taste::2]], axis=0)
        assert auc(score[NEW], taste == NEW % 2) > 0.85


def test_few_items_are_enough() -> None:
    pairs = likes()
    small = pairs.keep(pairs.item_ix < 6)
    few = Interactions(6, small.ptr, small.item_ix)
    model = fit(few, described(bodies()[:6]), ContentConfig())
    assert FEWEST > 6
    assert np.isfinite(model.places).all()


def test_a_snapshot_gives_the_same_model() -> None:
    model = fitted()
    stored = of_content("content", model, settings={}, metrics={}, cuts={})
    again = content_of(mapped(stored.manifest, b"".join(blob(stored))))
    np.testing.assert_array_equal(again.places, model.places)
    np.testing.assert_allclose(again.likeness(3), model.likeness(3), rtol=1e-5)
    more = {N_ITEMS: body(4)}
    np.testing.assert_array_equal(again.with_items(more).places, model.with_items(more).places)
    with pytest.raises(SnapshotFormat, match="not of content"):
        content_of(
            type(stored)("content", {**stored.arrays}, {**stored.parameters, "documents": 3})
        )


def test_what_does_not_fit_together_is_refused() -> None:
    some = described(bodies())
    few, nothing = (
        Interactions(n, np.zeros(2, np.int64), np.empty(0, np.int32)) for n in (3, N_ITEMS)
    )
    with pytest.raises(ShapeError, match="60 documents for 3 items"):
        fit(few, some, ContentConfig())
    with pytest.raises(DataError, match="no likes"):
        fit(nothing, some, ContentConfig())
    with pytest.raises(ShapeError, match="columns"):
        fitted().map.places(some.rows[:, :2])
