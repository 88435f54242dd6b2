"""Label models: the quality of each variant, snapshots, and refusals."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from core.batch.ocmf.labels import precisions
from core.errors import ConfigError, DataError, NotFitted, ShapeError, SnapshotFormat
from core.interactions import Interactions, from_pairs
from core.labels.config import Descent, ExmldsConfig, Votes, settings_of, standard, with_settings
from core.labels.exmlds import Exmlds
from core.labels.search import search
from core.labels.snapshot import of_space, space_of
from core.labels.sppmi import co_occurrence
from core.search.search import Budget
from core.snapshot import Snapshot, array_bytes, restored
from tests.core.labelled import member, topics

VARIANTS = ("exmlds1", "exmlds2", "exmlds3", "exmlds4")


def small(variant, **changes):
    return replace(
        standard(variant),
        factors=8,
        votes=Votes(neighbours=20, sharpness=10.0),
        descent=Descent(context=10, learning_rate=0.1, epochs=10),
        **changes,
    )


def precision(model, test):
    return precisions(model.ranked(test[0], 5), test[1])["p@1"]


def popular(train, test):
    """Return p@1 of the most frequent label."""
    best = np.argsort(-train[1].item_counts)[:5].astype(np.int32)
    return precisions(np.tile(best, (test[1].n_users, 1)), test[1])["p@1"]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("changes", [{}, {"clusters": 3, "learners": 2}, {"landmarks": 20}])
def test_labels_are_predicted_from_features(variant, changes):
    train, test = topics(), topics(seed=1)
    model = Exmlds(small(variant, **changes)).fit(*train)
    assert precision(model, test) > popular(train, test) + 10.0


def test_a_random_start_learns_too():
    train, test = topics(), topics(seed=1)
    descent = Descent(start="random", epochs=30, learning_rate=0.1, scale=5.0, optimiser="adam")
    model = Exmlds(replace(small("exmlds4"), descent=descent)).fit(*train)
    assert precision(model, test) > popular(train, test) + 10.0


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_seed_repeats_every_bit(variant):
    train = topics(120)
    one, other = (
        Exmlds(small(variant, clusters=2, seed=5)).fit(*train).space.scores(train[0])
        for _ in range(2)
    )
    assert one.tobytes() == other.tobytes()


def test_the_scores_are_those_of_the_equation():
    features, labels = topics(80)
    space = Exmlds(small("exmlds1")).fit(features, labels).space
    mapped = space.feature_map.transform(features)
    places = np.asarray(mapped @ space.weights[0], np.float64)
    along = places / np.linalg.norm(places, axis=1, keepdims=True)
    known = np.flatnonzero(labels.user_counts)
    cosine, Y = along @ along[known].T, member(labels)[known]
    for point, row in enumerate(cosine):
        near = np.argsort(-row)[: space.votes.neighbours]
        votes = np.exp(space.votes.sharpness * (row[near] - row.max())) @ Y[near]
        own = space.label_factors[0] @ places[point]
        expected = votes / np.linalg.norm(votes) + own / np.linalg.norm(own)
        assert np.allclose(space.scores(features[[point]])[0], expected, atol=1e-3)


def test_given_correlations_help_labels_of_few_points():
    train, test = topics(400), topics(seed=1)
    few = train[1].keep(np.random.default_rng(0).random(len(train[1])) < 0.3)
    model = Exmlds(small("exmlds3"))
    told = precision(model.fit(train[0], few, correlations=co_occurrence(train[1])), test)
    assert told > popular(train, test) + 10.0
    correlations = sparse.csr_array(np.eye(train[1].n_items))
    other = precision(model.fit(train[0], few, correlations=correlations), test)
    assert told != other


def test_a_list_longer_than_the_labels_is_filled_with_no_label():
    features = sparse.csr_array(np.eye(3, dtype=np.float32))
    labels = from_pairs(np.array([0, 1, 2]), np.array([0, 1, 1]), n_items=2)
    ids, scores = Exmlds(small("exmlds1")).fit(features, labels).space.ranked(features, 4)
    assert ids[0].tolist() == [0, 1, -1, -1]
    assert np.isinf(scores[:, 2:]).all()


def test_a_point_without_features_gets_frequent_labels():
    train = topics()
    space = Exmlds(small("exmlds1")).fit(*train).space
    nothing = sparse.csr_array((1, train[0].shape[1]), dtype=np.float32)
    best = space.ranked(nothing, 3)[0][0]
    frequent = np.argsort(-train[1].item_counts)[:8]
    assert np.isin(best, frequent).sum() >= 2


@pytest.mark.parametrize("variant", VARIANTS)
def test_points_without_labels_and_constant_features_do_no_harm(variant):
    features, labels = topics(60)
    X = features.toarray()
    X[:, 3] = 1.0
    nobody = np.arange(60)[:, None] < 50
    kept = labels.keep(nobody[labels.user_ix, 0])
    space = Exmlds(small(variant)).fit(X, kept).space
    assert np.isfinite(space.scores(X)).all()


def test_equal_features_give_equal_scores():
    labels = topics(40)[1]
    X = np.ones((40, 3), np.float32)
    scores = Exmlds(small("exmlds1")).fit(X, labels).space.scores(X)
    assert np.allclose(scores, scores[0], atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_single_label_or_a_single_point_is_no_trouble(variant):
    X = np.eye(4, dtype=np.float32)
    same = Interactions(1, np.arange(5), np.zeros(4, np.int32))
    assert Exmlds(small(variant)).fit(X, same).ranked(X, 1).tolist() == [[0]] * 4
    alone = Interactions(2, np.array([0, 1]), np.array([1], np.int32))
    assert Exmlds(small(variant)).fit(X[:1], alone).ranked(X, 1).tolist() == [[1]] * 4


def test_data_that_teach_nothing_are_refused():
    features, labels = topics(20)
    model = Exmlds(small("exmlds1"))
    with pytest.raises(NotFitted, match="call fit first"):
        model.ranked(features, 1)
    with pytest.raises(DataError, match="no point has a label"):
        model.fit(features, labels.keep(np.zeros(len(labels), np.bool_)))
    with pytest.raises(ShapeError, match="features of 19 points, but labels of 20"):
        model.fit(features[:19], labels)
    with pytest.raises(DataError, match="NaN or infinite"):
        model.fit(np.full((20, 2), np.nan), labels)
    with pytest.raises(ShapeError, match="24 labels, but correlations"):
        Exmlds(small("exmlds3")).fit(features, labels, correlations=np.eye(3))
    for wrong, says in (
        (-np.eye(24), "not negative"),
        (np.full((24, 24), np.nan), "finite"),
        (np.triu(np.ones((24, 24))), "symmetric"),
    ):
        with pytest.raises(DataError, match=says):
            Exmlds(small("exmlds3")).fit(features, labels, correlations=wrong)
    with pytest.raises(ShapeError, match="the model needs 40 features"):
        model.fit(features, labels).ranked(features[:, :7], 1)
    with pytest.raises(ConfigError, match="n must be at least 1"):
        model.ranked(features, 0)


def test_more_features_than_memory_should_hold_are_refused():
    features, labels = sparse.csr_array((2, 1 << 26), dtype=np.float32), topics(2)[1]
    with pytest.raises(ConfigError, match=r"67108864 features .* give fewer"):
        Exmlds(ExmldsConfig()).fit(features, labels)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("factors", 0),
        ("shift", 0.0),
        ("reg", -1.0),
        ("l1", -0.1),
        ("learners", 0),
        ("seed", -1),
        ("neighbours", 0),
        ("sharpness", -1.0),
        ("blend", float("nan")),
        ("epochs", -1),
        ("learning_rate", 0.0),
        ("optimiser", "sgd"),
        ("start", "here"),
        ("members", 0.0),
        ("variant", "exmlds5"),
    ],
)
def test_settings_outside_their_bounds_are_refused(name, value):
    with pytest.raises(ConfigError):
        with_settings(ExmldsConfig(), {name: value})


def test_a_random_start_needs_at_least_one_epoch():
    for config in (standard("exmlds2"), with_settings(standard("exmlds4"), {"start": "random"})):
        with pytest.raises(ConfigError, match="epochs must be in 1"):
            with_settings(config, {"epochs": 0})


def test_without_a_climb_the_map_is_the_regression():
    train, test = topics(100), topics(seed=1)
    flat, stays = small("exmlds1"), with_settings(small("exmlds4"), {"epochs": 0})
    one, other = (Exmlds(config).fit(*train).space.scores(test[0]) for config in (flat, stays))
    assert np.array_equal(one, other)


def test_every_setting_has_a_name_of_its_own():
    config = ExmldsConfig()
    groups = (config.votes, config.descent, config.mix)
    flat = settings_of(config)
    assert len(flat) == len(vars(config)) - len(groups) + sum(len(vars(one)) for one in groups)
    assert (flat["factors"], flat["sharpness"], flat["optimiser"]) == (100, 20.0, "adagrad")
    for name, value in flat.items():
        assert with_settings(config, {name: value}) == config


def test_admm_shrinks_the_places_that_features_are_mapped_to():
    train = topics()
    plain = Exmlds(small("exmlds1")).fit(*train).space.weights
    shrunk = Exmlds(small("exmlds1", l1=2.0)).fit(*train).space.weights
    assert np.abs(shrunk).sum() < 0.9 * np.abs(plain).sum()


# --- the search -----------------------------------------------------------------------------------


class Trials:
    """A clock that advances one second per call, so that a budget counts trials."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        self.seconds += 1.0
        return self.seconds


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_search_finds_better_settings_than_a_bad_start(variant):
    train, test = topics(200), topics(seed=1)
    start = replace(small(variant, reg=30.0), votes=Votes(neighbours=160, sharpness=0.0, blend=0.0))
    fixed = frozenset({"factors", "landmarks"})
    found = search(*train, start, Budget(Trials(), 12.0), fixed=fixed)
    assert found.variant == variant
    assert (found.factors, found.landmarks) == (8, 0)
    assert precision(Exmlds(found).fit(*train), test) > precision(Exmlds(start).fit(*train), test)


