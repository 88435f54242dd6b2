"""The search of settings: the top of a known function, the budget, and training data alone."""

import itertools
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from core.batch.contexts import search as context_search
from core.batch.contexts.config import ContextConfig, DescentConfig
from core.batch.fbgd import search as fbgd_search
from core.batch.fbgd import validation
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.fbgd.validation import Comparison, HeldOutUsers, ValidationSplit, scored_as_given
from core.batch.ocmf import search as ocmf_search
from core.batch.ocmf.config import OcmfConfig
from core.batch.row_objective import FAMILIAR, RowObjective
from core.batch.weighting import mean_weight
from core.errors import ConfigError, DataError, Diverged
from core.interactions import from_pairs
from core.search.search import Axis, Budget, Outcome, Search
from tests.core import ranking

AXES = (Axis("rate", 1e-3, 10.0, log=True), Axis("share", 0.0, 1.0))


def hill(settings):
    """A hill with its top at rate 0.1, share 0.3."""
    distance = np.log10(settings["rate"] / 0.1) ** 2 + 4.0 * (settings["share"] - 0.3) ** 2
    return Outcome(float(np.exp(-distance)), {"epochs": 3})


def ticking(step=1.0):
    """Return a clock that advances ``step`` / 2 with every call."""
    return itertools.count(0.0, step / 2.0).__next__


def test_the_top_of_a_hill_is_found_in_few_trials():
    search = Search(AXES, hill, lambda settings: 1.0, np.random.default_rng(0))
    first = [{"rate": 5.0, "share": 0.9}, {"rate": 0.005, "share": 0.8}]
    best = search.run(first, Budget(ticking(), 1e4), most=40)
    assert len(search.trials) == 40
    assert best.outcome.score > 0.95
    assert best.outcome.found == {"epochs": 3}


def test_noise_does_not_decide():
    rng = np.random.default_rng(1)

    def noisy(settings):
        return Outcome(hill(settings).score * float(np.exp(0.1 * rng.standard_normal())), {})

    search = Search(AXES, noisy, lambda settings: 1.0, np.random.default_rng(0))
    best = search.run([{"rate": 1.0, "share": 0.5}], Budget(ticking(), 1e4), most=50)
    assert hill(best.settings).score > 0.85


def test_among_equally_good_settings_the_usual_ones_are_chosen():
    axes = (replace(AXES[0], usual=0.02), replace(AXES[1], usual=0.8))
    search = Search(axes, lambda _: Outcome(0.5, {}), lambda _: 1.0, np.random.default_rng(0))
    best = search.run([{"rate": 5.0, "share": 0.1}], Budget(ticking(), 1e4), most=30)
    assert 0.002 < best.settings["rate"] < 0.2
    assert 0.6 < best.settings["share"] <= 1.0


def test_better_settings_win_over_usual_ones():
    axes = (replace(AXES[0], usual=10.0), replace(AXES[1], usual=1.0))
    search = Search(axes, hill, lambda _: 1.0, np.random.default_rng(0))
    assert (
        search.run([{"rate": 5.0, "share": 0.9}], Budget(ticking(), 1e4), most=40).outcome.score
        > 0.95
    )


def test_candidates_keep_some_values_of_the_best_and_differ_far_in_others():
    """Neighbours of the best trials alone would never leave the end of an axis."""
    search = Search(AXES, hill, lambda _: 1.0, np.random.default_rng(0))
    search.run([{"rate": 10.0, "share": 0.1}], Budget(ticking(), 1e4), most=1)
    some = [one["share"] for one in search._candidates() if one["rate"] == 10.0]
    assert sum(share > 0.5 for share in some) > 20


def test_the_budget_ends_the_search_and_one_trial_is_always_made():
    search = Search(AXES, hill, lambda settings: 1.0, np.random.default_rng(0))
    search.run([{"rate": 1.0, "share": 0.5}] * 100, Budget(ticking(), 20.0), most=100)
    assert 5 <= len(search.trials) <= 20
    search = Search(AXES, hill, lambda settings: 1.0, np.random.default_rng(0))
    search.run([{"rate": 1.0, "share": 0.5}], Budget(ticking(), 1e-9), most=100)
    assert len(search.trials) == 1


