"""Users of a one-class model after its fit: by pairs, features, links, and from a snapshot."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from core.batch.feature_map import fit_features
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.graph import similarity
from core.batch.ocmf.model import Ocmf, users_of
from core.batch.snapshot import objective_of, of_users
from core.batch.snapshot import users_of as read
from core.errors import ConfigError, DataError, NotFitted, ShapeError, SnapshotFormat
from core.interactions import from_pairs
from core.snapshot import Snapshot, array_bytes, restored

SQUARE = OcmfConfig(loss="square", weight=0.2, reg=0.5, factors=4, rounds=40, graph=0.6)
CONFIGS = {"square": SQUARE, "logistic": replace(SQUARE, loss="logistic", target=-0.5)}
NOBODY = np.empty(0, np.int32)


def described(m=60, seed=0):
    """Return sparse features of users of four kinds, and the kinds; the last user has none."""
    kind = np.random.default_rng(seed).integers(0, 4, m)
    features = np.eye(4)[kind]
    features[-1] = 0.0
    return sparse.csr_array(features), kind


def pairs_of(kind, n=12, seed=1):
    rng = np.random.default_rng(seed)
    known = (kind[:, None] == np.arange(n) % 4) & (rng.random((kind.size, n)) < 0.6)
    known[0, 0] = True
    return from_pairs(*np.nonzero(known), n_users=kind.size, n_items=n)


def links_of(m, seed=2):
    ends = np.random.default_rng(seed).integers(0, m - 2, (3 * m, 2))
    return similarity(ends[ends[:, 0] != ends[:, 1]], m)


def fitted(name, *, landmarks=0, graph=False):
    """Return (model, map, raw features, pairs) of a feature model."""
    features, kind = described()
    made = fit_features(features, centres=landmarks, seed=3)
    pairs = pairs_of(kind)
    links = links_of(kind.size) if graph else None
    model = Ocmf(CONFIGS[name]).fit(pairs, features=made.transform(features), graph=links)
    return model, made, features, pairs


def travelled(users):
    """Return the users as another process gets them."""
    snapshot = of_users("ocmf-x", users, settings={"reg": 0.5}, metrics={}, cuts={"t": "7"})
    manifest = json.loads(json.dumps(snapshot.manifest))
    again = restored(manifest, {name: array_bytes(a) for name, a in snapshot.arrays.items()})
    assert again.version == snapshot.version
    return read(again)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("landmarks", [0, 5])
@pytest.mark.parametrize("graph", [False, True])
def test_a_snapshot_answers_for_new_users(name, landmarks, graph):
    model, made, features, _ = fitted(name, landmarks=landmarks, graph=graph)
    kept = users_of(model, made)
    again = travelled(kept)
    new = sparse.csr_array(np.array([[1.0, 0, 0, 0], [0, 0, 2.0, 0], [0, 0, 0, 0]]))
    assert again.feature_vectors(new).tobytes() == kept.feature_vectors(new).tobytes()
    scores = again.feature_vectors(new) @ again.row.item_factors.T
    wanted = model.vectors_of(made.transform(new)) @ model.item_factors.T
    np.testing.assert_allclose(scores, wanted, atol=1e-4)
    assert (scores[:2].argmax(axis=1) % 4 == [0, 2]).all()
    trained = model.trained_users @ model.item_factors.T
    every = again.feature_vectors(features) @ again.row.item_factors.T
    np.testing.assert_allclose(every, trained, atol=1e-4)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_graph_model_folds_a_user_in_with_linked_users(name):
    _, kind = described()
    pairs, links = pairs_of(kind), links_of(kind.size)
    model = Ocmf(CONFIGS[name]).fit(pairs, graph=links)
    users = travelled(users_of(model))
    turn = np.linalg.lstsq(model.item_factors, users.row.item_factors)[0]
    vectors = (model.trained_users @ turn).astype(np.float32)
    for u in (0, 7, 30):
        friends, row = links[[u]], pairs.rows(np.array([u]))
        near = vectors[friends.indices], friends.data
        found = users.vector(row.item_ix, linked=near) @ users.row.item_factors.T
        wanted = model.user_vectors(row, links=friends) @ model.item_factors.T
        np.testing.assert_allclose(found, wanted[0], atol=5e-3)


def test_fold_in_minimises_the_objective_of_features_and_pairs():
    model, made, features, pairs = fitted("square")
    users = users_of(model, made)
    z, row = users.feature_vectors(features[[5]])[0], users.row
    some = pairs.rows(np.array([7])).item_ix
    reg = float(row.regs(np.array([some.size]))[0])
    p = users.vector(some, feature_vector=z).astype(np.float64)

    def objective(q):
        scores = row.item_factors @ q
        seen = np.zeros(scores.size, bool)
        seen[some] = True
        cost = np.where(seen, (1.0 - scores) ** 2, row.negative * scores**2)
        return cost.sum() + reg * np.square(q - z).sum()

    rng = np.random.default_rng(0)
    best = objective(p)
    assert all(objective(p + 1e-2 * rng.normal(size=p.size)) > best for _ in range(50))


def test_a_user_starts_at_the_vector_of_the_features_and_few_pairs_move_it_little():
    model, made, features, _ = fitted("logistic")
    users = users_of(model, made)
    z = users.feature_vectors(features[[4]])[0]
    assert users.vector(NOBODY, feature_vector=z).tobytes() == z.tobytes()
    plain = users.vector(NOBODY)
    assert np.isfinite(plain).all()
    assert plain.tobytes() == users.row.vector(NOBODY).tobytes()


def test_a_cold_user_with_links_gets_items_of_linked_users():
    _, kind = described()
    pairs, links = pairs_of(kind), links_of(kind.size)
    users = users_of(Ocmf(SQUARE).fit(pairs, graph=links))
    alike = np.flatnonzero(kind == 2)[:5]
    vectors = np.array([users.vector(pairs.rows(np.array([u])).item_ix) for u in alike])
    found = users.vector(NOBODY, linked=(vectors, np.ones(5, np.float32)))
    assert (users.row.item_factors @ found).argmax() % 4 == 2


def test_a_snapshot_of_features_folds_in_users_without_them():
    model, made, _, pairs = fitted("square")
    users = users_of(model, made)
    snapshot = of_users("ocmf-x", users, settings={}, metrics={}, cuts={})
    row = pairs.rows(np.array([3]))
    assert objective_of(snapshot).vectors(pairs).shape == (60, 4)
    assert (
        users.vector(row.item_ix).tobytes() == objective_of(snapshot).vector(row.item_ix).tobytes()
    )


def test_a_plain_snapshot_has_users_without_features():
    _, kind = described()
    users = users_of(Ocmf(replace(SQUARE, graph=0.0)).fit(pairs_of(kind)))
    again = travelled(users)
    assert again.weights is None
    assert again.link == 0.0
    with pytest.raises(ConfigError, match="train it with features"):
        again.feature_vectors(np.ones((1, 4)))


def no_fit():
    return users_of(Ocmf(SQUARE))


def no_map():
    return users_of(fitted("square")[0])


def other_features():
    model, made, *_ = fitted("square")
    return users_of(model, made).feature_vectors(np.ones((1, 9)))


def nan_features():
    model, made, *_ = fitted("square")
    return users_of(model, made).feature_vectors(np.full((1, 4), np.nan))


def lost_landmarks():
    model, made, *_ = fitted("square", landmarks=5)
    whole = of_users("x", users_of(model, made), settings={}, metrics={}, cuts={})
    arrays = {name: array for name, array in whole.arrays.items() if name != "root"}
    return read(Snapshot("x", arrays, whole.parameters))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (no_fit, NotFitted, "call fit first"),
        (no_map, ConfigError, "give the map"),
        (other_features, ShapeError, "10 columns, but the model has 5"),
        (nan_features, DataError, "correct or remove"),
        (lost_landmarks, SnapshotFormat, "'root'"),
    ],
)
def test_missing_and_odd_input_is_an_error_with_advice(call, error, says):
    with pytest.raises(error, match=says):
        call()
