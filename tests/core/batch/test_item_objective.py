"""An item is folded in as a training would place it: by its users, its count and what is known."""

from dataclasses import fields, replace

import numpy as np
import pytest

from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.item_objective import ItemObjective, taker_vectors
from core.batch.item_prior import ItemPrior
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.model import Ocmf
from core.batch.ocmf.users import StructuredUsers
from core.batch.snapshot import of_users, users_of
from core.batch.takers import NewPairs, Takers
from core.errors import ConfigError, ShapeError
from core.snapshot import blob, mapped
from tests.core import ranking

CONFIG = FbgdConfig(factors=4, alpha0=5.0, rho=0.5, reg=2.0, epochs=60, steps=8, start=0.5)


def side(g=5, **more):
    rng = np.random.default_rng(3)
    turn, _ = np.linalg.qr(rng.normal(size=(g, g)))
    numbers = {"unobserved": 0.3, "rho": 0.5, "total": 200.0, "negative_target": -0.2}
    numbers |= {"reg": 0.4, "nu": 0.5, "mean_count": 8.0}
    return ItemObjective(
        rng.uniform(1, 9, g).astype(np.float32),
        turn.astype(np.float32),
        rng.normal(size=g).astype(np.float32),
        **{**numbers, **more},
    )


def pairs_of(evidence):
    """Return the pairs of one item with all users, in order."""
    n = len(evidence)
    items, ptr = np.zeros(1, np.int32), np.array([0, n])
    return NewPairs(items, ptr, np.arange(n), np.array(evidence, np.float32))


def naive(one, users, evidence, expected, told):
    """Solve the equation of an item with one pair of each user."""
    g, turn, n = one.gram.size, one.turn.astype(float), len(evidence)
    gram, total = turn @ np.diag(one.gram) @ turn.T, turn @ one.user_sum
    a = one.unobserved * (np.exp(n / one.total) - 1) ** one.rho * min(1, n / one.mean_count)
    below, reg = one.negative_target, one.reg * (n / one.mean_count) ** one.nu / (1 - told)
    left = a * gram + reg * np.eye(g)
    right = a * below * total + reg * expected
    for u, e in zip(users.astype(float), evidence, strict=True):
        left += (abs(e) - a) * np.outer(u, u)
        right += (max(e, 0.0) - a * below) * u
    return np.linalg.solve(left, right)


@pytest.mark.parametrize("told", [0.0, 0.7])
@pytest.mark.parametrize("n", [1, 4, 5, 6, 40])
def test_vectors_solve_the_equation_of_each_item(n, told):
    rng, one = np.random.default_rng(n), side()
    users = rng.normal(size=(n, 5)).astype(np.float32)
    evidence = rng.choice([1.0, 0.2, -1.0, 3.0], n)
    prior = ItemPrior(rng.normal(size=(1, 5)).astype(np.float32), np.array([told]))
    [made] = one.vectors(users, pairs_of(evidence), prior=prior)
    assert made.dtype == np.float32
    expected = naive(one, users, evidence, prior.vectors[0], told)
    np.testing.assert_allclose(made, expected, rtol=2e-3, atol=1e-4)


def test_without_a_prior_nothing_is_expected():
    rng, one = np.random.default_rng(2), side()
    users = rng.normal(size=(3, 5)).astype(np.float32)
    nothing = ItemPrior(np.zeros((1, 5), np.float32), np.zeros(1))
    plain, told = (one.vectors(users, pairs_of(np.ones(3)), prior=p) for p in (None, nothing))
    np.testing.assert_array_equal(plain, told)


def test_a_sure_prior_is_the_vector_until_events_speak_against_it():
    rng, one = np.random.default_rng(1), side()
    users, expected = rng.normal(size=(9, 5)).astype(np.float32), np.ones((1, 5), np.float32)
    distance = []
    for told in (1 - 1e-6, 0.99, 0.7, 0.0):
        prior = ItemPrior(expected, np.array([told]))
        made = one.vectors(users, pairs_of(np.ones(9)), prior=prior)
        distance.append(float(np.linalg.norm(made - expected)))
    assert distance[0] < 1e-2
    assert distance == sorted(distance)


