"""The autoregression against naive twins, on histories with repeats, empty ones and odd weights."""

import numpy as np
import pytest

from core.batch.autoregression.config import AutoregressionConfig
from core.batch.autoregression.fit import dense_moments, fit
from core.batch.autoregression.model import Dense, Sparse
from core.batch.autoregression.search import hold_last, search
from core.batch.autoregression.snapshot import autoregression_of, of_autoregression
from core.batch.autoregression.windows import latest_rows, rows_of
from core.errors import ConfigError, DataError, SnapshotFormat
from core.kernels import autoregression as kernels
from core.search.search import Budget
from core.snapshot import Snapshot, blob, mapped
from core.steps import Steps, latest, steps_of
from tests.core import reference_autoregression as naive

N = 12
CONFIG = AutoregressionConfig(items=4, fade=0.6, back=0.2, reg=0.3, nu=0.4, popularity=0.2)
SETTINGS = ("items", "fade", "ahead", "back", "reg", "nu", "popularity")
ABOUT = {"settings": {}, "metrics": {}, "cuts": {}}


def histories(seed: int = 0, n_users: int = 40) -> Steps:
    """Users walk round a circle of items, with leaps; some have no step or only one."""
    rng = np.random.default_rng(seed)
    users, items = [], []
    for user in range(n_users):
        place = rng.integers(N - 1)
        for _ in range(user % 9):
            users.append(user)
            items.append(place)
            place = (place + 1) % (N - 1) if rng.random() < 0.8 else rng.integers(N - 1)
    weight = rng.choice([0.5, 1.0, 3.0], len(users))
    return steps_of(users, items, n_users=n_users, n_items=N, weight=weight)


def lists(steps: Steps) -> list[list[tuple[int, float]]]:
    ends = zip(steps.user_ptr[:-1], steps.user_ptr[1:], strict=True)
    rows = [slice(a, b) for a, b in ends]
    return [list(zip(steps.item_ix[r].tolist(), steps.weight[r], strict=True)) for r in rows]


def test_the_exact_fit_is_that_of_a_dense_regression():
    settings = {name: getattr(CONFIG, name) for name in SETTINGS}
    wanted = naive.fit(lists(histories()), N, **settings)
    found = fit(histories(), CONFIG).coefficients
    assert isinstance(found, Dense)
    np.testing.assert_allclose(found.values, wanted, atol=2e-5)


def test_with_all_sources_the_sparse_fit_keeps_to_items_that_came_before():
    config = AutoregressionConfig(**{**vars(CONFIG), "exact_up_to": 0})
    moments = dense_moments(histories(), CONFIG)
    found = fit(histories(), config).coefficients
    assert isinstance(found, Sparse)
    values = found.matrix.toarray()
    assert ((values != 0) <= (moments.cross > 0)).all()
    exact = fit(histories(), CONFIG).coefficients.values
    whole = (moments.cross > 0).sum(0) == (np.diag(moments.gram) > 0).sum()
    assert whole.any(), "some target needs a full support"
    np.testing.assert_allclose(values[:, whole], exact[:, whole], atol=2e-5)


def test_few_sources_keep_the_most_frequent_ones():
    config = AutoregressionConfig(**{**vars(CONFIG), "exact_up_to": 0, "sources": 2})
    values = fit(histories(), config).coefficients.matrix.toarray()
    cross = dense_moments(histories(), CONFIG).cross
    for target in range(N - 1):
        kept = np.flatnonzero(values[:, target])
        assert kept.size == 2
        assert cross[kept, target].min() >= np.sort(cross[:, target])[-2]


def test_much_regularisation_leaves_the_counts_of_what_follows():
    config = AutoregressionConfig(reg=1e6, nu=1.0, back=0.0, popularity=0.0)
    moments = dense_moments(histories(), config)
    own = np.diag(moments.gram)
    counts = moments.cross * own[own > 0].mean() / (own[:, None] + 1.0)
    values = fit(histories(), config).coefficients.values
    np.testing.assert_allclose(values * 1e6, counts, rtol=1e-3, atol=1e-3)