def test_trials_that_cost_too_much_are_not_made():
    axes = (Axis("factors", 8, 512, log=True, multiple=8),)
    now = [0.0]

    def slow(settings):
        now[0] += settings["factors"]
        return Outcome(settings["factors"] / 512.0, {})

    search = Search(
        axes,
        slow,
        lambda settings: settings["factors"],
        np.random.default_rng(0),
        lambda settings: {"factors": 2 * settings["factors"]},
    )
    search.run([{"factors": 8}], Budget(lambda: now[0], 1000.0), most=1000)
    assert max(trial.settings["factors"] for trial in search.trials) == 112
    assert now[0] < 1000.0


def test_the_first_trials_keep_to_the_budget_too():
    now = [0.0]

    def slow(settings):
        now[0] += 6.0
        return Outcome(1.0, {})

    search = Search(AXES, slow, lambda settings: 1.0, np.random.default_rng(0))
    search.run([{"rate": 1.0, "share": 0.5}] * 9, Budget(lambda: now[0], 20.0), most=100)
    assert now[0] == 18.0


def test_diverging_trials_score_0_and_end_a_search_only_if_all_diverge():
    def steep(settings):
        if settings["rate"] > 0.2:
            raise Diverged(f"a rate of {settings['rate']}")
        return hill(settings)

    search = Search(AXES, steep, lambda settings: 1.0, np.random.default_rng(0))
    best = search.run([{"rate": 5.0, "share": 0.9}], Budget(ticking(), 1e4), most=40)
    assert search.trials[0].outcome == Outcome(0.0, {})
    # a diverged trial counts as the worst of the others and hides no difference between them
    found = np.array([trial.outcome.score for trial in search.trials])
    believed = search._scores()
    assert set(believed[found == 0.0]) == {believed[found > 0.0].min()}
    assert best.outcome.score > 0.9

    def flat(settings):
        return replace(steep(settings), score=0.5)

    # it does not win among equal scores either
    search = Search(AXES, flat, lambda settings: 1.0, np.random.default_rng(0))
    assert search.run([{"rate": 5.0, "share": 0.9}], Budget(ticking(), 1e4), most=9).outcome.score
    with pytest.raises(Diverged, match=r"a rate of 5\.0"):
        Search(AXES, steep, lambda settings: 1.0, np.random.default_rng(0)).run(
            [{"rate": 5.0, "share": 0.9}], Budget(ticking(), 1e4), most=1
        )


@pytest.mark.parametrize("most", [2, 20])
def test_a_diverging_trial_gains_nothing_from_usual_settings(most):
    axes = (replace(AXES[0], usual=0.1), replace(AXES[1], usual=0.5))

    def hollow(settings):
        if abs(np.log10(settings["rate"] / 0.1)) < 1.0 and abs(settings["share"] - 0.5) < 0.3:
            raise Diverged("inside")
        return Outcome(0.5, {})

    first = [{"rate": 0.1, "share": 0.5}, {"rate": 0.002, "share": 0.1}]
    for seed in range(10):
        search = Search(axes, hollow, lambda settings: 1.0, np.random.default_rng(seed))
        assert search.run(first, Budget(ticking(), 1e4), most=most).outcome.score == 0.5
        found = search._raw_scores()
        assert search._scores()[found == 0.0].max() <= search._scores()[found > 0.0].min()
        assert np.count_nonzero(found == 0.0) <= 0.5 * most


def test_a_search_whose_trials_all_score_0_has_a_result():
    search = Search(AXES, lambda _: Outcome(0.0, {}), lambda _: 1.0, np.random.default_rng(0))
    assert search.run([{"rate": 1.0, "share": 0.5}], Budget(ticking(), 1e4), most=12)


def test_no_settings_are_tried_twice():
    axis = Axis("factors", 8, 64, log=True, multiple=8)
    search = Search([axis], lambda _: Outcome(0.5, {}), lambda _: 1.0, np.random.default_rng(0))
    search.run([{"factors": 8}], Budget(ticking(), 1e4), most=30)
    tried = [trial.settings["factors"] for trial in search.trials]
    assert len(set(tried)) == len(tried) <= 8