@pytest.mark.parametrize(("least", "climbs"), [(200.0, False), (-200.0, True)])
def test_a_climb_must_gain_enough_on_where_it_begins(least, climbs):
    fixed, start = frozenset({"factors", "landmarks", "reg"}), small("exmlds4")
    found = search(*topics(100), start, Budget(Trials(), 60.0), fixed=fixed, least_gain=least)
    assert (found.descent.epochs > 0) == climbs
    fixed |= {"epochs"}
    kept = search(*topics(100), start, Budget(Trials(), 60.0), fixed=fixed, least_gain=least)
    assert kept.descent.epochs == 10


def test_stated_settings_stay_and_without_a_budget_there_is_no_search():
    train = topics()
    start = small("exmlds1")
    assert search(*train, start, Budget(Trials(), 0.0)) == start
    fixed = frozenset({"reg", "factors", "landmarks", "blend", "sharpness"})
    found = search(*train, start, Budget(Trials(), 9.0), fixed=fixed)
    assert replace(found, votes=start.votes) == start
    assert (found.votes.blend, found.votes.sharpness) == (1.0, 10.0)


def test_too_few_points_to_search_on_are_refused():
    features, labels = topics(12)
    with pytest.raises(DataError, match="too few for a search of settings"):
        search(features, labels, small("exmlds1"), Budget(Trials(), 9.0))


# --- snapshots ------------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [{}, {"clusters": 3, "learners": 2}, {"landmarks": 20}])
def test_a_snapshot_answers_with_identical_bits(changes):
    features, labels = topics()
    space = Exmlds(small("exmlds1", **changes)).fit(features, labels).space
    snapshot = of_space("exmlds1", space, settings={"reg": 1.0}, metrics={}, cuts={})
    parts = {name: array_bytes(array) for name, array in snapshot.arrays.items()}
    again = space_of(restored(json.loads(json.dumps(snapshot.manifest)), parts))
    assert again.scores(features).tobytes() == space.scores(features).tobytes()
    assert not again.points.flags.writeable


def test_a_snapshot_of_another_model_is_refused():
    with pytest.raises(SnapshotFormat, match="not the snapshot of a label model"):
        space_of(Snapshot("popular", {"a": np.ones(1)}))
