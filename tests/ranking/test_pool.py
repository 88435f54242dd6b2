"""The best items of a pool equal a plain sort: ties by number, items without scores left out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from service.ranking.pool import Pool, chosen, nearest


@given(seed=st.integers(0, 10**6), n=st.integers(0, 40), k=st.integers(1, 50), listed=st.booleans())
def test_the_best_items_are_those_of_a_plain_sort(seed: int, n: int, k: int, listed: bool) -> None:
    rng = np.random.default_rng(seed)
    everything = n + 3
    # few different values: many ties
    scores = rng.integers(0, 4, n).astype(np.float32)
    scores[rng.random(n) < 0.2] = -np.inf
    allowed = rng.random(everything) < 0.7
    excluded = np.unique(rng.integers(0, everything, 4)).astype(np.int32)
    candidates = np.flatnonzero(rng.random(everything) < 0.6).astype(np.int32) if listed else None
    pool = Pool(allowed, excluded, candidates)

    items, found = chosen(scores, pool, k)

    may = set(range(n)) if candidates is None else set(candidates.tolist())
    may &= set(np.flatnonzero(allowed).tolist()) - set(excluded.tolist())
    assert pool.size == len(may | set(range(n, everything)) & _free(pool))
    told = [item for item in may if item < n and np.isfinite(scores[item])]
    assert items.tolist() == sorted(told, key=lambda item: (-scores[item], item))[:k]
    assert found.tolist() == scores[items].tolist()


def _free(pool: Pool) -> set[int]:
    """Return the items that may be shown of a pool, by its own definition."""
    own = np.arange(pool.allowed.size) if pool.candidates is None else pool.candidates
    return {int(item) for item in own if pool.allowed[item] and item not in pool.excluded}


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40))
def test_equal_products_are_in_the_order_of_item_numbers(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    # small whole numbers: products are exact, and many are equal
    vectors = rng.integers(-1, 2, (n, 3)).astype(np.float32)
    vector = rng.integers(-1, 2, 3).astype(np.float32)
    score = vectors @ vector
    expected = sorted(range(n), key=lambda item: (-score[item], item))
    everything = np.ones(n, np.bool_)
    for candidates in (None, np.arange(n, dtype=np.int32)):
        items, _ = nearest(vector, vectors, Pool(everything, candidates=candidates), n)
        assert items.tolist() == expected
