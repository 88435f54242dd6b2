import numpy as np
import pytest

from core.kernels.online_scores import online_scores
from core.online.config import OnlineConfig
from core.online.experts import DEFAULT, PAPER_SMALL, PassiveAggressive
from core.online.model import OnlineModel
from core.online.tables import RatingRows, Side
from core.rng import id_hashes
from core.scale import Scale
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
    model.learn(users, items, RatingRows(user, item, rating, np.arange(1, n + 1)))
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


def test_the_contribution_of_items_can_be_computed_in_advance():
    model, users, items = a_learned_model(DEFAULT)
    narrow = model.parameters(items)
    expected = model.scores(users[0], narrow)
    assert np.array_equal(model.scores(users[0], narrow, model.item_part(narrow)), expected)


def test_the_kernel_agrees_with_its_twin():
    model, users, items = a_learned_model(DEFAULT)
    places = [(p.bias, slice(p.factors, p.factors + p.rank)) for p in model._places()]
    parts, rng = np.linspace(-1, 2, len(places)), np.random.default_rng(0)
    item_part = rng.normal(size=len(items)).astype(np.float32)
    expected = reference_online_scores.online_scores(
        users[3].astype(float),
        items.astype(float),
        3.2,
        places,
        1.0,
        5.0,
        parts,
        (0.7, -0.2),
        0.3,
        item_part,
    )
    found = np.empty(len(items), np.float32)
    [user] = model.parameters(users[3:4])
    online_scores(
        user,
        model.parameters(items),
        3.2,
        *model._scorer._places,
        1.0,
        5.0,
        parts,
        0.7,
        -0.2,
        0.3,
        item_part,
        found,
    )
    assert found == pytest.approx(expected, abs=2e-5)