def test_the_same_seed_finds_the_same():
    found = []
    for _ in range(2):
        search = Search(AXES, hill, lambda settings: 1.0, np.random.default_rng(3))
        search.run([{"rate": 1.0, "share": 0.5}], Budget(ticking(), 1e4), most=12)
        found.append([trial.settings for trial in search.trials])
    assert found[0] == found[1]


@pytest.mark.parametrize("axis", [*AXES, Axis("n", 8, 512, log=True, multiple=8)])
def test_an_axis_maps_values_to_the_unit_interval_and_back(axis):
    for unit in (0.0, 0.25, 1.0):
        assert axis.unit(axis.value(unit)) == pytest.approx(unit, abs=0.02)


@pytest.mark.parametrize("log", [True, False])
def test_an_axis_may_have_a_single_value(log):
    axis = Axis("factors", 16, 16, log=log, multiple=8)
    assert axis.value(axis.unit(16)) == axis.value(1.0) == 16


def test_fbgd_settings_are_found_on_training_data_alone():
    pairs = ranking.tribes(users=60, items=40)
    config = fbgd_search.search(pairs, FbgdConfig(seed=4), Budget(ticking(), 30.0))
    assert config.seed == 4
    assert config.factors <= 40
    assert config.nu_user == config.nu_item


def test_a_search_starts_at_the_usual_settings():
    pairs = ranking.tribes()
    usual = {axis.name: axis.usual for axis in fbgd_search.axes_for(pairs) if axis.usual}
    rough = fbgd_search.rough(pairs)
    assert usual == {name: rough[name] for name in ("alpha0", "reg")}
    # far from the usual settings a score counts a little less; clearly better ones still win
    axes, rng = fbgd_search.axes_for(pairs), np.random.default_rng(0)
    search = Search(axes, lambda _: Outcome(0.5, {}), lambda _: 1.0, rng)
    search.run([{axis.name: axis.high for axis in axes}], Budget(ticking(), 1e4), most=1)
    assert 0.01 < search._doubts()[0] < 0.04


def test_for_short_histories_the_shrinkage_is_searched_too():
    short = ranking.tribes(users=60, items=40)
    users, items = np.nonzero(np.random.default_rng(0).random((60, 120)) < 0.3)
    long = from_pairs(users, items)
    assert long.user_counts.mean() > FAMILIAR > short.user_counts.mean()
    assert "shrinkage" not in {axis.name for axis in fbgd_search.axes_for(long)}
    assert fbgd_search.search(long, FbgdConfig(), Budget(ticking(), 20.0)).shrinkage == 0.0
    found = fbgd_search.search(short, FbgdConfig(), Budget(ticking(), 20.0))
    assert fbgd_search.SHRINKAGES[0] <= found.shrinkage <= fbgd_search.SHRINKAGES[1]
    stated = FbgdConfig(shrinkage=3.0)
    budget = Budget(ticking(), 20.0)
    assert (
        fbgd_search.search(short, stated, budget, fixed=frozenset({"shrinkage"})).shrinkage == 3.0
    )


@pytest.mark.parametrize("exact", [True, False])
def test_held_out_users_are_shrunk_as_in_serving(exact):
    split = ValidationSplit(ranking.tribes(), np.random.default_rng(0))
    split.few = heard = listening(split.few, [])
    for shrinkage in (0.0, 4.0):
        heard.models.clear()
        config = replace(GOOD, shrinkage=shrinkage)
        scored_as_given([split], config) if exact else Comparison([split]).score(config)
        assert {model.shrinkage > 0.0 for model in heard.models} == {shrinkage > 0.0}


def test_a_fit_on_part_of_the_pairs_scales_the_weight_of_unobserved_pairs():
    pairs = ranking.tribes(users=60, items=40)
    split = ValidationSplit(pairs, np.random.default_rng(0))
    config = FbgdConfig(alpha0=100.0)
    assert split.adapted(config).alpha0 == pytest.approx(100.0 * len(split.fit) / len(pairs))
    assert split.adapted(config).reg == config.reg


