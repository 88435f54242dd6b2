"""A model of contexts as bytes and back: it recommends and goes on learning as before."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from core.batch.contexts.config import KINDS, ContextConfig, DescentConfig
from core.batch.contexts.ranker import ContextRanker
from core.batch.contexts.snapshot import contexts_of, of_contexts
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.model import Ocmf
from core.batch.row_ranker import RowRanker
from core.batch.snapshot import objective_of, of_objective
from core.errors import ConfigError, NotFitted, SnapshotFormat
from core.snapshot import Snapshot, array_bytes, restored
from tests.core import ranking

ABOUT = {"settings": {"factors": 4}, "metrics": {"ndcg@10": 0.25}, "cuts": {"trained": "7"}}
DESCENT = DescentConfig(epochs=5, alpha0=9.0, nu=0.5)
CASES = [*((kind, False) for kind in KINDS), ("svdfeature", True)]


def features(described):
    return sparse.csr_array(np.eye(4, dtype=np.float32)[np.arange(60) % 4]) if described else None


def fitted(kind, described, *, previous=None):
    pairs = ranking.tribes()
    pairs = pairs.keep(pairs.user_ix != 3)
    model = ContextRanker(ContextConfig(kind, 4, DESCENT))
    return model.fit(pairs, item_features=features(described), previous=previous), pairs


def travelled(snapshot):
    """Return the snapshot as another process gets it."""
    manifest = json.loads(json.dumps(snapshot.manifest))
    again = restored(manifest, {name: array_bytes(a) for name, a in snapshot.arrays.items()})
    assert again.version == snapshot.version
    return again


@pytest.mark.parametrize(("kind", "described"), CASES)
def test_a_round_trip_gives_identical_bits(kind, described):
    model, pairs = fitted(kind, described)
    again = contexts_of(travelled(of_contexts(kind, model, **ABOUT)))
    assert again.config == model.config
    assert again.epochs == model.epochs
    users = np.arange(120)
    for ask in (
        lambda one: (one.user_vectors(pairs), one.item_factors),
        lambda one: one.recommend(users, pairs, 7),
        lambda one: one.similar_items(np.arange(60), 7),
    ):
        assert [a.tobytes() for a in ask(again)] == [a.tobytes() for a in ask(model)]


@pytest.mark.parametrize(("kind", "described"), CASES)
def test_a_restored_model_is_continued_bit_for_bit(kind, described):
    model, _ = fitted(kind, described)
    again = contexts_of(travelled(of_contexts(kind, model, **ABOUT)))
    kept, other = (fitted(kind, described, previous=one)[0] for one in (model, again))
    assert kept.item_factors.tobytes() == other.item_factors.tobytes()
    assert kept.losses == other.losses
    assert kept.losses[0] < model.losses[0]


def test_exported_fold_in_recommends_without_the_model():
    pairs = ranking.tribes()
    pairs = pairs.keep(pairs.user_ix != 3)
    model = Fbgd(FbgdConfig(factors=8, alpha0=60.0, reg=1.0)).fit(pairs)
    again = RowRanker(objective_of(travelled(of_objective("fbgd", model.fitted, **ABOUT))))
    some = np.array([4, 9, 100])
    for mine, its in zip(
        again.recommend(some, pairs, 5), model.recommend(some, pairs, 5), strict=True
    ):
        np.testing.assert_array_equal(mine, its)
    np.testing.assert_array_equal(again.similar_items(5)[0], model.similar_items(5)[0])
    # an unknown user does not get the items with the lowest numbers
    ids, scores = again.recommend(3, pairs, 5)
    assert ids.tolist() == [-1] * 5
    assert (scores == -np.inf).all()


@pytest.mark.parametrize("shrinkage", [0.0, 4.0])
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_a_one_class_model_recommends_short_histories_as_its_snapshot_does(loss, shrinkage):
    pairs = ranking.tribes()
    model = Ocmf(OcmfConfig(factors=8, loss=loss, shrinkage=shrinkage)).fit(pairs)
    again = RowRanker(objective_of(travelled(of_objective("ocmf", model.objective, **ABOUT))))
    short = pairs.keep((np.arange(len(pairs)) - pairs.ptr[pairs.user_ix] < 2) & (pairs.user_ix > 0))
    some = np.arange(60)
    (its, scores), (mine, expected) = (one.recommend(some, short, 5) for one in (model, again))
    np.testing.assert_allclose(scores[1:], expected[1:], rtol=1e-3)
    assert (its[1:] == mine[1:]).mean() > 0.99
    # the first user is unknown: shrunk to the mean user, or given popular items
    assert (its[0] == mine[0]).all() == (shrinkage > 0.0)
    without = Ocmf(replace(model.config, shrinkage=0.0)).fit(pairs).recommend(some, short, 5)[1]
    assert np.allclose(scores, without, rtol=1e-3) == (shrinkage == 0.0)


def test_snapshots_of_other_models_are_refused():
    with pytest.raises(NotFitted, match="call fit first"):
        of_contexts("mf", ContextRanker(ContextConfig("mf")), **ABOUT)
    with pytest.raises(ConfigError, match="Fbgd is not a ContextRanker"):
        of_contexts("pitf", Fbgd(FbgdConfig()), **ABOUT)
    with pytest.raises(SnapshotFormat, match="not of a context model"):
        contexts_of(Snapshot("popular", {"a": np.ones(1)}))
    whole = of_contexts("svdfeature", fitted("svdfeature", True)[0], **ABOUT)
    for lost in ("features.data", "parameters.target_bias", "cold"):
        arrays = {name: array for name, array in whole.arrays.items() if name != lost}
        with pytest.raises(SnapshotFormat, match=lost.removeprefix("parameters.")):
            contexts_of(Snapshot("svdfeature", arrays, whole.parameters))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "cp"}, "named pitf is of kind cp"),
        ({"kind": "mf"}, "named pitf is of kind mf"),
        ({"factors": 40}, r"first has shape \(120, 4\), but these settings need \(120, 40\)"),
        ({"factors": 0}, "factors must be"),
        ({"descent": {"epochs": 0}}, "epochs must be"),
    ],
)
def test_arrays_of_other_settings_are_refused(change, says):
    whole = of_contexts("pitf", fitted("pitf", False)[0], **ABOUT)
    config = {**whole.parameters["config"], **change}
    with pytest.raises(SnapshotFormat, match=says):
        contexts_of(replace(whole, parameters={**whole.parameters, "config": config}))


@pytest.mark.parametrize("name", ["parameters.second", "squares.targets", "popular", "cold"])
def test_an_array_of_another_size_is_refused(name):
    whole = of_contexts("pitf", fitted("pitf", False)[0], **ABOUT)
    for other in (whole.arrays[name][1:], whole.arrays[name][None]):
        with pytest.raises(SnapshotFormat, match="has shape"):
            contexts_of(replace(whole, arrays={**whole.arrays, name: other}))


def test_a_kind_of_model_is_not_stored_under_another_name():
    model = fitted("pitf", False)[0]
    with pytest.raises(ConfigError, match="name it pitf"):
        of_contexts("cp", model, **ABOUT)
    with pytest.raises(SnapshotFormat, match="name it pitf"):
        contexts_of(replace(of_contexts("pitf", model, **ABOUT), model="cp"))
