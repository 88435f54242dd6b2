"""The online model beyond the contract of all models, which test_contract.py tests."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from core.errors import ConfigError, ShapeError, StateMismatch
from core.online.config import OnlineConfig
from core.online.experts import DEFAULT, PAPER_SMALL, Biased, Kalman, PassiveAggressive, Resolved
from core.online.model import OnlineModel
from core.online.tables import RECENT, RatingRows, Side
from core.rng import id_hashes
from core.scale import Scale
from tests.core.contract import World, stream

SMALL = (
    Kalman(2, 0.7, 0.2, 0.6, 1.5),
    PassiveAggressive(rank=3, metric="full", c=0.1),
    Biased(2, 0.1, 0.1),
    PassiveAggressive(rank=2),
    Resolved(rank=2),
    Biased(4, 0.1, 0.1),
)
"""Experts of all families in an arbitrary order."""


def test_predictions_of_experts_are_in_the_order_of_the_set():
    together = World.start(OnlineConfig(experts=SMALL)).learn(stream(n=200))
    for e, expert in enumerate(SMALL):
        alone = World.start(OnlineConfig(experts=(expert,), seed=0)).learn(stream(n=1))
        # the first prediction comes from the start values: 3 + a little noise, or about 3.5
        assert abs(together.parts[0, e] - alone.parts[0, 0]) < 0.2
        assert together.parts[:, e].std() > 0.1
    names = OnlineModel(OnlineConfig(experts=SMALL)).names
    assert names == (
        "0-kalman-2",
        "1-nn-apa-full-3",
        "2-biased-2",
        "3-nn-apa-diag-2",
        "4-resolved-2",
        "5-biased-4",
    )


def test_an_expert_learns_the_same_alone_and_among_others():
    """Experts do not depend on one another."""
    company = World.start(OnlineConfig(experts=DEFAULT))
    together = company.learn(stream())
    kalman = World.start(OnlineConfig(experts=(DEFAULT[4],))).learn(stream())
    np.testing.assert_array_equal(together.parts[:, 4], kalman.parts[:, 0])


def test_only_sets_that_re_solve_users_need_recent_ratings():
    assert OnlineModel(OnlineConfig()).needs_recent
    paper = OnlineModel(OnlineConfig(experts=PAPER_SMALL))
    assert not paper.needs_recent
    assert OnlineModel(OnlineConfig()).user_table(3).recent_item.shape == (3, RECENT)
    assert paper.user_table(3).recent_item.shape == (3, 1)


def test_start_rows_carry_the_fingerprint():
    model = OnlineModel(OnlineConfig())
    rows = model.start(Side.USER, id_hashes(["a"]))
    assert rows.shape == (1, model.width)
    assert rows[0].tobytes()[:8] == model.fingerprint


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 1},
        {"experts": DEFAULT[:-1]},
        {"aggregator": "boa"},
        {"scale": Scale(0, 10)},
        {"beta": 0.9},
        {"share": 0.0},
        {"clip": False},
    ],
)
def test_the_fingerprint_tells_configurations_apart(changed):
    config = OnlineConfig()
    same = replace(config, scale=Scale(1, 5))
    assert OnlineModel(config).fingerprint == OnlineModel(same).fingerprint
    assert OnlineModel(replace(config, **changed)).fingerprint != OnlineModel(config).fingerprint


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"experts": ()}, "empty"),
        ({"aggregator": "median"}, "stack, hedge, boa, eg or uniform"),
        ({"seed": -1}, "seed"),
        ({"beta": 1.0}, "beta"),
        ({"beta": float("nan")}, "beta"),
        ({"share": 1.0}, "share"),
        ({"share": float("nan")}, "share"),
        ({"rho": 0.0, "experts": PAPER_SMALL}, "rho"),
        ({"rho": float("nan"), "experts": PAPER_SMALL}, "rho"),
        ({"rho": 0.5}, "sampled updates"),
        ({"rho": 0.5, "experts": (PassiveAggressive(metric="full"),)}, "sampled updates"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(wrong, said):
    with pytest.raises(ConfigError, match=said):
        OnlineConfig(**wrong)


def test_state_of_another_set_of_experts_is_refused_and_changes_nothing():
    mine = OnlineModel(OnlineConfig())
    other = OnlineModel(OnlineConfig(aggregator="boa"))
    with pytest.raises(StateMismatch, match=r"boa\.regret"):
        mine.load(other.arrays())
    fewer = OnlineModel(OnlineConfig(experts=DEFAULT[1:]))
    with pytest.raises(StateMismatch, match="another set"):
        mine.load(fewer.arrays())
    misshapen = {name: array.copy() for name, array in mine.arrays().items()}
    misshapen["stack.covariance"] = np.ones((2, 2))
    misshapen["mean"] += 1.0
    with pytest.raises(StateMismatch, match=r"stack\.covariance has shape"):
        mine.load(misshapen)
    assert mine.arrays()["mean"].tolist() == [0.0, 0.0]


def test_arrays_are_views_of_the_state():
    world = World.start(OnlineConfig())
    arrays = world.model.arrays()
    world.learn(stream(n=50))
    assert arrays["mean"][1] == 50.0
    assert all(array.dtype == np.float64 for array in arrays.values())
    assert max(array.nbytes for array in arrays.values()) < 4_096


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"user_ix": np.array([99])}, "row number"),
        ({"item_ix": np.array([-1])}, "row number"),
        ({"rating": np.array([np.nan])}, r"scale 1\.\.5"),
        ({"rating": np.array([5.1])}, r"scale 1\.\.5"),
        ({"rating": np.array([1.0, 2.0])}, "equal lengths"),
    ],
)
def test_a_batch_that_does_not_fit_is_refused_and_changes_nothing(change, said):
    world = World.start(OnlineConfig())
    before = world.bits()
    batch = {
        "user_ix": np.array([0]),
        "item_ix": np.array([0]),
        "rating": np.array([3.0]),
        "sequence": np.array([1]),
    }
    with pytest.raises(ShapeError, match=said):
        world.model.learn(world.users, world.items, RatingRows(**(batch | change)))
    assert world.bits() == before


def test_the_ends_of_a_scale_may_have_been_rounded_to_float32():
    world = World.start(OnlineConfig(scale=Scale(0.1, 0.3)))
    rounded = np.array([0.1, 0.3], dtype=np.float32).astype(np.float64)
    assert rounded[1] > 0.3
    pair = np.array([0, 1]), np.array([0, 1])
    ratings = RatingRows(*pair, rounded, np.array([1, 2]))
    learned = world.model.learn(world.users, world.items, ratings)
    assert (learned.high <= 0.3).all()


def test_tables_and_rows_of_another_width_are_refused():
    world = World.start(OnlineConfig())
    other = OnlineModel(OnlineConfig(experts=PAPER_SMALL))
    with pytest.raises(ShapeError, match="make the tables with this model"):
        world.model.learn(other.user_table(20), world.items, RatingRows(*stream(n=1)))
    with pytest.raises(ShapeError, match="equal shape"):
        world.model.predict(world.users.rows[:2], world.items.rows[:3])
    with pytest.raises(ShapeError, match="equal shape"):
        world.model.predict(other.user_table(1).rows, other.item_table(1).rows)


def test_rows_straight_from_bytes_are_predicted_without_another_compilation():
    world = World.start(OnlineConfig())
    world.learn(stream())
    rows = [table.rows[:3] for table in (world.users, world.items)]
    wanted = world.model.predict(*rows)
    shape = (3, world.model.width)
    read_only = [np.frombuffer(part.tobytes(), np.float32).reshape(shape) for part in rows]
    got = world.model.predict(*read_only)
    np.testing.assert_array_equal(got.rating, wanted.rating)


def test_threads_may_predict_at_the_same_time():
    world = World.start(OnlineConfig())
    world.learn(stream())
    pairs = [np.repeat(table.rows, 200, axis=0)[:3000] for table in (world.users, world.items)]
    wanted = world.model.predict(*pairs).rating
    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(lambda _: world.model.predict(*pairs).rating, range(12)))
    for rating in said:
        np.testing.assert_array_equal(rating, wanted)


def test_empty_batches_are_accepted():
    world = World.start(OnlineConfig())
    assert world.learn(stream(), 0, 0).rating.size == 0
    assert world.model.predict(world.users.rows[:0], world.items.rows[:0]).parts.shape == (0, 6)


@pytest.mark.parametrize("aggregator", ["stack", "hedge", "boa", "eg", "uniform"])
def test_experts_report_weights_losses_and_regret(aggregator):
    world = World.start(OnlineConfig(aggregator=aggregator))
    learned = world.learn(stream())
    reports = world.model.experts()
    assert [report.name for report in reports] == list(world.model.names)
    assert [report.family for report in reports] == [
        "nn-apa-diag",
        "biased",
        "biased",
        "kalman",
        "kalman",
        "resolved",
    ]
    assert [report.rank for report in reports] == [10, 24, 16, 5, 0, DEFAULT[-1].rank]
    assert [report.c for report in reports] == [0.02, 0.1, 0.1, None, None, DEFAULT[-1].c_factor]
    assert sum(report.weight for report in reports) == pytest.approx(1.0)
    assert sum(report.part for report in reports) == pytest.approx(1.0)
    np.testing.assert_array_equal(learned.weights, [report.part for report in reports])
    error = abs(learned.parts - stream()[2][:, None])
    np.testing.assert_allclose([r.cumulative_loss for r in reports], error.sum(axis=0) / 4.0)
    assert min(report.regret_to_best for report in reports) == 0.0
    assert 500 < reports[0].updates <= 600  # a non-negative expert learns only from a loss
    assert {report.updates for report in reports[1:]} == {600}
    late = error[-300:].mean(axis=0) / 4.0
    np.testing.assert_allclose([r.recent_loss for r in reports], late, rtol=0.2)


def test_sampled_updates_are_counted_and_rarer():
    config = OnlineConfig(experts=PAPER_SMALL, aggregator="hedge", rho=0.1, share=0.0, beta=0.9)
    world = World.start(config)
    world.learn(stream())
    updates = [report.updates for report in world.model.experts()]
    assert max(updates) <= 600
    assert sum(updates) < 0.7 * 15 * 600


def test_sampling_and_hedge_keep_the_same_weights():
    """The non-negative experts sample by their own weights, with Hedge's definition of the loss."""
    config = OnlineConfig(experts=PAPER_SMALL, aggregator="hedge", rho=0.2, share=0.0, beta=0.9)
    world = World.start(config)
    world.learn(stream())
    state = world.model.arrays()
    own, hedge = state["nn_apa.log_weights"], state["hedge.log_weight"]
    np.testing.assert_allclose(own - own.max(), hedge - hedge.max(), atol=1e-9)


def test_before_any_rating_every_expert_has_the_same_weight():
    for report in OnlineModel(OnlineConfig()).experts():
        assert (report.weight, report.part) == pytest.approx((1 / 6, 1 / 6))
        assert report.cumulative_loss == report.recent_loss == report.updates == 0.0


def test_the_median_like_output_has_the_smaller_absolute_error_on_skewed_ratings():
    """Most ratings 5, some 1: the median is near 5, the mean well below."""
    world = World.start(OnlineConfig())
    rng = np.random.default_rng(0)
    n = 4_000
    rating = np.where(rng.random(n) < 0.25, 1.0, 5.0)
    pairs = rng.integers(0, 20, n), rng.integers(0, 15, n)
    ratings = RatingRows(*pairs, rating, np.arange(n))
    said = world.model.learn(world.users, world.items, ratings)
    late = slice(n // 2, None)
    assert abs(said.rating - rating)[late].mean() < abs(said.mean - rating)[late].mean()
    assert ((said.mean - rating)[late] ** 2).mean() < ((said.rating - rating)[late] ** 2).mean()
