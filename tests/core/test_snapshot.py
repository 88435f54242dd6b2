"""A model as bytes and back, to identical bits."""

import json

import numpy as np
import pytest

from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.snapshot import objective_of, of_objective
from core.errors import SnapshotFormat
from core.snapshot import Snapshot, array_bytes, restored, version_of
from tests.core import ranking


@pytest.fixture(scope="module")
def snapshot():
    model = Fbgd(FbgdConfig(factors=4, alpha0=9.0, epochs=2)).fit(ranking.tiny())
    settings = {"factors": 4, "alpha0": 9.0}
    return of_objective(
        "fbgd", model.fitted, settings=settings, metrics={"ndcg@10": 0.25}, cuts={"trained": "7"}
    )


def travelled(snapshot):
    """Return manifest and bytes as another process gets them."""
    manifest = json.loads(json.dumps(snapshot.manifest))
    return manifest, {name: array_bytes(array) for name, array in snapshot.arrays.items()}


def test_a_round_trip_gives_identical_bits(snapshot):
    again = restored(*travelled(snapshot))
    assert again.version == snapshot.version
    assert again.manifest == snapshot.manifest
    for name, array in snapshot.arrays.items():
        assert again.arrays[name].dtype == array.dtype
        assert again.arrays[name].tobytes() == array.tobytes()
    pairs = ranking.tiny(seed=5)
    before, after = objective_of(snapshot), objective_of(again)
    assert before.vectors(pairs).tobytes() == after.vectors(pairs).tobytes()
    row = pairs.rows(np.array([1])).item_ix
    assert before.vector(row).tobytes() == after.vector(row).tobytes()


def test_a_changed_number_changes_the_version(snapshot):
    arrays = dict(snapshot.arrays)
    arrays["gram"] = arrays["gram"] + np.float32(1e-3)
    other = Snapshot(snapshot.model, arrays, snapshot.parameters, snapshot.metrics, snapshot.cuts)
    assert other.version != snapshot.version


def test_arrays_of_a_snapshot_cannot_be_written_to(snapshot):
    for given in (snapshot, restored(*travelled(snapshot))):
        with pytest.raises(ValueError, match="read-only"):
            given.arrays["gram"][0] = 1.0


def test_arrays_are_stored_little_endian_whatever_their_layout():
    array = np.arange(6, dtype=">f4").reshape(2, 3).T
    snapshot = Snapshot("test", {"a": array})
    again = restored(*travelled(snapshot))
    assert np.array_equal(again.arrays["a"], array)
    assert again.manifest["arrays"]["a"]["dtype"] == "<f4"


def test_empty_arrays_are_stored_and_restored():
    snapshot = Snapshot("test", {"a": np.empty((0, 3), np.float32)})
    assert restored(*travelled(snapshot)).arrays["a"].shape == (0, 3)


def damaged(change):
    def applied(manifest, parts):
        change(manifest, parts)
        return manifest, parts

    return applied


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda m, p: m.update(schema=9), "schema 9"),
        (lambda m, p: p.pop("gram"), "differ in gram"),
        (lambda m, p: p.update(gram=p["gram"][:-1] + b"\x7f"), "damaged"),
        (lambda m, p: p.update(gram=p["gram"][:-1]), "bytes, which is not"),
        (lambda m, p: m["arrays"]["gram"].update(dtype="|O8"), "unknown type"),
        (lambda m, p: m.pop("model"), "lacks or misspells 'model'"),
        (lambda m, p: m["arrays"]["gram"].pop("sha256"), "lacks or misspells 'sha256'"),
        (lambda m, p: m["arrays"]["gram"].update(shape=[-2, -2]), "gram has the impossible shape"),
        (lambda m, p: m["arrays"]["gram"].update(shape=[4.0]), "gram has the impossible shape"),
        (lambda m, p: m.update(metrics=[]), "lacks or misspells 'list'"),
    ],
)
def test_damaged_snapshots_are_refused(snapshot, change, says):
    with pytest.raises(SnapshotFormat, match=says):
        restored(*damaged(change)(*travelled(snapshot)))


def test_a_manifest_is_a_mapping_with_shapes_that_exist():
    for odd in ([], "abc", None):
        with pytest.raises(SnapshotFormat, match="the manifest is not a mapping"):
            restored(odd, {})
    made = Snapshot("test", {"a": np.empty((0, 3), np.float32)})
    manifest, parts = travelled(made)
    manifest["arrays"]["a"]["shape"] = [0, 2**62]
    with pytest.raises(SnapshotFormat, match="impossible shape"):
        restored(manifest, parts)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"reg": "x"}, "reg must be"),
        ({"nu": np.inf}, "nu is inf"),
        ({"mean_count": 0.0}, "mean_count must be above 0"),
        ({"loss": "cubic"}, "loss must be square or logistic"),
        ({"loss": []}, "loss must be square or logistic"),
        ({"other": 1.0}, "other"),
    ],
)
def test_numbers_that_do_not_allow_fold_in_are_refused(snapshot, wrong, says):
    row = {**snapshot.parameters["row"], **wrong}
    with pytest.raises(SnapshotFormat, match=says):
        objective_of(Snapshot("fbgd", snapshot.arrays, {"row": row}))


@pytest.mark.parametrize("name", ["item_factors", "gram", "item_sum", "negative"])
def test_arrays_that_do_not_fit_one_another_are_refused(snapshot, name):
    arrays = {**snapshot.arrays, name: snapshot.arrays[name][1:]}
    with pytest.raises(SnapshotFormat, match="the items need"):
        objective_of(Snapshot("fbgd", arrays, snapshot.parameters))


def test_numpy_numbers_are_accepted(snapshot):
    row = objective_of(snapshot)
    plain, of_numpy = (
        of_objective(
            "fbgd",
            row,
            settings={"reg": number(0.5), "sizes": (whole(3),), "kept": truth(1)},
            metrics={"a": number(0.25)},
            cuts={"t": {"0": whole(7)}},
        )
        for number, whole, truth in ((float, int, bool), (np.float32, np.int64, np.bool_))
    )
    assert plain.version == of_numpy.version
    assert restored(*travelled(of_numpy)).parameters == of_numpy.parameters


@pytest.mark.parametrize("number", [np.nan, np.inf, np.float32(-np.inf)])
def test_a_number_that_json_cannot_hold_is_refused_by_name(snapshot, number):
    row, about = objective_of(snapshot), {"settings": {}, "metrics": {}, "cuts": {}}
    for name, says in (
        ("metrics", "metrics.a is"),
        ("settings", "parameters.settings.a is"),
        ("cuts", "cuts.a is"),
    ):
        with pytest.raises(SnapshotFormat, match=says):
            of_objective("fbgd", row, **{**about, name: {"a": number}})
    with pytest.raises(SnapshotFormat, match="what JSON cannot"):
        assert Snapshot("test", {}, {"a": {1, 2}}).version
    with pytest.raises(SnapshotFormat, match="what JSON cannot"):
        version_of({"a": np.nan})


def test_objects_never_enter_a_snapshot(snapshot):
    with pytest.raises(SnapshotFormat, match="has type object"):
        Snapshot("test", {"a": np.array([{}])})
    with pytest.raises(SnapshotFormat, match="not of a model with fold-in"):
        objective_of(Snapshot("popular", {"a": np.ones(1)}))