def test_several_splits_hold_out_half_as_much_each():
    for users, n, held_out in ((120, validation.MOST_SPLITS, 0.1), (6_500, 1, 0.2)):
        pairs = ranking.tribes(users=users, items=60)
        splits = fbgd_search._splits(pairs, np.random.default_rng(0))
        assert len(splits) == n
        left = np.mean([len(split.fit) for split in splits]) / len(pairs)
        assert left == pytest.approx(1.0 - held_out, abs=0.02)


GOOD = FbgdConfig(factors=8, alpha0=60.0, reg=1.0)


@dataclass(frozen=True)
class Listening(HeldOutUsers):
    """Held-out users that record each model they score, and themselves in a shared list."""

    asked: list[HeldOutUsers]
    models: list[RowObjective] = field(default_factory=list)

    def score(self, fitted):
        self.asked.append(self)
        self.models.append(fitted)
        return super().score(fitted)


def listening(jury, asked):
    return Listening(jury.seen, jury.held, asked)


def listening_split(pairs, rng, **more):
    """Return a split and a list of its users' scorings, in their order."""
    split, asked = ValidationSplit(pairs, rng, **more), []
    split.few, split.others = listening(split.few, asked), listening(split.others, asked)
    return split, asked


def ids(juries):
    return {id(jury) for jury in juries}


def test_settings_that_fall_behind_are_not_tried_on_other_splits():
    pairs, rng = ranking.tribes(), np.random.default_rng(0)
    splits, asked = zip(*(listening_split(pairs, rng, alone=False) for _ in range(3)), strict=True)
    comparison = Comparison([*splits])
    best = comparison.score(GOOD)
    assert [ids(juries) for juries in asked] == [{id(split.few)} for split in splits]
    for juries in asked:
        juries.clear()
    behind = comparison.score(replace(GOOD, reg=30.0))
    assert behind.score < 0.95 * best.score
    assert [ids(juries) for juries in asked] == [{id(splits[0].few)}, set(), set()]


def test_few_users_score_each_epoch_and_all_users_the_best_settings():
    split, asked = listening_split(ranking.tribes(), np.random.default_rng(0), n_few=40)
    few, others = split.few, split.others
    assert few.size == 40 < others.size
    comparison = Comparison([split])
    best = comparison.score(GOOD)
    assert asked[-1] is others
    assert ids(asked[:-1]) == {id(few)}
    # the score is that of all users after the chosen epochs
    config = split.adapted(replace(GOOD, epochs=best.found["epochs"]))
    fitted = Fbgd(config).fit(split.fit).fitted
    assert best.score == pytest.approx(by_all(split, fitted), rel=1e-5)
    asked.clear()
    assert comparison.score(replace(GOOD, reg=30.0)).score < 0.95 * best.score
    assert ids(asked) == {id(few)}


def by_all(split, fitted):
    """Return the mean score of all users of a split."""
    n, more = split.few.size, split.others.size
    return (n * split.few.score(fitted) + more * split.others.score(fitted)) / (n + more)


def test_a_hopeless_fit_ends_early():
    split, asked = listening_split(ranking.tribes(), np.random.default_rng(0))
    comparison = Comparison([split])
    comparison.score(GOOD)
    asked.clear()
    # all users are among the few here, and the first epoch is not judged
    comparison.score(replace(GOOD, reg=30.0))
    assert len(asked) == 2


@pytest.mark.parametrize("epochs", [1, 6])
def test_stated_epochs_are_scored_once_after_the_last(epochs):
    split, asked = listening_split(ranking.tribes(), np.random.default_rng(0), n_few=40)
    config = replace(GOOD, epochs=epochs)
    outcome = scored_as_given([split], config)
    assert [id(jury) for jury in asked] == [id(split.few), id(split.others)]
    fitted = Fbgd(split.adapted(config)).fit(split.fit).fitted
    assert outcome == Outcome(by_all(split, fitted), {})


@pytest.mark.parametrize(
    ("scores", "given_up"),
    [
        ([0.0, 0.2], False),
        ([0.0, 0.2, 0.74], True),
        ([0.0, 0.2, 0.76], False),
        ([0.0, 0.93, 0.95], False),
        ([0.0, 0.94, 0.95], True),
    ],
)
def test_a_trial_ends_far_below_the_best_or_if_two_more_epochs_would_not_suffice(scores, given_up):
    assert validation._hopeless(scores, 1.0) == given_up


