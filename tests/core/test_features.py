"""From documents to columns, and back from JSON."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import features
from core.errors import ConfigError
from core.features import Column, EncoderFit, FeatureEncoder

VALUES = st.one_of(
    st.booleans(),
    st.integers(-5, 5),
    st.floats(-10, 10),
    st.sampled_from(["a", "b", "c"]),
    st.lists(st.sampled_from(["x", "y"]), max_size=3),
)
DOCUMENTS = st.lists(st.dictionaries(st.sampled_from(["f", "g", "h"]), VALUES), max_size=20)


def fitted(documents) -> FeatureEncoder:
    fit = EncoderFit(np.random.default_rng(0))
    fit.add(documents)
    return fit.encoder()


def test_texts_lists_and_truth_values_have_a_column_for_each_value() -> None:
    documents = [
        {"country": "de", "likes": ["jazz", "folk"], "member": True},
        {"country": "de", "likes": ["jazz"], "member": True},
        {"country": "fr", "likes": [], "member": False},
        {"country": "fr"},
    ]
    encoder = fitted(documents)
    assert encoder.columns == (
        Column("country", ("de", "fr")),
        Column("likes", ("jazz",)),
        Column("member", ("true",)),
    )
    assert encoder.transform(documents).toarray().tolist() == [
        [1, 0, 1, 1],
        [1, 0, 1, 1],
        [0, 1, 0, 0],
        [0, 1, 0, 0],
    ]


def test_a_number_falls_into_one_interval_between_quantiles() -> None:
    encoder = fitted([{"age": age} for age in range(80)])
    [column] = encoder.columns
    assert column.width == features.BINS
    rows = encoder.transform([{"age": -100}, {"age": 39}, {"age": 41}, {"age": 1e9}]).toarray()
    assert rows.sum(axis=1).tolist() == [1, 1, 1, 1]
    assert rows.argmax(axis=1).tolist() == sorted(rows.argmax(axis=1).tolist())
    assert rows[0, 0] == rows[3, -1] == 1


def test_a_number_that_is_always_the_same_has_one_interval() -> None:
    encoder = fitted([{"n": 3}] * 5)
    assert encoder.columns == (Column("n", edges=()),)


def test_what_training_never_saw_has_no_column() -> None:
    encoder = fitted([{"country": "de"}] * 2)
    rows = encoder.transform([{"country": "at"}, {"planet": "mars"}, {"country": 7}, {}])
    assert rows.shape == (4, 1)
    assert rows.nnz == 0


def test_a_feature_of_several_types_is_what_it_mostly_is() -> None:
    encoder = fitted([{"size": "large"}] * 3 + [{"size": 4}])
    assert encoder.columns == (Column("size", ("large",)),)


def test_only_frequent_values_of_a_feature_have_columns(monkeypatch) -> None:
    monkeypatch.setattr(features, "MOST_VALUES", 2)
    documents = [{"tag": tag} for tag in "aaabbbccd"]
    assert fitted(documents).columns == (Column("tag", ("a", "b")),)


def test_the_fit_holds_a_bounded_sample(monkeypatch) -> None:
    monkeypatch.setattr(features, "MOST_NUMBERS", 50)
    monkeypatch.setattr(features, "MOST_COUNTED", 3)
    fit = EncoderFit(np.random.default_rng(0))
    fit.add({"n": float(i), "t": f"t{i % 10}"} for i in range(2_000))
    encoder = fit.encoder()
    assert encoder.columns[1].values == ("t0", "t1", "t2")
    edges = np.array(encoder.columns[0].edges)
    assert np.abs(edges - np.arange(250, 2000, 250)).max() < 400


@given(documents=DOCUMENTS)
def test_an_encoder_survives_json(documents) -> None:
    encoder = fitted(documents)
    again = FeatureEncoder.of_json(json.loads(json.dumps(encoder.to_json())))
    assert again == encoder
    assert (again.transform(documents) != encoder.transform(documents)).nnz == 0


@given(documents=DOCUMENTS)
def test_a_row_does_not_depend_on_the_others(documents) -> None:
    encoder = fitted(documents)
    together = encoder.transform(documents).toarray()
    assert set(np.unique(together)) <= {0.0, 1.0}
    for document, row in zip(documents, together, strict=True):
        assert encoder.transform([document]).toarray()[0].tolist() == row.tolist()


def test_no_documents_no_columns() -> None:
    encoder = fitted([])
    assert encoder.width == 0
    assert encoder.transform([{"a": 1}]).shape == (1, 0)


@pytest.mark.parametrize("broken", [[{}], [{"name": "a"}], [{"name": "a", "edges": ["x"]}]])
def test_broken_json_is_refused(broken) -> None:
    with pytest.raises(ConfigError):
        FeatureEncoder.of_json(broken)
