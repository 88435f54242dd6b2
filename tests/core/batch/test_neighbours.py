"""Neighbours of items: equal to dense twins, on histories with dislikes and bad input too."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from core.batch.neighbours.config import RECIPES, NeighboursConfig
from core.batch.neighbours.exact import MOST_ITEMS, Regression
from core.batch.neighbours.fit import MOST_KEPT, fit, kept_of
from core.batch.neighbours.graph import graph
from core.batch.neighbours.model import Neighbours
from core.batch.neighbours.search import search
from core.batch.neighbours.snapshot import neighbours_of, of_neighbours
from core.batch.neighbours.spectrum import FEWEST, singular_vectors
from core.batch.neighbours.trials import Split, most_factors, splits_of
from core.errors import ConfigError, DataError, ShapeError, SnapshotFormat
from core.interactions import from_pairs
from core.kernels import neighbours as kernels
from core.search.search import Budget
from core.snapshot import blob, mapped
from tests.core import ranking
from tests.core import reference_neighbours as reference

EVERY = 1_000
GRAPH = NeighboursConfig(factors=3, neighbours=EVERY)
ABOUT = {"settings": {}, "metrics": {}, "cuts": {}}


def dense(model):
    found = np.zeros((model.n_items, model.n_items))
    for item in range(model.n_items):
        np.add.at(found[item], model.neighbour[item], model.strength[item])
    return found


def draw(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


# --- kernels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 4, 9, 20])
def test_the_strongest_are_kept_in_the_order_of_their_numbers(k):
    strengths = draw((7, 9))
    # ties, zeros, and a row of nothing
    strengths[1], strengths[2, ::2], strengths[3] = 2.0, 0.0, 0.0
    results = []
    for write in (kernels.strongest, reference.strongest):
        made = np.full((7, k), 5, np.int32), np.full((7, k), 5.0, np.float32)
        write(strengths, *made)
        results.append(made)
    for ours, theirs in zip(*results, strict=True):
        assert ours.tolist() == theirs.tolist()


def test_rows_are_added_as_the_twin_adds_them():
    neighbour = np.array([[0, 1], [0, 2], [1, 2]], np.int32)
    arguments = np.array([2, 0], np.int32), draw(2), neighbour, draw((3, 2), 1)
    ours, theirs = np.zeros(3, np.float32), np.zeros(3, np.float32)
    kernels.add_rows(*arguments, ours)
    reference.add_rows(*arguments, theirs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


# --- fits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "more", [{}, {"share": 0.0}, {"fade": 0.0}, {"user_exponent": 0.2, "item_exponent": 0.7}]
)
def test_the_graph_is_its_dense_twin(weighted, more):
    pairs, config = ranking.tiny(weighted=weighted), replace(GRAPH, **more)
    np.testing.assert_allclose(dense(fit(pairs, config)), reference.graph(pairs, config), atol=1e-6)


def test_singular_vectors_of_a_large_matrix_are_those_of_the_dense_one():
    n = FEWEST + 60
    pairs = ranking.tribes(users=n, items=n)
    config = replace(GRAPH, factors=4)
    made, wanted = graph(pairs, config), reference.graph(pairs, config)
    assert made.outward.shape == (n, 4)
    np.testing.assert_allclose(
        np.concatenate([b.copy() for b in made.strengths(config.share, config.fade)]),
        wanted,
        atol=1e-5,
    )


def test_a_wide_space_holds_most_of_what_the_first_singular_vectors_hold():
    rng = np.random.default_rng(3)
    n, wanted = 3 * FEWEST, FEWEST // 2
    matrix = sparse.random_array((n + 90, n), density=0.01, rng=rng, dtype=np.float32).tocsr()
    exact = np.linalg.svd(matrix.toarray(), compute_uv=False)[:wanted]
    for turned in (matrix, matrix.T.tocsr()):
        values, vectors = singular_vectors(turned, wanted, seed=0)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(wanted), atol=1e-4)
        energy = np.square(turned @ vectors).sum()
        assert 0.9 < energy / np.square(exact).sum() < 1.0 + 1e-5
        np.testing.assert_allclose(np.square(values).sum(), energy, rtol=1e-2)
        assert values[0] == pytest.approx(exact[0], rel=1e-4)


def test_singular_vectors_end_at_the_rank():
    one = np.zeros((FEWEST + 50, FEWEST + 90), np.float32)
    one[:, 3], one[:7, 5] = 1.0, 2.0
    for matrix in (one, one.T, np.zeros_like(one)):
        values, vectors = singular_vectors(sparse.csr_array(matrix), 10, seed=0)
        rank = np.linalg.matrix_rank(matrix)
        assert (values.size, vectors.shape) == (rank, (matrix.shape[1], rank))
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(rank), atol=1e-5)


def test_trials_of_other_shares_fades_and_factors_use_the_same_walks():
    trials = Split(ranking.tribes(), np.random.default_rng(0))
    wide = replace(GRAPH, factors=9)
    for config in (wide, replace(wide, fade=0.0), GRAPH, replace(wide, share=0.0), wide):
        fresh = Split(ranking.tribes(), np.random.default_rng(0))
        assert trials.score(config) == pytest.approx(fresh.score(config))


def test_what_a_fit_may_cost_bounds_the_factors():
    few, many = (from_pairs([0], [0], n_users=10**6, n_items=n) for n in (900, 10**5))
    assert most_factors(few) == few.n_items // 2
    assert most_factors(many) == 250


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reg", [0.2, 5.0])
@pytest.mark.parametrize("exponents", [(0.0, 0.0), (0.4, 0.2)])
def test_the_exact_regression_is_one_regression_for_each_item(weighted, reg, exponents):
    pairs = ranking.tiny(weighted=weighted)
    config = NeighboursConfig(reg, *exponents)
    found = dense(fit(pairs, config))
    own = np.diag(found).copy()
    np.fill_diagonal(found, 0.0)
    np.testing.assert_allclose(found, reference.exact(pairs, config), atol=1e-6)
    known = pairs.liked.item_counts > 0
    assert (own[known] > 0.0).all()
    assert (own < 1.0).all()


def test_only_the_strongest_neighbours_are_kept():
    pairs = ranking.tribes()
    whole, some = (fit(pairs, replace(GRAPH, neighbours=k)) for k in (EVERY, 5))
    assert some.neighbour.shape == (pairs.n_items, 5)
    for few, all_of_them in zip(dense(some), dense(whole), strict=True):
        kept = np.flatnonzero(few)
        assert few[kept].tolist() == all_of_them[kept].tolist()
        assert np.abs(few[kept]).min() >= np.sort(np.abs(all_of_them))[-5]


def test_dense_rows_say_what_the_neighbours_say():
    pairs = ranking.tribes()
    k = pairs.n_items // 2
    sparse_model = fit(pairs, replace(GRAPH, neighbours=k - 1))
    assert (sparse_model.of_dense, sparse_model.strength.shape[1]) == (None, k - 1)
    some = fit(pairs, replace(GRAPH, neighbours=k + 1))
    assert (some.of_dense, some.strength.shape) == (k + 1, (pairs.n_items, pairs.n_items))
    whole = fit(pairs, GRAPH)
    for row, every in zip(some.strength, whole.strength, strict=True):
        kept = np.flatnonzero(row)
        assert kept.size <= k + 1
        assert row[kept].tolist() == every[kept].tolist()
    # the same strengths in both forms
    neighbour = np.argsort(-np.abs(some.strength), axis=1, kind="stable")[:, : k + 1]
    neighbour = np.sort(neighbour, axis=1).astype(np.int32)
    strength = np.take_along_axis(some.strength, neighbour, axis=1)
    rows = Neighbours(neighbour, strength, some.joining)
    again = rows.smaller()
    assert again.strength.tobytes() == some.strength.tobytes()
    assert rows.weakest.tolist() == some.weakest.tolist()
    assert rows.diagonal.tolist() == some.diagonal.tolist()
    assert rows.learned.tolist() == some.learned.tolist()
    items, weight = np.array([3, 8, 21], np.int32), np.array([1.0, 0.5, 2.0], np.float32)
    target = np.array([1, 0, 1], np.float32)
    own = items, weight, target
    np.testing.assert_allclose(some.scores(*own), rows.scores(*own), rtol=1e-5, atol=1e-7)
    every = np.arange(pairs.n_items, dtype=np.int32)
    np.testing.assert_array_equal(some.contributions(*own, every), rows.contributions(*own, every))
    assert some.similar(3).tolist() == rows.similar(3).tolist()


def test_what_is_kept_is_bounded_in_all():
    for n_items in (1, 100, 50_000, 1_000_000, 100_000_000):
        assert 1 <= kept_of(n_items, EVERY) <= min(n_items, EVERY)
        assert n_items * kept_of(n_items, EVERY) <= max(MOST_KEPT, n_items)


def test_a_training_does_not_read_dislikes():
    pairs = ranking.tiny(weighted=True)
    for config in (GRAPH, NeighboursConfig(reg=2.0)):
        assert fit(pairs, config).strength.tobytes() == fit(pairs.liked, config).strength.tobytes()


# --- histories ------------------------------------------------------------------------------------


def test_scores_are_sums_of_what_each_item_contributes():
    model = fit(ranking.tribes(), GRAPH)
    items = np.array([3, 8, 21], np.int32)
    weight, target = np.array([1.0, 0.5, 2.0], np.float32), np.array([1, 0, 1], np.float32)
    scores = model.scores(items, weight, target)
    found = model.contributions(items, weight, target, np.arange(model.n_items, dtype=np.int32))
    reached = np.isfinite(scores)
    np.testing.assert_allclose(found.sum(axis=1)[reached], scores[reached], atol=1e-6)
    amounts = np.array([1.0, 0.0, 2.0])
    np.testing.assert_allclose(found, dense(model)[items].T * amounts, atol=1e-6)


def test_several_histories_are_scored_as_each_alone():
    pairs = ranking.tiny(weighted=True)
    model = fit(pairs, GRAPH)
    together = model.scores_of(pairs)
    for user, scores in enumerate(together):
        row = pairs.rows(np.array([user]))
        assert row.weight is not None
        alone = model.scores(row.item_ix, row.weight, row.target)
        assert scores.tobytes() == alone.tobytes()
    assert np.isneginf(together[0]).all()


def test_who_likes_nothing_known_is_not_known():
    model = fit(ranking.tiny(), GRAPH)
    one, item_0 = np.ones(1, np.float32), np.zeros(1, np.int32)
    assert not model.knows(item_0)
    assert not model.knows(np.array([model.n_items], np.int32))
    assert not model.knows(np.empty(0, np.int32))
    assert model.knows(np.array([1], np.int32))
    assert model.knows(np.array([1], np.int32), one)
    assert not model.knows(np.array([1], np.int32), 0.0 * one)


def test_similar_items_are_of_the_same_tribe_and_never_the_item_itself():
    model = fit(ranking.tribes(), GRAPH)
    for item in (0, 1, 2, 3):
        near = model.similar(item)
        assert np.isneginf(near[item])
        assert (np.argsort(-near)[:5] % 4 == item % 4).all()


# --- search, snapshot, bad input ------------------------------------------------------------------


def budget(seconds):
    return Budget(iter(np.arange(0.0, 1e6, 0.25)).__next__, seconds)


def test_without_a_budget_the_settings_are_rough():
    pairs = ranking.tribes()
    found = search(pairs, NeighboursConfig(), budget(0.0))
    assert found.exact
    found = search(pairs, NeighboursConfig(), budget(0.0), fixed=frozenset({"reg"}))
    assert not found.exact


def test_a_search_finds_settings_that_are_no_worse_than_the_rough_ones():
    pairs = ranking.tribes()
    shares = []
    rough, found = (
        search(pairs, NeighboursConfig(), replace(budget(s), on_share=shares.append))
        for s in (0.0, 300.0)
    )
    best, first = (sum(one.score(c) for one in splits_of(pairs, 0)) for c in (found, rough))
    assert best >= first > 0.0
    assert found != rough
    assert shares == sorted(shares)


def test_the_same_search_finds_the_same():
    pairs = ranking.tribes()
    one, other = (search(pairs, NeighboursConfig(), budget(60.0)) for _ in range(2))
    assert one == other


def test_stated_settings_stay():
    stated = NeighboursConfig(reg=7.0, share=0.7)
    found = search(ranking.tribes(), stated, budget(60.0), fixed=frozenset({"reg", "share"}))
    assert (found.reg, found.share) == (7.0, 0.7)
    found = search(ranking.tribes(), NeighboursConfig(), budget(60.0), fixed=frozenset({"reg"}))
    assert not found.exact


def test_a_trial_ranks_as_the_fitted_model_does():
    pairs = ranking.tribes()
    trials = Split(pairs, np.random.default_rng(0))
    for config in (GRAPH, NeighboursConfig(reg=20.0)):
        model = fit(trials.known, replace(config, neighbours=EVERY))
        scores = model.scores_of(trials.seen)
        assert trials.score(config) == pytest.approx(trials.score_of(lambda at, s=scores: s[at]))


@pytest.mark.parametrize("k", [EVERY, 5])
def test_a_snapshot_restores_the_same_bits(k):
    made = fit(ranking.tribes(), replace(GRAPH, neighbours=k))
    snapshot = of_neighbours("neighbours", made, **ABOUT)
    again = neighbours_of(mapped(snapshot.manifest, b"".join(blob(snapshot))))
    items = np.array([1, 9], np.int32)
    assert again.scores(items).tobytes() == made.scores(items).tobytes()


def test_a_snapshot_of_something_else_is_refused():
    made = of_neighbours("neighbours", fit(ranking.tiny(), replace(GRAPH, neighbours=1)), **ABOUT)
    far = {**made.arrays, "neighbour": made.arrays["neighbour"] + np.int32(1)}
    for wrong in (
        replace(made, arrays={"strength": made.arrays["strength"]}),
        replace(made, arrays=far),
    ):
        with pytest.raises(SnapshotFormat, match="neighbours of items"):
            neighbours_of(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"reg": -1.0},
        {"reg": float("nan")},
        {"share": -0.1},
        {"fade": -0.1},
        {"factors": 0},
        {"neighbours": 0},
        {"neighbours": 2.5},
        {"user_exponent": 1.5},
        {"share": float("inf")},
    ],
)
def test_settings_out_of_bounds_are_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        RECIPES[0].config(wrong)


def test_pairs_that_teach_nothing_are_refused():
    nothing = from_pairs(np.empty(0, np.int64), np.empty(0, np.int64), n_users=3, n_items=3)
    hated = from_pairs(np.array([0, 1]), np.array([0, 1]), target=np.zeros(2))
    for pairs in (nothing, hated):
        for config in (GRAPH, NeighboursConfig(reg=1.0)):
            with pytest.raises(DataError, match="learn"):
                fit(pairs, config)
    with pytest.raises(DataError, match="fewer than 10 users"):
        search(hated, NeighboursConfig(), budget(60.0))


def test_an_exact_regression_of_too_many_items_is_refused():
    items = np.arange(MOST_ITEMS + 1)
    with pytest.raises(ConfigError, match="reg 0"):
        Regression(from_pairs(np.zeros_like(items), items), NeighboursConfig())
    assert not search(from_pairs(items % 50, items), NeighboursConfig(), budget(0.0)).exact


def test_arrays_of_no_model_are_refused():
    for neighbour, strength in (
        (np.zeros((2, 3), np.int32), np.zeros((2, 2), np.float32)),
        (np.full((2, 1), 2, np.int32), np.ones((2, 1), np.float32)),
        (np.full((2, 1), -1, np.int32), np.ones((2, 1), np.float32)),
    ):
        with pytest.raises(ShapeError):
            Neighbours(neighbour, strength)
