"""The online model by ids predicts the same as the model with tables and numbers."""

import numpy as np
import pytest

from core.errors import ShapeError, StateMismatch
from core.online.config import OnlineConfig
from core.online.evaluate import OnlineRun
from core.online.experts import Biased
from core.online.model import OnlineModel
from core.rng import id_hashes
from hedgerow.online import RatingPredictor

N = 3_000
RNG = np.random.default_rng(0)
USERS, ITEMS = RNG.integers(0, 1_500, N), RNG.integers(0, 40, N)
RATINGS = RNG.integers(1, 6, N).astype(float)


def learned(*parts: slice) -> RatingPredictor:
    model = RatingPredictor()
    for part in parts:
        model.learn(USERS[part].tolist(), ITEMS[part].tolist(), RATINGS[part])
    return model


def said(model: RatingPredictor) -> list[list[float]]:
    found = model.predict([3, 7, "nobody"], [1, "nothing", 2])
    return [found.rating.tolist(), found.low.tolist(), found.high.tolist()]


def test_it_learns_as_the_model_with_numbered_rows() -> None:
    model = OnlineModel(OnlineConfig())
    run = OnlineRun(model, id_hashes(map(str, range(1_500))), id_hashes(map(str, range(40))))
    wanted = run.learn(USERS, ITEMS, RATINGS)
    predictor = RatingPredictor()
    found = predictor.learn(USERS.tolist(), ITEMS.tolist(), RATINGS)
    assert found.rating.tolist() == wanted.rating.tolist()
    again = predictor.predict(USERS[:50].tolist(), ITEMS[:50].tolist())
    assert again.rating.tolist() == run.predict(USERS[:50], ITEMS[:50]).rating.tolist()


def test_parts_teach_the_same_as_the_whole() -> None:
    assert said(learned(slice(0, 10), slice(10, 1_700), slice(1_700, N))) == said(
        learned(slice(0, N))
    )


def test_predicting_changes_nothing() -> None:
    model = learned(slice(0, 100))
    before = model.state()
    said(model)
    after = model.state()
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_restored_model_goes_on_as_if_nothing_had_happened() -> None:
    first, again = learned(slice(0, 2_000)), RatingPredictor()
    again.restore(first.state())
    rest = USERS[2_000:].tolist(), ITEMS[2_000:].tolist(), RATINGS[2_000:]
    assert first.learn(*rest).rating.tolist() == again.learn(*rest).rating.tolist()
    assert said(first) == said(again)


def test_state_of_other_experts_is_refused() -> None:
    other = RatingPredictor(OnlineConfig(experts=(Biased(2, 0.1, 0.1),)))
    with pytest.raises(StateMismatch):
        other.restore(learned(slice(0, 5)).state())


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError, match="2 users, 1 items"):
        RatingPredictor().predict(["a", "b"], ["c"])
    with pytest.raises(ShapeError, match="ratings of shape"):
        RatingPredictor().learn(["a"], ["c"], [1, 2])
