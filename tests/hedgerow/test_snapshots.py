"""Each kind of model answers the same after its way through a file."""

from pathlib import Path

import numpy as np
import pytest

from hedgerow import (
    ContextConfig,
    ContextRanker,
    Fbgd,
    FbgdConfig,
    Ocmf,
    OcmfConfig,
    Popular,
    from_pairs,
    ordinal,
)
from hedgerow.errors import ConfigError, SnapshotFormat
from hedgerow.features import FeatureMap
from hedgerow.labels import Exmlds, ExmldsConfig
from hedgerow.snapshots import Snapshot, load, model_of, save, snapshot_of

RNG = np.random.default_rng(0)
USERS, ITEMS = np.nonzero(RNG.random((30, 12)) < 0.4)
PAIRS = from_pairs(USERS, ITEMS, time=np.arange(USERS.size))
FEATURES = RNG.random((30, 4)).astype(np.float32)
RANKERS = {
    "fbgd": Fbgd(FbgdConfig(factors=4)),
    "fbgd, short histories shrunk": Fbgd(FbgdConfig(factors=4, shrinkage=1.0)),
    "ocmf": Ocmf(OcmfConfig(factors=4)),
    "pitf": ContextRanker(ContextConfig("pitf", factors=4)),
    "mf": ContextRanker(ContextConfig("mf", factors=4)),
}


@pytest.mark.parametrize("name", RANKERS)
def test_a_loaded_ranker_recommends_the_same(name: str, tmp_path: Path) -> None:
    model = RANKERS[name].fit(PAIRS)
    save(model, tmp_path / "model.npz")
    users = np.arange(30)
    ids, scores = model.recommend(users, PAIRS, N=5)
    again, their = load(tmp_path / "model.npz").recommend(users, PAIRS, N=5)
    assert (ids == again).all()
    # a fit ends with item factors that a snapshot of Ocmf holds in another basis
    np.testing.assert_allclose(scores, their, rtol=1e-4, atol=1e-6)


def test_a_loaded_model_with_features_makes_the_same_users(tmp_path: Path) -> None:
    features = FeatureMap()
    model = Ocmf(OcmfConfig(factors=4)).fit(PAIRS, features=features.transform(FEATURES))
    save(model, tmp_path / "model.npz", feature_map=features)
    users = load(tmp_path / "model.npz")
    scores = users.feature_vectors(FEATURES[:3]) @ users.row.item_factors.T
    wanted = model.vectors_of(features.transform(FEATURES[:3])) @ model.item_factors.T
    np.testing.assert_allclose(scores, wanted, rtol=1e-3, atol=1e-5)


def test_a_loaded_label_model_scores_the_same(tmp_path: Path) -> None:
    model = Exmlds(ExmldsConfig(factors=4)).fit(FEATURES, PAIRS)
    save(model, tmp_path / "model.npz")
    assert (load(tmp_path / "model.npz").scores(FEATURES) == model.space.scores(FEATURES)).all()


def test_a_loaded_ordinal_model_scores_the_same(tmp_path: Path) -> None:
    x, level = RNG.random((60, 3)), np.repeat([1, 2, 3], 20)
    model = ordinal.fit(x, level, 3, ordinal.OrdinalConfig(block=8, blocks=2))
    save(model, tmp_path / "model.npz")
    assert (load(tmp_path / "model.npz").scores(x) == model.scores(x)).all()


def test_a_snapshot_keeps_its_version_through_a_file(tmp_path: Path) -> None:
    made = snapshot_of(Fbgd(FbgdConfig(factors=4)).fit(PAIRS), metrics={"ndcg@10": 0.25})
    save(made, tmp_path / "model.npz")
    model = load(tmp_path / "model.npz")
    assert (model.row.item_factors == made.arrays["item_factors"]).all()
    assert made.parameters["settings"]["factors"] == 4


def test_what_cannot_be_kept_or_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Popular has no snapshot"):
        snapshot_of(Popular().fit(PAIRS))  # type: ignore[arg-type]
    with pytest.raises(SnapshotFormat, match="'mine'"):
        model_of(Snapshot("mine", {}))
    other = tmp_path / "other.npz"
    for write in (lambda: np.savez(other, a=np.ones(2)), lambda: other.write_bytes(b"no")):
        write()
        with pytest.raises(SnapshotFormat, match="was not written by"):
            load(other)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    save(Fbgd(FbgdConfig(factors=4)).fit(PAIRS), path)
    with np.load(path) as file:
        arrays = dict(file)
    arrays["gram"] = arrays["gram"] + 1
    np.savez(path, **arrays)
    with pytest.raises(SnapshotFormat, match="gram is damaged"):
        load(path)
