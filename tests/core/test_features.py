"""From documents to columns, and back from JSON."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from core.features import BINS, Column, EncoderFit, FeatureEncoder, LeftOut, Limits

VALUES = st.one_of(
    st.booleans(),
    st.integers(-5, 5),
    st.floats(-10, 10),
    st.sampled_from(["a", "b", "c"]),
    st.lists(st.sampled_from(["x", "y"]), max_size=3),
)
DOCUMENTS = st.lists(st.dictionaries(st.sampled_from(["f", "g", "h"]), VALUES), max_size=20)


def fitted(documents, **limits: int) -> FeatureEncoder:
    fit = EncoderFit(np.random.default_rng(0), Limits(**limits))
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
    assert column.width == BINS
    rows = encoder.transform([{"age": -100}, {"age": 39}, {"age": 41}, {"age": 1e9}]).toarray()
    assert rows.sum(axis=1).tolist() == [1, 1, 1, 1]
    assert rows.argmax(axis=1).tolist() == sorted(rows.argmax(axis=1).tolist())
    assert rows[0, 0] == rows[3, -1] == 1


def test_a_number_written_as_text_counts_as_the_number_where_most_have_numbers() -> None:
    encoder = fitted([{"age": age} for age in range(80)])
    number, text, none = encoder.transform([{"age": 56}, {"age": "56"}, {"age": "nan"}]).toarray()
    assert text.sum() == 1
    assert (text == number).all()
    assert not none.any()


def test_a_number_that_is_always_the_same_has_one_interval() -> None:
    encoder = fitted([{"n": 3}] * 5)
    assert encoder.columns == (Column("n", edges=()),)


def test_values_that_training_never_saw_have_no_column() -> None:
    encoder = fitted([{"country": "de"}] * 2)
    rows = encoder.transform([{"country": "at"}, {"planet": "mars"}, {"country": 7}, {}])
    assert rows.shape == (4, 1)
    assert rows.nnz == 0


def test_a_feature_of_several_types_has_its_most_frequent_type() -> None:
    encoder = fitted([{"size": "large"}] * 3 + [{"size": 4}])
    assert encoder.columns == (Column("size", ("large",)),)


def test_only_frequent_values_of_a_feature_have_columns() -> None:
    documents = [{"tag": tag} for tag in "aaabbbccd"]
    assert fitted(documents, values=2).columns == (Column("tag", ("a", "b")),)


def test_the_fit_holds_a_bounded_sample_of_numbers() -> None:
    encoder = fitted(({"n": float(i)} for i in range(2_000)), numbers=50)
    edges = np.array(encoder.columns[0].edges)
    assert np.abs(edges - np.arange(250, 2000, 250)).max() < 400


def test_the_most_frequent_values_have_columns_among_any_number_of_others() -> None:
    fit = EncoderFit(np.random.default_rng(0), Limits(counted=40))
    # the rare texts come first, so that the table is full when the frequent ones begin
    fit.add({"t": f"rare{i}"} for i in range(100))
    fit.add({"t": f"rarer{i}" if i % 2 else f"usual{i % 6}"} for i in range(2_000))
    encoder = fit.encoder()
    assert len(fit._texts) <= 40
    assert set(encoder.columns[0].values) == {"usual0", "usual2", "usual4"}
    assert encoder.columns[0].width == 3


def test_the_most_frequent_features_have_columns_and_the_others_are_counted() -> None:
    fit = EncoderFit(np.random.default_rng(0), Limits(names=4))
    fit.add({f"once{i}": "a", f"number{i}": i} for i in range(50))
    fit.add({"often": "a", "year": 1990 + i % 10, f"twice{i // 2}": "b"} for i in range(60))
    names = {column.name for column in fit.encoder().columns}
    assert {"often", "year"} <= names
    assert len(names) <= 4
    assert len(fit._names) <= 8
    assert fit._numbers.keys() <= fit._names.keys()
    assert 20 <= fit.left_out.names <= 30


def test_a_value_beyond_the_columns_of_its_feature_is_counted() -> None:
    fit = EncoderFit(np.random.default_rng(0), Limits(values=2))
    fit.add({"tag": tag, "kind": "x"} for tag in "aaabbbccdde")
    assert fit.left_out == LeftOut(names=0, values=2)
    assert fitted([{"tag": "a"}] * 2, values=2).width == 1


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


def test_without_documents_there_are_no_columns() -> None:
    encoder = fitted([])
    assert encoder.width == 0
    assert encoder.transform([{"a": 1}]).shape == (1, 0)


@pytest.mark.parametrize("broken", [[{}], [{"name": "a"}], [{"name": "a", "edges": ["x"]}]])
def test_broken_json_is_refused(broken) -> None:
    with pytest.raises(ConfigError):
        FeatureEncoder.of_json(broken)
