import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from service.learning.external_sort import ExternalSort
from service.store.profiles.history_record import records


@settings(max_examples=40)
@given(
    n=st.integers(0, 60),
    run=st.integers(1, 20),
    window=st.integers(1, 30),
    seed=st.integers(0, 2**32),
)
def test_ratings_are_sorted_by_sequence_with_their_users(tmp_path_factory, n, run, window, seed):
    rng = np.random.default_rng(seed)
    owner, sequence = rng.integers(0, 5, n), rng.permutation(n)
    item, value = rng.integers(0, 9, n), rng.integers(1, 6, n)
    kind = rng.integers(0, 3, n).astype(np.uint8)
    history = records(item, value, 1_000 + sequence, sequence, kind)
    sort = ExternalSort(tmp_path_factory.mktemp("s"), run=run, window=window)
    for user in range(5):
        own = owner == user
        sort.add(f"üser-{user}", history[own])
    rows = [
        (int(r["sequence"]), users[r["user"]], *r[["item", "value", "time_ms", "kind"]].tolist())
        for found, users in sort.windows()
        for r in found
    ]
    columns = (sequence, owner, item, value, kind)
    expected = zip(*(column.tolist() for column in columns), strict=True)
    assert rows == sorted((s, f"üser-{u}", i, float(v), 1_000 + s, k) for s, u, i, v, k in expected)
    assert sort.n_records == n