def test_windows_are_those_of_the_twin():
    steps = histories(3)
    at = np.arange(steps.item_ix.size)
    first = steps.user_ptr[steps.user_ix]
    weight = np.array([1.0, 0.5, 0.25], np.float32)
    found = np.zeros(at.size + 1, np.int64), np.zeros(at.size * 3, np.int32), np.zeros(at.size * 3)
    twin = tuple(array.copy() for array in found)
    kernels.windows(first, at, steps.item_ix, weight, found[0], found[1], found[2])
    naive.windows(first, at, steps.item_ix, weight, *twin)
    for one, other in zip(found, twin, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_products_and_supports_are_those_of_the_twins():
    [rows] = rows_of(histories(), CONFIG)
    arrays = [(m.indptr.astype("i8"), m.indices.astype("i4"), m.data) for m in (rows.x, rows.y)]
    found, twin = np.zeros((2, 2, N, N), np.float32)
    kernels.add_products(*arrays[0], *arrays[1], *found)
    naive.add_products(*arrays[0], *arrays[1], *twin)
    np.testing.assert_allclose(found, twin, atol=1e-4)
    cross, gram = (rows.x.T @ rows.y).T.tocsr(), (rows.x.T @ rows.x).tocsr()
    given = []
    for matrix in (cross, gram):
        matrix.sort_indices()
        given += [matrix.indptr.astype("i8"), matrix.indices.astype("i4"), matrix.data]
    reg = np.linspace(1, 2, N).astype(np.float32)
    found, twin = np.zeros((2, cross.nnz), np.float32)
    kernels.solve_on_support(*given, reg, found)
    naive.solve_on_support(*given, reg, twin)
    np.testing.assert_allclose(found, twin, atol=1e-5)


def test_rows_come_in_parts_without_loss():
    parts = list(rows_of(histories(), CONFIG, at_once=7))
    [whole] = rows_of(histories(), CONFIG)
    assert len(parts) > 10
    stacked = np.concatenate([part.x.toarray() for part in parts])
    np.testing.assert_array_equal(stacked, whole.x.toarray())
    stacked = np.concatenate([part.y.toarray() for part in parts])
    np.testing.assert_array_equal(stacked, whole.y.toarray())


@pytest.mark.parametrize("exact_up_to", [0, 100])
def test_served_rows_and_parts_are_those_of_the_fit(exact_up_to):
    steps = histories()
    model = fit(steps, AutoregressionConfig(**{**vars(CONFIG), "exact_up_to": exact_up_to}))
    b = model.coefficients
    dense = b.values if isinstance(b, Dense) else b.matrix.toarray()
    for user in (8, 17, 26):
        own = steps.user_ptr[user : user + 1], steps.user_ptr[user + 1 : user + 2]
        wanted = (latest_rows(steps, *own, CONFIG) @ dense).ravel()
        scores = model.scores(steps.latest(user))
        np.testing.assert_allclose(np.where(np.isneginf(scores), 0, scores), wanted, atol=1e-5)
        items, parts = model.parts(steps.latest(user), np.arange(N, dtype=np.int32))
        assert items.tolist() == steps.latest(user)[:4].tolist()
        np.testing.assert_allclose(parts.sum(0), wanted, atol=1e-5)


def test_items_after_the_fit_change_nothing():
    model = fit(histories(), CONFIG)
    items, weight = model.row(np.array([N + 3, 2, 5], np.int32))
    assert items.tolist() == [2, 5]
    np.testing.assert_allclose(weight[1] / weight[0], 2**-CONFIG.fade, rtol=1e-5)
    assert not model.knows(np.array([N + 3], np.int32))
    assert np.isneginf(model.scores(np.array([N + 3], np.int32))).all()


def test_the_next_on_the_circle_is_first_and_an_item_nobody_took_is_not_listed():
    model = fit(histories(n_users=400), CONFIG)
    for place in range(N - 2):
        scores = model.scores(np.array([place], np.int32))
        assert int(np.argmax(scores)) == place + 1
        assert np.isneginf(scores[N - 1])


@pytest.mark.parametrize("exact_up_to", [0, 100])
def test_the_search_finds_the_order_and_keeps_stated_settings(exact_up_to):
    steps = histories(n_users=300)
    base = AutoregressionConfig(items=3, reg=50.0, exact_up_to=exact_up_to)
    ticks = iter(range(10_000))
    budget = Budget(lambda: float(next(ticks)), 60.0)
    found = search(steps, base, budget, fixed=frozenset({"items", "back"}))
    assert (found.items, found.back) == (base.items, base.back)
    assert found != base
    start = search(steps, base, Budget(lambda: 0.0, 0.0))
    assert (start == base) == bool(exact_up_to)


def test_the_search_does_not_learn_the_steps_that_it_holds_out():
    steps = histories()
    held = hold_last(steps, 100, np.random.default_rng(0))
    users = np.flatnonzero(np.diff(steps.user_ptr) > 2)
    assert held.target.tolist() == [int(steps.of(user)[-1]) for user in users]
    assert [held.known.of(user).tolist() for user in users] == [
        steps.of(user)[:-1].tolist() for user in users
    ]
    others = np.flatnonzero(np.diff(steps.user_ptr) < 3)
    assert all(held.known.of(user).size == steps.of(user).size for user in others)


@pytest.mark.parametrize("exact_up_to", [0, 100])
def test_a_snapshot_gives_the_same_scores(exact_up_to):
    model = fit(histories(), AutoregressionConfig(**{**vars(CONFIG), "exact_up_to": exact_up_to}))
    snapshot = of_autoregression("sequence", model, **ABOUT)
    again = autoregression_of(mapped(snapshot.manifest, b"".join(blob(snapshot))))
    mine = latest(np.array([1, 2, 3]))
    assert again.scores(mine).tobytes() == model.scores(mine).tobytes()
    with pytest.raises(SnapshotFormat):
        autoregression_of(Snapshot("other", {"item_factors": np.ones((2, 2), np.float32)}))


def test_bad_input_is_refused():
    for bad in ({"items": 0}, {"items": 31}, {"reg": 0.0}, {"fade": -1.0}, {"back": 2.0}):
        with pytest.raises(ConfigError):
            AutoregressionConfig(**bad)
    with pytest.raises(ConfigError):
        AutoregressionConfig(exact_up_to=1_000_000)
    alone = steps_of([0, 1, 2], [0, 1, 2], n_users=3, n_items=3)
    with pytest.raises(DataError, match="two events"):
        fit(alone, CONFIG)
    nothing = steps_of([], [], n_users=0, n_items=0)
    with pytest.raises(DataError):
        fit(nothing, CONFIG)
    for wrong in (0.0, np.nan):
        with pytest.raises(DataError, match="weights"):
            fit(steps_of([0, 0], [0, 1], n_users=1, n_items=2, weight=[1.0, wrong]), CONFIG)