def test_fixed_settings_stay():
    pairs = ranking.tribes(users=60, items=40)
    base = FbgdConfig(factors=12, epochs=2, nu_item=0.25)
    fixed = frozenset({"factors", "epochs", "nu_item"})
    config = fbgd_search.search(pairs, base, Budget(ticking(), 12.0), fixed=fixed)
    assert (config.factors, config.epochs, config.nu_item) == (12, 2, 0.25)
    assert config.alpha0 != base.alpha0
    names = frozenset(
        {"factors", "epochs", "nu_item", "nu_user", "alpha0", "rho", "reg", "shrinkage"}
    )
    assert fbgd_search.search(pairs, base, Budget(ticking(), 12.0), fixed=names) == base
    only_epochs = fbgd_search.search(pairs, base, Budget(ticking(), 12.0), fixed=names - {"epochs"})
    assert only_epochs == FbgdConfig(**{**vars(base), "epochs": only_epochs.epochs})


def test_without_a_budget_the_rough_settings_are_returned():
    pairs = ranking.tribes(users=60, items=40)
    config = fbgd_search.search(pairs, FbgdConfig(), Budget(ticking(), 0.0))
    assert vars(config) | fbgd_search.rough(pairs) == vars(config)


@pytest.mark.filterwarnings("error")
def test_ten_users_with_two_pairs_suffice():
    """With so few users some splits could be left without held-out users."""
    for seed in (13, 14, 16):
        items = np.random.default_rng(seed).random((10, 8)).argsort(axis=1)[:, :2]
        pairs = from_pairs(np.repeat(np.arange(10), 2), items.ravel())
        splits = fbgd_search._splits(pairs, np.random.default_rng(seed))
        model = Fbgd(FbgdConfig(factors=2, epochs=1)).fit(pairs)
        assert all(np.isfinite(split.few.score(model.fitted)) for split in splits)


@pytest.mark.parametrize("seconds", [0.0, 12.0])
@pytest.mark.parametrize("weight", [0.2, 10.0])
def test_pairs_that_all_weigh_the_same_find_the_same_settings(weight, seconds):
    """All weights times c, alpha0 times c and reg times c is the same problem."""
    pairs = ranking.tribes(users=60, items=40)
    plain, scaled = (
        fbgd_search.search(one, FbgdConfig(), Budget(ticking(), seconds))
        for one in (pairs, ranking.weighing(pairs, weight))
    )
    assert scaled.alpha0 == pytest.approx(weight * plain.alpha0, rel=1e-3)
    assert scaled.reg == pytest.approx(weight * plain.reg, rel=1e-3)
    assert replace(scaled, alpha0=plain.alpha0, reg=plain.reg) == plain


def test_the_unit_of_weights_is_the_mean_of_the_positives():
    users, items = np.array([0, 0, 1]), np.array([0, 1, 0])
    weight = np.array([2.0, 4.0, 30.0])
    assert mean_weight(from_pairs(users, items)) == 1.0
    assert mean_weight(from_pairs(users, items, weight=weight)) == 12.0
    assert mean_weight(from_pairs(users, items, weight=weight, target=[1.0, 1.0, 0.0])) == 3.0
    assert mean_weight(from_pairs(users, items, weight=weight, target=[-1.0, 0.0, 0.0])) == 12.0


def test_too_little_data_is_an_error_with_advice():
    pairs = from_pairs(np.array([0, 1]), np.array([0, 1]))
    with pytest.raises(DataError, match="state settings"):
        fbgd_search.search(pairs, FbgdConfig(), Budget(ticking(), 1.0))
    with pytest.raises(ConfigError, match="leave at least one"):
        Search((), hill, lambda settings: 1.0, np.random.default_rng(0))


# --- rules of all three searches ------------------------------------------------------------------


def with_dislikes():
    """Return pairs; every other one is a dislike."""
    pairs = ranking.tribes(users=60, items=40)
    return replace(pairs, target=(np.arange(len(pairs)) % 2).astype(np.float32))