def test_users_who_could_not_take_an_item_yet_say_little_against_it():
    """With few pairs the vector is longer than a training of an old item would make it."""
    rng, one = np.random.default_rng(7), side(unobserved=0.9, rho=0.0, negative_target=0.0)
    users = (0.1 * rng.normal(size=(2, 5))).astype(np.float32)
    [new] = one.vectors(users, pairs_of(np.ones(2)))
    old = replace(one, mean_count=2.0, reg=one.reg * (2 / one.mean_count) ** one.nu)
    [trained] = old.vectors(users, pairs_of(np.ones(2)))
    assert np.linalg.norm(new) > np.linalg.norm(trained)


def test_bad_parts_are_refused():
    with pytest.raises(ShapeError):
        replace(side(), user_sum=np.zeros(3, np.float32))
    with pytest.raises(ConfigError, match="total"):
        side(total=0.0)
    wrong = ItemPrior(np.zeros((2, 5), np.float32), np.zeros(1))
    with pytest.raises(ShapeError, match="prior"):
        side().vectors(np.zeros((1, 5), np.float32), pairs_of([1.0]), prior=wrong)


def test_an_item_gets_the_vector_of_the_training():
    """All rows of a converged training are as they would be folded in."""
    pairs, item = ranking.tribes(), 7
    model = Fbgd(CONFIG).fit(pairs)
    row, of_items = model.fitted, model.item_objective
    assert of_items is not None
    learned = np.arange(pairs.n_items) != item
    takers = Takers(pairs.ptr, pairs.item_ix, np.ones(len(pairs), np.float32))
    new = takers.pairs_but(learned)
    assert new.items.tolist() == [item]
    # with their rows as they are, which this item is part of
    [made] = of_items.vectors(row.vectors(pairs), new)
    np.testing.assert_allclose(made, row.item_factors[item], rtol=0.05, atol=0.01)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_a_one_class_model_places_items_as_its_training_did(loss):
    pairs = ranking.tribes()
    settings = {"factors": 4, "weight": 0.05, "reg": 1.0, "rounds": 25}
    model = Ocmf(OcmfConfig(loss=loss, **settings)).fit(pairs)
    row = model.row_objective
    takers = Takers(pairs.ptr, pairs.item_ix, np.ones(len(pairs), np.float32))
    new = takers.pairs_but(np.zeros(pairs.n_items, np.bool_))
    made = model.item_objective.vectors(row.vectors(pairs), new)
    trained = row.item_factors[new.items]
    assert np.corrcoef(made.ravel(), trained.ravel())[0, 1] > 0.98
    assert np.linalg.norm(made) == pytest.approx(np.linalg.norm(trained), rel=0.1)


def test_a_taker_is_known_by_what_the_training_has_learned():
    row = Fbgd(CONFIG).fit(ranking.tribes()).fitted
    n = row.item_factors.shape[0]
    items = np.array([1, 4, n + 1, 2, n], np.int32)
    takers = Takers(np.array([0, 3, 5]), items, np.array([1, -2, 5, 1, 1], np.float32))
    made = taker_vectors(row, takers)
    weight, target = np.array([1, 2], np.float32), np.array([1, 0], np.float32)
    expected = row.vector(np.array([1, 4], np.int32), weight, target)
    np.testing.assert_array_equal(made[0], expected)
    np.testing.assert_array_equal(made[1], row.vector(np.array([2], np.int32)))


def test_a_snapshot_holds_it_and_one_without_it_folds_no_items_in():
    row = Fbgd(CONFIG).fit(ranking.tribes())
    made = row.item_objective
    about = {"settings": {}, "metrics": {}, "cuts": {}}
    whole = of_users("fbgd", StructuredUsers(row.fitted, items=made), **about)
    read = users_of(mapped(whole.manifest, b"".join(blob(whole)))).items
    for one in fields(ItemObjective):
        np.testing.assert_array_equal(getattr(read, one.name), getattr(made, one.name))
    assert users_of(of_users("fbgd", StructuredUsers(row.fitted), **about)).items is None
