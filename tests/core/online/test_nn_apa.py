import numpy as np
import pytest

from core.errors import ConfigError
from core.online.config import OnlineConfig
from core.online.experts import PassiveAggressive
from core.online.nn_apa import FullMatrixGroup, PassiveAggressiveGroup
from core.online.tables import Side
from core.rng import id_hashes


def group(*experts, kind=PassiveAggressiveGroup, first_number=0, seed=0, rho=None):
    config = OnlineConfig(experts=experts, seed=seed, beta=0.999, rho=rho, clip=True)
    return kind(experts, first_number=first_number, config=config)


def start(built, side=Side.USER, names="ab"):
    rows = np.full((len(names), 2 + built.width + 1), 9.0, dtype=np.float32)
    built.start(side, id_hashes(names), 2, rows)
    return rows


def test_a_row_holds_each_experts_factors_and_then_its_accumulators():
    built = group(PassiveAggressive(rank=2), PassiveAggressive("identity", rank=3))
    assert (built.size, built.width) == (2, 7)
    rows = start(built)
    near = np.sqrt(3.5 / np.array([2, 2, 3, 3, 3]))
    np.testing.assert_allclose(rows[:, [2, 3, 6, 7, 8]], np.tile(near, (2, 1)), rtol=0.05)
    assert (rows[:, 4:6] == 0.0).all()
    assert (rows[:, [0, 1, 9]] == 9.0).all(), "only the own columns"


def test_the_full_matrix_keeps_its_upper_triangle():
    assert group(PassiveAggressive("full", rank=4), kind=FullMatrixGroup).width == 4 + 10


def test_the_start_of_the_paper_is_uniform_between_0_and_1():
    rows = start(group(PassiveAggressive("sgd", rank=1000, init="paper")))[:, 2:-1]
    assert rows.min() >= 0.0
    assert 0.95 < rows.max() < 1.0
    assert abs(rows.mean() - 0.5) < 0.05


def test_a_start_depends_on_seed_side_id_and_number_of_the_expert():
    expert = PassiveAggressive("sgd", rank=3)
    rows = start(group(expert))
    np.testing.assert_array_equal(rows, start(group(expert)))
    assert (rows[0] != rows[1]).any()
    assert (start(group(expert), side=Side.ITEM) != rows).any()
    assert (start(group(expert, seed=1)) != rows).any()
    assert (start(group(expert, first_number=1)) != rows).any()
    both = start(group(PassiveAggressive("sgd", rank=1), expert, first_number=0))
    np.testing.assert_array_equal(both[:, 3:6], start(group(expert, first_number=1))[:, 2:5])


@pytest.mark.parametrize(
    ("expert", "rho", "says"),
    [
        (PassiveAggressive("full"), 0.1, "rho"),
        (PassiveAggressive("full", rank=65), None, "rank 64"),
    ],
)
def test_the_full_matrix_refuses_unsupported_settings(expert, rho, says):
    with pytest.raises(ConfigError, match=says):
        group(expert, kind=FullMatrixGroup, rho=rho)


@pytest.mark.parametrize(
    "recipe",
    [{"rank": 0}, {"c": 0.0}, {"c": float("nan")}, {"eps": -0.1}, {"delta": 0.0}, {"cap": 0.0}],
)
def test_a_recipe_that_cannot_learn_is_refused(recipe):
    with pytest.raises(ConfigError, match=next(iter(recipe))):
        group(PassiveAggressive(**recipe))