def test_disliked_items_are_no_hits_in_validation():
    pairs, rng = with_dislikes(), np.random.default_rng(0)
    context = context_search._Validation(pairs, None, rng, Budget(ticking(), 1.0), exact=False)
    for held in (
        ValidationSplit(pairs, rng).few.held,
        ocmf_search.splits_of(pairs, rng)[0]._held,
        context._held,
    ):
        assert len(held) > 0
        assert held.target is None or (held.target > 0).all()


SEARCHES = {
    "fbgd": lambda pairs, budget: fbgd_search.search(pairs, FbgdConfig(), budget),
    "ocmf": lambda pairs, budget: ocmf_search.search(pairs, OcmfConfig(), budget),
    "mf": lambda pairs, budget: context_search.search(pairs, ContextConfig("mf"), budget),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_without_any_hit_the_rough_settings_are_returned(name):
    """No two users share an item."""
    lonely = from_pairs(np.repeat(np.arange(60), 2), np.arange(120), n_items=9_000)
    found, rough = (SEARCHES[name](lonely, Budget(ticking(), s)) for s in (20.0, 0.0))
    assert found == rough


@pytest.mark.parametrize("name", SEARCHES)
def test_without_likes_the_rough_settings_are_returned_or_the_search_refuses(name):
    pairs = ranking.tribes(users=60, items=40)
    disliked = replace(pairs, target=np.zeros(len(pairs), np.float32))
    if name == "mf":
        with pytest.raises(DataError, match="one of them liked"):
            SEARCHES[name](disliked, Budget(ticking(), 20.0))
    else:
        found, rough = (SEARCHES[name](disliked, Budget(ticking(), s)) for s in (20.0, 0.0))
        assert found == rough


def test_without_any_hit_a_single_open_setting_stays_rough():
    lonely = from_pairs(np.repeat(np.arange(60), 2), np.arange(120), n_items=9_000)
    names = frozenset({"factors", "alpha0", "reg", "nu_user", "nu_item", "shrinkage"})
    found = fbgd_search.search(lonely, FbgdConfig(), Budget(ticking(), 20.0), fixed=names)
    assert found.epochs == fbgd_search.rough(lonely)["epochs"]
    names = frozenset({"factors", "weight", "reg", "nu"})
    found = ocmf_search.search(lonely, OcmfConfig(), Budget(ticking(), 20.0), fixed=names)
    assert found.rounds == ocmf_search.rough(lonely, OcmfConfig())["rounds"]


@pytest.mark.parametrize("name", ["fbgd", "mf"])
def test_a_first_trial_that_is_cut_short_does_not_choose_epochs(name):
    looks, pairs = itertools.count(), ranking.tribes(users=60, items=40)
    late = Budget(lambda: float(next(looks)), 4.0)
    epochs = [SEARCHES[name](pairs, budget) for budget in (late, Budget(ticking(), 0.0))]
    if name == "mf":
        epochs = [config.descent for config in epochs]
    assert epochs[0].epochs == epochs[1].epochs


LONG = {
    "fbgd": SEARCHES["fbgd"],
    "ocmf": lambda pairs, budget: ocmf_search.search(
        pairs, OcmfConfig(rounds=500), budget, fixed=frozenset({"rounds"})
    ),
    "mf": lambda pairs, budget: context_search.search(
        pairs,
        ContextConfig("mf", 8, DescentConfig(epochs=500)),
        budget,
        fixed=frozenset({"epochs"}),
    ),
}
"""Searches whose first trial calls the clock 46 times and more if it is not cut short."""


@pytest.mark.parametrize("name", LONG)
def test_a_trial_that_overruns_the_budget_is_cut_short(name):
    """Every call of the clock takes a second."""
    looks = itertools.count()
    LONG[name](ranking.tribes(users=60, items=40), Budget(lambda: float(next(looks)), 20.0))
    assert 20 < next(looks) < 35


def test_with_many_items_few_users_validate():
    pairs = ranking.tribes(users=700, items=40)
    many = replace(pairs, n_items=1_000_000)
    budget = Budget(ticking(), 1.0)
    few, all_of_them = (
        context_search._Validation(one, None, np.random.default_rng(0), budget, exact=False)._users
        for one in (many, pairs)
    )
    assert few.size == context_search.FEWEST_HELD_OUT < all_of_them.size
