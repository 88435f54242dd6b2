"""The quality of label models: Bibtex with the first settings of a search, beside publications."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from core.batch.ocmf.labels import precisions
from core.labels.config import standard
from core.labels.exmlds import Exmlds
from core.labels.sppmi import co_occurrence
from service.files.labelled_points import read_xmlc

DATA = Path(__file__).parents[4] / "shared" / "data" / "xmlc-bibtex"

pytestmark = [
    pytest.mark.quality,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"no data set in {DATA}"),
]


@cache
def points():
    return read_xmlc(DATA / "train.txt.gz"), read_xmlc(DATA / "test.txt.gz")


def precision_at(variant, share=1.0):
    """Return p@1, 3, 5 on the test part, ``share`` of the training labels revealed."""
    train, test = points()
    kept = np.random.default_rng(0).random(len(train.labels)) < share
    model = Exmlds(standard(variant)).fit(
        train.features, train.labels.keep(kept), correlations=co_occurrence(train.labels)
    )
    return list(precisions(model.ranked(test.features, 5), test.labels).values())


def test_spectral_vectors_beat_the_published_precision():
    assert np.greater_equal(precision_at("exmlds1"), [65.3, 39.2, 28.7]).all()


@pytest.mark.slow
def test_descent_beats_the_published_precision():
    assert np.greater_equal(precision_at("exmlds4"), [65.3, 39.6, 28.7]).all()


def test_a_fifth_of_the_labels_is_enough_for_three_quarters_of_the_precision():
    assert precision_at("exmlds3", share=0.2)[0] >= 47.0
