"""Links of users as a Laplacian."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from core.batch.ocmf.graph import laplacian, similarity
from core.errors import DataError, ShapeError

LINKS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=15)


@given(links=LINKS)
def test_the_penalty_is_the_squared_difference_over_links(links):
    links = np.array(links, np.int64).reshape(-1, 2)
    L = laplacian(similarity(links, 7)).toarray()
    b = np.random.default_rng(0).normal(size=(7, 3))
    undirected = {(min(a, c), max(a, c)) for a, c in links if a != c}
    wanted = sum(np.square(b[a] - b[c]).sum() for a, c in undirected)
    np.testing.assert_allclose(np.trace(b.T @ L @ b), wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(L, L.T)


def test_the_stronger_of_two_directions_counts_and_self_links_are_dropped():
    given_weights = sparse.csr_array(np.array([[5.0, 1.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    wanted = [[0, 3, 0], [3, 0, 0], [0, 0, 0]]
    np.testing.assert_array_equal(similarity(given_weights, 3).toarray(), wanted)


@pytest.mark.parametrize(
    ("odd", "error", "says"),
    [
        ("abc", ShapeError, "a sparse matrix or as"),
        (None, ShapeError, "a sparse matrix or as"),
        ({"a": 1}, ShapeError, "a sparse matrix or as"),
        ([[0, 1], [2]], ShapeError, "a sparse matrix or as"),
        (sparse.coo_array(np.ones(3)), ShapeError, "the graph is 3 for 3 users"),
        ([["a", "b"]], DataError, "whole numbers"),
        ([[0.5, 1]], DataError, "whole numbers"),
        ([[0, np.nan]], DataError, "whole numbers"),
    ],
)
def test_invalid_graphs_are_refused(odd, error, says):
    with pytest.raises(error, match=says):
        similarity(odd, 3)
