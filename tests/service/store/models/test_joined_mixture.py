"""Mixture records of several partitions, joined by their numbers of judgements."""

import pytest

from service.store.models.joined_mixture import joined, joined_lengths, knowing, weights
from service.store.models.mixture import LengthRecord, MixtureRecord, RankerRecord


def ranker(weight, *, version="v1", judged=10, mrr=0.1):
    return RankerRecord(weight=weight, version=version, judged=judged, mrr=mrr, ndcg10=mrr / 2)


def record(judged, rankers, **more):
    return MixtureRecord(watermark=9, judged=judged, passed_over=0, rankers=rankers, **more)


def test_weights_are_means_by_what_was_judged():
    much = record(30, {"fbgd": ranker(0.8), "popular": ranker(0.2)})
    little = record(10, {"fbgd": ranker(0.4), "popular": ranker(0.6)})
    found = weights([much, little]).shared
    assert found == pytest.approx({"fbgd": 0.7, "popular": 0.3})


def test_a_ranker_that_a_partition_lacks_weighs_nothing_there():
    found = weights([record(1, {"fbgd": ranker(1.0)}), record(1, {"popular": ranker(1.0)})]).shared
    assert found == pytest.approx({"fbgd": 0.5, "popular": 0.5})


def test_partitions_that_judged_nothing_count_alike():
    found = weights([record(0, {"fbgd": ranker(1.0)}), record(0, {"fbgd": ranker(0.0)})]).shared
    assert found == pytest.approx({"fbgd": 0.5})


def test_no_records_have_no_weights():
    assert weights([]).shared == {}


def test_metrics_are_means_by_what_each_ranker_was_judged_on():
    first = record(30, {"fbgd": ranker(1.0, judged=30, mrr=0.2)}, mixture=ranker(1.0, judged=30))
    second = record(10, {"fbgd": ranker(1.0, judged=10, mrr=0.4)})
    rankers, mixture = joined([first, second])
    assert (rankers["fbgd"].judged, mixture.judged) == (40, 30)
    assert rankers["fbgd"].mrr == pytest.approx(0.25)
    assert rankers["fbgd"].ndcg10 == pytest.approx(0.125)


def test_lengths_are_joined_each_by_what_was_judged_of_it():
    one = record(1, {}, by_length={0: LengthRecord(3, {"fbgd": 1.0}), 8: LengthRecord(1, {})})
    other = record(1, {}, by_length={0: LengthRecord(1, {"popular": 1.0})})
    lengths = joined_lengths([one, other])
    assert list(lengths) == [0, 8]
    assert lengths[0].judged == 4
    assert lengths[0].weights == pytest.approx({"fbgd": 0.75, "popular": 0.25})


def test_records_that_know_the_versions_are_preferred():
    new = record(1, {"fbgd": ranker(1.0, version="v2")})
    old = record(9, {"fbgd": ranker(1.0, version="v1")})
    assert knowing([new, None, old], {"fbgd": "v2"}) == [new]
    assert knowing([new, None, old], {"fbgd": "v3"}) == [new, old]
