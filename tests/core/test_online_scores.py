import numpy as np
import pytest

from core.kernels.online_scores import expert_scores
from core.online.experts import DEFAULT, PAPER_SMALL, PassiveAggressive
from core.online.model import OnlineConfig, OnlineModel, Scale
from core.online.tables import Side
from core.rng import id_hashes
from tests.core import reference_online_scores

SETS = {"default": DEFAULT, "paper": PAPER_SMALL, "mixed": (DEFAULT[4], *PAPER_SMALL[:1])}
SETS["full"] = (PassiveAggressive(metric="full", rank=3), *DEFAULT[-2:])


def a_learned_model(experts, aggregator="stack", n=4_000, n_users=40, n_items=60):
    rng = np.random.default_rng(5)
    model = OnlineModel(OnlineConfig(experts=experts, aggregator=aggregator, scale=Scale(0, 10)))
    users, items = model.user_table(n_users), model.item_table(n_items)
    users.rows[:] = model.start(Side.USER, id_hashes(f"u{n}" for n in range(n_users)))
    items.rows[:] = model.start(Side.ITEM, id_hashes(f"i{n}" for n in range(n_items)))
    user, item = rng.integers(n_users, size=n), rng.integers(n_items, size=n)
    rating = np.clip(5 + 3 * np.sin(user + item) + rng.normal(size=n), 0, 10)
    model.learn(users, items, user, item, rating, np.arange(1, n + 1))
    return model, users.rows, items.rows


@pytest.mark.parametrize("aggregator", ["stack", "hedge", "boa", "uniform"])
@pytest.mark.parametrize("experts", SETS)
def test_scores_are_the_predictions_of_the_same_rows(experts, aggregator):
    model, users, items = a_learned_model(SETS[experts], aggregator)
    narrow = model.parameters(items)
    assert narrow.shape[1] < items.shape[1]
    for user in users[:5]:
        scores = model.scores(user, narrow)
        predicted = model.predict(np.broadcast_to(user, items.shape), items).rating
        assert model.config.scale.native(scores.clip(1, 5)) == pytest.approx(predicted, abs=2e-5)


def test_more_items_than_a_block_change_no_score():
    model, users, items = a_learned_model(DEFAULT)
    narrow = model.parameters(items)
    many = np.tile(narrow, (200, 1))
    expected = np.tile(model.scores(users[0], narrow), 200)
    assert np.array_equal(model.scores(users[0], many), expected)


def test_the_kernel_is_its_twin():
    model, users, items = a_learned_model(DEFAULT)
    places = [(p.bias, slice(p.factors, p.factors + p.rank)) for p in model._places()]
    clipped, known = reference_online_scores.expert_scores(
        users[3].astype(float), items.astype(float), 3.2, places, 1.0, 5.0
    )
    scorer = model._scorer
    found, seen = np.empty((len(items), len(places))), np.empty((len(items), 5))
    [user] = model.parameters(users[3:4])
    expert_scores(user, model.parameters(items), 3.2, *scorer._places, 1.0, 5.0, found, seen)
    assert found == pytest.approx(clipped, abs=1e-5)
    assert seen == pytest.approx(known, abs=1e-5)
