"""Tests of the tables of NN-APA: its rivals' kernels, and the whole on generated ratings."""

import numpy as np
import pytest

from bench.data import from_columns
from bench.papers import nn_apa, online_kernels, online_pass
from bench.papers.charts import Chart
from bench.papers.online_pass import Stream
from tests.bench import paper_twins


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 20, 400), rng.integers(0, 15, 400)
    taste = rng.random((20, 3)), rng.random((15, 3))
    stars = 1.0 + np.clip(4.0 * (taste[0][users] * taste[1][items]).mean(axis=1) * 2.0, 0.0, 4.0)
    return from_columns("tiny", 1.0, 5.0, users, items, stars)


@pytest.fixture(scope="module")
def stream(ratings):
    return nn_apa.streams(ratings, 1)[0]


def columns(ratings):
    return ratings.user, ratings.item, ratings.rating


def of_both(name, ratings, make, *rest):
    """Return the arrays after the kernel and after its twin, from equal starts."""
    made = []
    for module in (online_kernels, paper_twins):
        arrays, predictions = make(), np.empty(len(ratings))
        getattr(module, name)(*arrays, *columns(ratings), *rest, predictions)
        made.append([*arrays, predictions])
    return made


def start(rank):
    rng = np.random.default_rng(1)
    return rng.random((20, rank)), rng.random((15, rank))


def test_coupled_users_move_as_by_the_whole_matrix(ratings):
    def make():
        users, items = start(4)
        return users, np.zeros(4), items

    ours, twin = of_both("multi_task", ratings, make, 0.02, 5.0)
    assert ours[-1] == pytest.approx(twin[-1])
    assert ours[0] + ours[1] == pytest.approx(twin[0] + twin[1])
    assert ours[2] == pytest.approx(twin[2])


def test_steps_without_the_constraint_are_those_of_the_formula(ratings):
    def make():
        users, items = start(4)
        return users, items, np.zeros_like(users), np.zeros_like(items)

    ours, twin = of_both("unconstrained", ratings, make, 0.3, 0.1)
    for mine, other in zip(ours, twin, strict=True):
        assert mine == pytest.approx(other)


def test_weights_follow_the_losses_of_the_drawn_experts(ratings):
    made = []
    draws = np.random.default_rng(3).random((len(ratings), 2))
    for module in (online_kernels, paper_twins):
        users, items = start(5)
        squares = np.zeros_like(users), np.zeros_like(items)
        first, c = np.array([0, 2, 5]), np.array([0.05, 1.0])
        log_weights, predictions = np.zeros(2), np.empty(len(ratings))
        fixed = first, c, 0.1, *columns(ratings), draws, np.log(0.9), 0.1
        module.sampled_losses(users, items, *squares, *fixed, log_weights, predictions)
        made.append((users, items, log_weights, predictions))
    for mine, other in zip(*made, strict=True):
        assert mine == pytest.approx(other)


def test_a_mixture_by_losses_weighs_the_better_expert_more(stream):
    experts = nn_apa.small_experts()[:5]
    run = online_pass.learned(stream, experts)
    errors, hedged = run.test_mae(), run.hedged(beta=0.5).test_mae()[0]
    assert hedged == pytest.approx(errors[run.train_mae().argmin()], abs=0.05)
    assert run.uniform().tested[:, 0] == pytest.approx(run.tested.mean(axis=1))


def test_a_setting_that_diverges_is_not_chosen(stream):
    worst = online_pass.learned(stream, [nn_apa.expert("SGD", 5, (50.0, 0.0))])
    assert worst.train_mae()[0] > 5.0
    rate, _ = nn_apa.tuned(stream, "SGD", 5, 9)
    assert rate <= nn_apa.RATES[-1]


def test_a_test_part_is_never_learned(ratings):
    for one in nn_apa.streams(ratings, 3):
        assert len(one.train) + len(one.test) == len(ratings)
        assert isinstance(one, Stream)
    rows = np.concatenate([one.rating for one in (one.train, one.test)])
    assert np.sort(rows) == pytest.approx(np.sort(ratings.rating))


def test_every_method_has_as_many_settings():
    counts = {len(nn_apa.settings_of(name)) for name in (*nn_apa.SIMPLE, *nn_apa.ADAPTIVE)}
    assert counts == {nn_apa.Plan().settings}


def test_all_tables_and_figures_of_a_set_are_made(ratings):
    plan = nn_apa.Plan(permutations=2, ranks=(2, 3), settings=3, tuned_on=200)
    made = list(nn_apa.of_set(ratings, plan))
    charts = {one.name for one in made if isinstance(one, Chart)}
    assert charts == {f"nn-apa-figure-{n}-tiny" for n in (1, 2, 3, 4)}
    rows = [one for one in made if not isinstance(one, Chart)]
    tables = {one.table for one in rows}
    assert tables >= {"Tables 2 and 3", "claims", "Figure 2", "Figure 3", "Figure 4"}
    named = {row.method for row in rows if row.measure == "test MAE"}
    for method in (*nn_apa.SIMPLE, *nn_apa.ADAPTIVE):
        assert {f"{method}, k=2", f"{method}, k=3"} <= named
    assert {nn_apa.UNIFORM, nn_apa.HEDGED} <= named
    claims = [row.verdict for row in rows if row.table == "claims"]
    assert set(claims) <= {"holds", "level", "fails"}
