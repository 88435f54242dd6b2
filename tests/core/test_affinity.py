"""The affinity of items to a taste, beside a naive one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.affinity import DOUBT, NOTHING_SAID, Described, described
from core.kernels import affinity as kernels
from core.types import F32, F64, I32
from tests.core import reference_affinity


def some(
    seed: int, n: int = 30, d: int = 5
) -> tuple[Described, "np.typing.NDArray[np.bool_]", F64]:
    rng = np.random.default_rng(seed)
    has = rng.random((n, d)) < 0.3
    events = rng.integers(0, 9, n - 3).astype(np.float64)
    item, column = np.nonzero(has)
    return described(item, column.astype(np.int32), n, d, events), has, events


def naive(has: "np.typing.NDArray[np.bool_]", events: F64, liked: I32, weight: F32) -> F64:
    counted = np.zeros(len(has))
    counted[: events.size] = events
    said = has.any(axis=1)
    total = counted[said].sum()
    usual = (counted[:, None] * has).sum(axis=0) / total if total else np.zeros(has.shape[1])
    taste = np.zeros(has.shape[1])
    known = [(i, w) for i, w in zip(liked, weight, strict=True) if i < len(has) and said[i]]
    for c in np.flatnonzero(usual):
        own = sum(w for i, w in known if has[i, c])
        taste[c] = np.log(
            (own + DOUBT * usual[c]) / ((sum(w for _, w in known) + DOUBT) * usual[c])
        )
    return np.array([taste[row].mean() if row.any() else 0.0 for row in has])


@given(seed=st.integers(0, 10**6), n_liked=st.integers(0, 12))
def test_affinity_is_the_mean_lift_of_the_features_of_an_item(seed: int, n_liked: int) -> None:
    films, has, events = some(seed)
    rng = np.random.default_rng(seed + 1)
    # two of them are newer than everything that is described
    liked = np.sort(rng.choice(32, n_liked, replace=False)).astype(np.int32)
    weight = rng.uniform(0.5, 2.0, n_liked).astype(np.float32)
    items = np.arange(32, dtype=np.int32)
    found = films.affinity(items, films.taste(liked, weight))
    expected = np.append(naive(has, events, liked, weight), [0.0, 0.0])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_who_likes_one_kind_gets_that_kind() -> None:
    kind = np.arange(40) % 4
    shop = described(np.arange(40), kind.astype(np.int32), 40, 4, np.ones(40))
    taste = shop.taste(np.array([1, 5, 9], np.int32), np.ones(3, np.float32))
    fit = shop.affinity(np.arange(40, dtype=np.int32), taste)
    assert set(np.flatnonzero(fit == fit.max()) % 4) == {1}
    assert fit.min() < 0.0 < fit.max()


@pytest.mark.parametrize(
    "films",
    [NOTHING_SAID, described(np.empty(0, np.int64), np.empty(0, np.int32), 9, 0, np.ones(2))],
)
def test_without_descriptions_everything_fits_alike(films: Described) -> None:
    items = np.arange(12, dtype=np.int32)
    taste = films.taste(items, np.ones(12, np.float32))
    assert not films.affinity(items, taste).any()


@given(seed=st.integers(0, 10**6), n_liked=st.integers(0, 12))
def test_kernels_and_their_naive_twins_agree(seed: int, n_liked: int) -> None:
    films, _, _ = some(seed)
    rng = np.random.default_rng(seed + 1)
    liked = np.sort(rng.choice(32, n_liked, replace=False)).astype(np.int32)
    weight = rng.uniform(0.5, 2.0, n_liked).astype(np.float32)
    items = rng.integers(0, 33, 20).astype(np.int32)
    found = []
    for one in (kernels, reference_affinity):
        liking, fit = np.full(films.usual.size, 7.0, np.float32), np.full(20, 7.0, np.float32)
        own = np.zeros(films.usual.size)
        one.taste(films.ptr, films.column, films.usual, liked, weight, DOUBT, own, liking)
        one.affinity(films.ptr, films.column, liking, items, fit)
        found.append((liking, fit))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
