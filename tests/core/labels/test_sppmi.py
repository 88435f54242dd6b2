"""Shifted positive pointwise mutual information of points and labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import ConfigError
from core.kernels import sppmi as kernels
from core.labels.config import Mix
from core.labels.sppmi import co_occurrence, joint_sppmi, sppmi
from tests.core import reference_labels as reference
from tests.core.labelled import member, random_labels


def whole(found):
    return reference.dense(found.ptr, found.ix, found.size, found.value)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    n_labels=st.integers(1, 12),
    shift=st.sampled_from([0.5, 1.0, 2.0, 15.0]),
)
def test_points_have_the_mutual_information_of_the_matrix_of_shared_labels(
    seed, n, n_labels, shift
):
    labels = random_labels(np.random.default_rng(seed), n, n_labels)
    Y = member(labels)
    assert np.allclose(whole(sppmi(labels, shift)), reference.sppmi(Y @ Y.T, shift), atol=1e-5)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), mix=st.tuples(*[st.floats(0.1, 10.0)] * 3))
def test_points_and_labels_together_have_that_of_the_joint_matrix(seed, mix):
    labels = random_labels(np.random.default_rng(seed), 20, 6)
    Y, C = member(labels), co_occurrence(labels)
    mu1, mu2, mu3 = mix
    A = np.block([[mu2 * Y @ Y.T, mu3 * Y], [mu3 * Y.T, mu1 * Y.T @ Y]])
    found = joint_sppmi(labels, C, Mix(labels=mu1, points=mu2, members=mu3))
    assert np.allclose(whole(found), reference.sppmi(A), atol=1e-5)


def test_the_size_of_the_weights_does_not_matter():
    labels = random_labels(np.random.default_rng(3))
    C = co_occurrence(labels)
    one, seven = (joint_sppmi(labels, C, Mix(w, w, w)) for w in (1.0, 7.0))
    assert np.allclose(whole(one), whole(seven), atol=1e-5)


def test_the_kernels_agree_with_their_twins():
    rng = np.random.default_rng(1)
    labels = random_labels(rng, 25, 7)
    owners = labels.by_item()
    extra = rng.random((25, 25)) * (rng.random((25, 25)) < 0.1)
    ix = np.concatenate([np.flatnonzero(row) for row in extra]).astype(np.int32)
    ptr = np.concatenate([[0], np.cumsum((extra > 0).sum(1))])
    beside = ptr, ix, extra[extra > 0].astype(np.float32)
    given_ = (labels.ptr, labels.item_ix, owners.ptr, owners.item_ix, 0.7, *beside, rng.random(25))
    counts, expected = np.empty(25, np.int64), np.empty(25, np.int64)
    kernels.sppmi_counts(*given_, counts)
    reference.sppmi_counts(*given_, expected)
    assert np.array_equal(counts, expected)
    out_ptr = np.concatenate([[0], np.cumsum(counts)])
    found, naive = (
        (np.empty(out_ptr[-1], np.int32), np.empty(out_ptr[-1], np.float32)) for _ in range(2)
    )
    kernels.sppmi_values(*given_, out_ptr, *found)
    reference.sppmi_values(*given_, out_ptr, *naive)
    assert np.allclose(
        reference.dense(out_ptr, found[0], 25, found[1]),
        reference.dense(out_ptr, naive[0], 25, naive[1]),
        atol=1e-5,
    )
    block = rng.normal(size=(25, 4)).astype(np.float32)
    product, twin = np.empty_like(block), np.empty_like(block)
    kernels.sparse_product(out_ptr, *found, block, product)
    reference.sparse_product(out_ptr, *naive, block, twin)
    assert np.allclose(product, twin, atol=1e-4)


@pytest.mark.parametrize("shift", [0.0, -1.0, np.inf, np.nan])
def test_a_shift_without_a_logarithm_is_refused(shift):
    with pytest.raises(ConfigError, match="shift must be above 0"):
        sppmi(random_labels(np.random.default_rng(0)), shift)


def test_a_joint_matrix_without_one_of_its_parts_is_refused():
    with pytest.raises(ConfigError, match="must be above 0"):
        Mix(members=0.0)
