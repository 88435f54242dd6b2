"""A family may serve to place new items alone; a training that finds that it adds lets it mix."""

from typing import Any

import numpy as np
import pytest

from core.batch.content.snapshot import of_content
from core.batch.preferences import Preferences
from core.mixture_weights import Weights
from core.stack.arms import STACK, Arms
from core.stack.logit import Logit
from service.learning.following.judge import _verdict
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.family import ADDS, Published
from service.ranking.lineup import Lineup
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.slates.choice import choose
from service.ranking.slates.wanted import Wanted
from service.ranking.stack import signal_names
from service.ranking.trained.content import ByContent
from tests.core.described import N_ITEMS, N_NEW, body, fitted
from tests.rankers import asker, fold_in, lineup, ones

POPULAR = list(range(N_ITEMS))
OTHERS = {"fbgd", "neighbours", "popular", "trending"}


def content(**metrics: float) -> Ranker:
    """Return the ranker of a stored model with these metrics."""
    family, about = FAMILIES["content"], {"settings": {}, "cuts": {}, "metrics": metrics}
    assert family.read is not None
    snapshot = of_content("content", fitted(), **about)  # type: ignore[typeddict-item]
    return family.read(family, Published("v1", snapshot, {}))


def stacked(*models: Ranker) -> Lineup:
    """Return a lineup whose stack weighs everything."""
    names = tuple(signal_names(lineup(*models, popular=POPULAR).rankers))
    ones = np.ones(len(names), np.float32)
    weights = np.random.default_rng(0).normal(size=(len(names), 3))
    arms = Arms(Logit(names, 0 * ones, ones, weights, (2.0, 1.0)), Weights({STACK: 1.0}))
    return lineup(*models, popular=POPULAR, arms=arms)


def beside(ranker: Ranker) -> Lineup:
    return stacked(fold_in(N_ITEMS, 1), fold_in(N_ITEMS, 2, "neighbours"), ranker)


def mixed(served: Lineup, **wanted: Any) -> set[str]:
    chosen = choose(served, asker([2, 4, 8, 20]), Wanted(5, **wanted))
    return {ranker.strategy for ranker in chosen.rankers}


@pytest.mark.parametrize("metrics", [{}, {ADDS: 0.0}])
def test_it_is_in_no_mixture_but_answers_where_it_is_named(metrics: dict[str, float]) -> None:
    only = content(**metrics)
    served = beside(only)
    assert mixed(served) == OTHERS
    assert mixed(served, model="content") == {"content"}
    later = only.with_later({N_ITEMS - N_NEW: body(1)})
    assert mixed(beside(later)) == OTHERS


def test_one_that_adds_is_mixed_as_any_other() -> None:
    adds = content(**{ADDS: 1.0})
    for ranker in (adds, adds.with_later({N_ITEMS - N_NEW: body(1)})):
        assert mixed(beside(ranker)) == {*OTHERS, "content"}


def test_no_list_waits_for_the_shares_of_all_items() -> None:
    trained = content()
    assert isinstance(trained, ByContent)
    trained.warm()
    later = trained.with_later({N_ITEMS - N_NEW: body(1)})
    for ranker in (trained, later):
        # a list finds them where a cached property keeps them
        assert {"shares", "placed"} <= vars(ranker.model).keys()


def test_its_affinity_is_a_signal_by_what_somebody_likes() -> None:
    only, items = content(**{ADDS: 1.0}), np.arange(N_ITEMS + 1, dtype=np.int32)
    at = list(only.signals).index("log affinity")
    found = only.signals_of(asker([2, 4]), items)
    assert found.shape == (N_ITEMS + 1, len(only.signals))
    expected = fitted().affinity(np.array([2, 4], np.int32), items)
    np.testing.assert_array_equal(found[:, at], expected)
    assert expected[:N_ITEMS:2].mean() > 0.0 > expected[1:N_ITEMS:2].mean()
    own, target = np.array([2, 4, 7], np.int32), np.array([1, 1, 0], np.float32)
    dislikes = Asker(Preferences(own, ones(3), target, own))
    np.testing.assert_array_equal(only.signals_of(dislikes, items)[:, at], expected)


def test_how_many_liked_an_item_is_a_signal() -> None:
    only, items = content(**{ADDS: 1.0}), np.arange(N_ITEMS + 1, dtype=np.int32)
    found = only.signals_of(asker([2, 4]), items)[:, list(only.signals).index("log likes")]
    np.testing.assert_array_equal(found, fitted().log_likes_of(items))
    assert np.ptp(found) > 1.0


def test_it_ranks_for_those_whom_no_other_knows() -> None:
    assert "content" in mixed(stacked(content()))


@pytest.mark.parametrize("adds", [0.0, 1.0])
def test_the_follower_judges_and_stacks_what_is_mixed(adds: float) -> None:
    served = beside(content(**{ADDS: adds}))
    me = asker([2, 4, 8, 20])
    pool = Pool(np.ones(N_ITEMS, np.bool_), me.preferences.seen)
    verdict = _verdict(served, me, pool, 5)
    families = {name.partition(":")[0] for name in verdict.signals}
    assert ("content" in verdict.ranks) == ("content" in families) == bool(adds)
    assert verdict.candidate is not None
    assert verdict.candidate.signals.shape[1] == len(verdict.signals)
