"""Items that a model has not learned are ranked by what happened since, as they are judged."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from core.batch.takers import NOBODY, Takers
from core.mixture_weights import DEPTH, Weights
from core.snapshot import Snapshot
from service.ranking.families import FAMILIES
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.slates.slate import slate
from service.ranking.slates.wanted import Wanted
from service.ranking.strategies import Strategy
from service.ranking.trained.folded_items import FoldedItems
from service.training.recipes import SERVED
from tests.rankers import no_categories
from tests.ranking import contract
from tests.ranking.worlds import (
    ABOUT,
    N_ITEMS,
    SMALL,
    Case,
    material,
    read,
)

UNLEARNED = [3, 10, 19]
"""Items of the tiny world that the models of this module have not learned."""
RECIPES = ["fbgd", "ocmf-sq-wsq", "ocmf-lr-wsq", "neighbours"]
PROMISES = (
    contract.scores_and_lists_agree,
    contract.signals_order_items_as_the_ranker_does,
    contract.exclusions_are_total,
    contract.candidates_are_the_only_items,
    contract.explanations_sum_to_the_score,
    contract.strangers_are_not_known,
    contract.unknown_items_are_in_no_list,
    contract.nothing_allowed_is_an_empty_list,
    contract.dislikes_speak_against_an_item,
    contract.ranking_changes_nothing,
)


@cache
def snapshot(recipe: str, fewer: int = 0) -> Snapshot:
    """Return a model of the tiny world without some items, and without its last ``fewer`` ones."""
    made_by, known = SERVED[recipe], material()
    learned = ~np.isin(known.pairs.item_ix, UNLEARNED) & (known.pairs.item_ix < N_ITEMS - fewer)
    pairs = known.pairs.keep(learned)
    if fewer:
        pairs = replace(pairs, n_items=N_ITEMS - fewer)
    settings = {name: value for name, value in SMALL.items() if name in made_by.settings.names}
    steps = None if known.steps is None else known.steps
    only = replace(known, pairs=pairs, steps=steps, user_features=None, item_features=None)
    fitted = made_by.fit(only, made_by.settings.config(settings))
    return made_by.snapshot(recipe, fitted, None, ABOUT)


def trained(recipe: str, fewer: int = 0) -> Ranker:
    family = next(f for f in FAMILIES.values() if recipe in {one.name for one in f.recipes})
    return read(family, snapshot(recipe, fewer))


@cache
def takers(least: int = 0) -> Takers:
    """Return the users of the tiny world, with what they took of all items but the last four."""
    pairs = material().pairs
    pairs = pairs.keep((pairs.item_ix < 20) & (pairs.item_ix >= least))
    return Takers(pairs.ptr, pairs.item_ix, np.ones(len(pairs), np.float32))


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("fewer", [0, 6])
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_with_folded_items_it_is_a_ranker_like_any(recipe, fewer, promise):
    promise(Case(trained(recipe, fewer).folding_in(takers())))


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("fewer", [0, 6])
def test_only_items_that_somebody_took_join_and_the_others_keep_their_scores(recipe, fewer):
    plain = trained(recipe, fewer)
    more, me = plain.folding_in(takers()), Case(plain).asker(contract.LIKED)
    joined = {*UNLEARNED, *range(N_ITEMS - fewer, 20)}
    assert more.n_items == max(20, N_ITEMS - fewer)
    before, after = plain.scores(me), more.scores(me)
    others = [item for item in range(plain.n_items) if item not in joined]
    assert after[others].tobytes() == before[others].tobytes()
    assert np.isfinite(after[sorted(joined)]).all()
    assert (np.abs(after[sorted(joined)]) > 1e-4).all()
    assert (more.version, more.strategy) == (plain.version, plain.strategy)


@pytest.mark.parametrize("recipe", RECIPES)
def test_an_item_goes_to_those_who_took_what_is_beside_it(recipe):
    plain, item, by_kind = trained(recipe), UNLEARNED[0], []
    # who likes one kind takes items of it, and an item is of the kind of its number
    only = takers()
    case = Case(plain.folding_in(only))
    for kind in (item % 4, (item + 2) % 4):
        liked = [one for one in range(20) if one % 4 == kind and one not in UNLEARNED][:3]
        by_kind.append(case.ranker.scores(case.asker(liked))[item])
    assert by_kind[0] > by_kind[1]


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_follower_judges_folded_items_as_slates_show_them(recipe):
    plain = Case(trained(recipe))
    served = Case(plain.ranker.folding_in(takers()))
    strategy: Strategy = plain.family.strategy
    me, weights = plain.asker(contract.LIKED), dict.fromkeys(FAMILIES, 1.0 / len(FAMILIES))
    lineup = served.lineup(weights=Weights(weights, {0: weights}))
    pool = Pool(np.ones(N_ITEMS, np.bool_), np.array(contract.LIKED, np.int32))
    shown = slate(lineup, me, pool, Wanted(k=DEPTH, model=strategy), no_categories)
    order = [pick.item for pick in shown.picks if pick.strategy == strategy]
    for item in UNLEARNED:
        verdict = contract._verdict(plain, lineup.weights, item, hidden=[], takers=takers())
        assert verdict is not None
        assert verdict.ranks[strategy] == order.index(item) + 1


def test_models_are_folded_once_for_each_moment():
    one, events = trained("fbgd"), takers()
    first = FoldedItems().refreshed([one], events)
    assert first.with_folded(one) is not one
    assert first.refreshed([one], Takers.of(events.arrays())) is first
    again = first.refreshed([one], takers(2))
    assert again is not first
    versions = {again.with_folded(one).made_of, first.with_folded(one).made_of, one.made_of}
    assert len(versions) == 3
    assert not first.refreshed([], events).rankers


def test_without_new_items_nothing_changes():
    """So what is kept of the users stays as long as the model serves."""
    plain = trained("fbgd")
    pairs = material().pairs.keep(~np.isin(material().pairs.item_ix, UNLEARNED))
    learned = Takers(pairs.ptr, pairs.item_ix, np.ones(len(pairs), np.float32))
    folded = FoldedItems().refreshed([plain], learned)
    assert folded.with_folded(plain) is plain
    assert folded.refreshed([plain], NOBODY) is folded
