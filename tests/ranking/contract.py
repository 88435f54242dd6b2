"""What every ranker must satisfy, whatever its family.

Each function takes a case and raises AssertionError; ``test_contract.py`` applies them to every
family of the table.
"""

from dataclasses import fields

import msgspec
import numpy as np

from core.batch.takers import NOBODY as NOBODY_TOOK
from core.batch.takers import Takers
from core.meaning import EventMeanings
from core.mixture_weights import DEPTH, Weights
from core.stack.arms import STACK, Arms
from core.stack.logit import Logit
from core.types import F32, I32
from service.learning.following.inbox import Sighting
from service.learning.following.judge import Judge, StoredUser, Verdict
from service.ranking.asker import NOBODY, Asker
from service.ranking.families import FAMILIES
from service.ranking.lineup import Lineup
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.slates.explanations import MOST
from service.ranking.slates.slate import slate
from service.ranking.slates.wanted import Wanted
from service.ranking.stack import signal_names
from service.settings import Settings
from service.store.catalogue.columns import Catalogued
from service.store.catalogue.feed import StoredItem
from tests.rankers import everything, no_categories
from tests.ranking import naive
from tests.ranking.worlds import N_ITEMS, Case, history, model, view

LIKED = [1, 5, 9]
HIDDEN = [2, 4, 8, 17, 20]
"""Items that may not be shown while the follower judges."""
NO_ARMS = Arms()
CLOSE = 1e-4
"""Scans and plain products add in another order."""


def scores_and_lists_agree(case: Case) -> None:
    ranker, me = case.ranker, case.asker(LIKED)
    score = ranker.scores(me)
    assert score.shape == (ranker.n_items,)
    found = ranker.best(me, everything(ranker.n_items), ranker.n_items)
    assert sorted(found.items.tolist()) == np.flatnonzero(np.isfinite(score)).tolist()
    np.testing.assert_allclose(found.scores, score[found.items], atol=CLOSE)
    assert (np.diff(found.scores) <= 0).all()
    fewer = ranker.best(me, everything(ranker.n_items), 5)
    assert fewer.items.tolist() == found.items[:5].tolist()


def equal_scores_are_in_the_order_of_item_numbers(case: Case) -> None:
    found = case.ranker.best(case.asker(LIKED), everything(N_ITEMS), N_ITEMS)
    equal = np.diff(found.scores) == 0
    assert equal.any(), "the promise is empty without ties"
    assert (np.diff(found.items)[equal] > 0).all()


def signals_order_items_as_the_ranker_does(case: Case) -> None:
    ranker, me = case.ranker, case.asker(LIKED)
    score, unknown = ranker.scores(me), np.array([ranker.n_items + 3], np.int32)
    listed = np.flatnonzero(np.isfinite(score)).astype(np.int32)[::2]
    items = np.concatenate([listed, unknown])
    found = ranker.signals_of(me, items)
    assert found.shape == (items.size, len(ranker.signals))
    assert np.isfinite(found).all()
    assert np.isfinite(ranker.signals_of(NOBODY, items)).all()
    assert ranker.scores_of(me, items)[-1] in {-np.inf, 0.0}
    np.testing.assert_allclose(ranker.scores_of(me, listed), score[listed], atol=CLOSE)
    if case.family.reads_context:
        # how popular an item is, others say in a stack
        popular = ranker.scores(msgspec.structs.replace(me, context={}))
        score = np.where(np.isfinite(score), score, 0.0) / np.where(popular > 0.0, popular, 1.0)
    by_score = np.argsort(-score[listed], kind="stable")
    assert (np.diff(found[by_score, 0]) <= CLOSE).all()
    assert ranker.signals_of(me, items[:0]).shape == (0, len(ranker.signals))


def exclusions_are_total(case: Case) -> None:
    ranker, me = case.ranker, case.asker(LIKED)
    whole = ranker.best(me, everything(N_ITEMS), N_ITEMS).items
    hidden, excluded = whole[1::4], np.sort(whole[::3])
    pool = Pool(~np.isin(np.arange(N_ITEMS), hidden), excluded)
    left = [item for item in whole.tolist() if item not in {*hidden, *excluded}]
    assert ranker.best(me, pool, N_ITEMS).items.tolist() == left
    heads = msgspec.structs.replace(me, heads={})
    own = Pool(pool.allowed, np.union1d(excluded, me.preferences.seen))
    kept = [item for item in left if item not in LIKED]
    assert ranker.best(heads, own, 5).items.tolist() == kept[:5]
    if ranker.has(int(whole[0])):
        similar, _ = ranker.similar(int(whole[0]), pool, N_ITEMS)
        assert not {*similar.tolist()} & {*hidden.tolist(), *excluded.tolist()}


def candidates_are_the_only_items(case: Case) -> None:
    ranker, me = case.ranker, case.asker(LIKED)
    whole = ranker.best(me, everything(N_ITEMS), N_ITEMS).items.tolist()
    candidates = np.array([0, 2, 3, 11, 23], np.int32)
    pool = Pool(np.arange(N_ITEMS) != 3, np.array([2], np.int32), candidates)
    expected = [item for item in whole if item in {0, 11, 23}]
    assert ranker.best(me, pool, N_ITEMS).items.tolist() == expected
    none = Pool(pool.allowed, candidates=np.empty(0, np.int32))
    assert ranker.best(me, none, 3).items.size == 0


def a_snapshot_gives_the_same_bits(case: Case) -> None:
    if case.snapshot is None:
        return
    again, me = case.restored(), case.asker(LIKED)
    again.warm()
    for one in (me, case.asker([], kind="2"), case.asker(LIKED, kind=None)):
        assert again.knows(one) == case.ranker.knows(one)
        mine = case.ranker.best(one, everything(N_ITEMS), N_ITEMS)
        theirs = again.best(one, everything(N_ITEMS), N_ITEMS)
        assert theirs.items.tobytes() == mine.items.tobytes()
        assert theirs.scores.tobytes() == mine.scores.tobytes()


def the_follower_judges_the_lists_that_are_served(case: Case) -> None:
    seen = np.array(LIKED, np.int32)
    me = case.asker(LIKED)
    weights = dict.fromkeys(FAMILIES, 1.0 / len(FAMILIES))
    served = case.lineup(weights=Weights(weights, {0: weights}))
    ranks = {
        name: _shown(case, served, me, seen, name) for name in (case.family.strategy, "mixture")
    }
    is_judged = case.family.judged and not case.ranker.only_places
    for item in (0, 7, 16, N_ITEMS - 1):
        assert _verdict(case, served.weights, item, hidden=[item]) is None
        verdict = _verdict(case, served.weights, item, hidden=HIDDEN)
        assert verdict is not None
        assert verdict.n_known == len(LIKED)
        assert verdict.mixed == _rank(ranks["mixture"], item)
        assert (case.family.strategy in verdict.ranks) == is_judged
        if is_judged:
            expected = _rank(ranks[case.family.strategy], item)
            assert verdict.ranks[case.family.strategy] == expected


def the_follower_judges_the_stack_that_is_served(case: Case) -> None:
    seen, me = np.array(LIKED, np.int32), case.asker(LIKED)
    plain = case.lineup()
    names = signal_names([*plain.mixed.values(), *plain.everybodys.values()])
    ones = np.ones(len(names), np.float32)
    weights = np.random.default_rng(3).normal(size=(len(names), 3))
    arms = Arms(Logit((*names,), 0 * ones, ones, weights, (1.0, 1.0)), Weights({STACK: 1.0}))
    served = case.lineup(arms=arms)
    pool = Pool(~np.isin(np.arange(N_ITEMS), HIDDEN), seen)
    made = slate(served, me, pool, Wanted(k=DEPTH), no_categories)
    items = [pick.item for pick in made.picks if pick.score > 0.0]
    for item in (0, 7, 16, N_ITEMS - 1):
        verdict = _verdict(case, served.weights, item, hidden=HIDDEN, arms=arms)
        assert verdict is not None
        if made.score_kind == "probability":
            assert verdict.mixed == verdict.combined[STACK] == _rank(items, item)
        assert verdict.candidate is not None
        assert verdict.candidate.signals.shape[1] == len(verdict.signals) == len(names)
        assert verdict.candidate.length == len(LIKED)


def _shown(case: Case, served: Lineup, me: Asker, seen: I32, strategy: str) -> list[int]:
    """Return the items of a slate without those that were left to popularity: their score is 0."""
    pool = Pool(~np.isin(np.arange(N_ITEMS), HIDDEN), seen)
    made = slate(served, me, pool, Wanted(k=DEPTH, model=strategy), no_categories)
    assert made.origin.strategy == strategy
    own = {strategy} if strategy != "mixture" else {*FAMILIES}
    everybodys = strategy in {"mixture", *served.everybodys}
    return [p.item for p in made.picks if p.strategy in own and (p.score > 0 or not everybodys)]


def _rank(items: list[int], item: int) -> int:
    return items.index(item) + 1 if item in items else 0


def _verdict(
    case: Case,
    weights: Weights,
    item: int,
    *,
    hidden: list[int],
    arms: Arms = NO_ARMS,
    takers: Takers = NOBODY_TOOK,
) -> Verdict | None:
    settings = Settings(trending_half_life_h=1.0)
    judge = Judge(settings, model(), EventMeanings(), 0)
    sighting = Sighting(
        user="ann",
        item=item,
        time_ms=1,
        sequence=20,
        follows=12,
        user_row=_row(case),
        view=view(),
        context=b"device=1",
    )
    stored = StoredUser(history(LIKED, []), np.empty(0, np.uint32), {"kind": "1"})
    trained = [case.ranker] if case.family.trained else []
    items = Catalogued().replaced(1, dict.fromkeys(hidden, StoredItem(hidden=True)))
    return judge.judge(sighting, stored, trained, weights, arms, items=items, takers=takers)


def _row(case: Case) -> F32:
    row = case.asker(LIKED).row
    assert row is not None
    return row


def explanations_sum_to_the_score(case: Case) -> None:
    ranker, me = case.ranker, case.asker(LIKED, [2])
    items = np.array([0, 4, 13], np.int32)
    found = ranker.explain(me, items)
    assert (found is not None) == case.family.explains
    if found is not None:
        np.testing.assert_allclose(found.score, ranker.scores(me)[items], atol=CLOSE)
        expected = naive.contributions(ranker, me, items)
        np.testing.assert_allclose(found.contribution, expected, rtol=1e-3, atol=CLOSE)


def a_slate_names_the_past_items_that_carry_a_score(case: Case) -> None:
    if not case.family.explains:
        return
    ranker, me = case.ranker, case.asker(LIKED, [2])
    wanted = Wanted(k=8, model=case.family.strategy, explain=True)
    made = slate(case.lineup(), me, everything(N_ITEMS), wanted, no_categories)
    assert made.because is not None
    assert any(made.because)
    picked = np.array([pick.item for pick in made.picks], np.int32)
    carried = naive.contributions(ranker, me, picked)
    past, liked = me.preferences.item_ix.tolist(), me.preferences.target > 0
    carried = np.where(liked, carried, 0.0)
    for item, because, own in zip(picked, made.because, carried, strict=True):
        speaking = {p: c for p, c in zip(past, own, strict=True) if p != item and c > CLOSE}
        expected = sorted(speaking, key=lambda p: -speaking[p])[:MOST]
        told = [(p, c) for p, c in because if c > CLOSE]
        assert [p for p, _ in told] == expected
        np.testing.assert_allclose([c for _, c in told], [speaking[p] for p in expected], rtol=1e-2)


def strangers_are_not_known(case: Case) -> None:
    ranker = case.ranker
    assert not ranker.knows(NOBODY)
    made = slate(case.lineup(), NOBODY, everything(N_ITEMS), Wanted(k=3), no_categories)
    assert (made.origin.strategy, len(made.picks)) == ("popular", 3)
    ranker.best(NOBODY, everything(N_ITEMS), 3)
    assert ranker.scores(NOBODY).shape in {(ranker.n_items,), (0,)}
    by_features = case.asker([], kind="3")
    known = ranker.knows(by_features)
    assert known == (bool(by_features.features) or case.family.reads_context)
    assert not known or case.family.serves_without_history
    assert case.asker([], kind="of no training").features == {}


def unknown_items_are_in_no_list(case: Case) -> None:
    ranker, n = case.ranker, case.ranker.n_items
    if case.family.for_everybody:
        # its list ends with the items that nobody has liked
        listed = ranker.best(NOBODY, everything(n + 4), n + 4).items
        assert sorted(listed.tolist()) == list(range(n + 4))
        return
    found = ranker.best(case.asker(LIKED), everything(n + 4), n + 4)
    assert (found.items < n).all()
    assert not ranker.has(n)
    assert not ranker.knows(msgspec.structs.replace(case.asker([n, n + 2], kind=None), row=None))
    both = case.asker([*LIKED, n], kind=None)
    before = ranker.best(case.asker(LIKED, kind=None), everything(n), 9).items
    if case.family.reads_history:
        assert ranker.best(both, everything(n), 9).items.tolist() == before.tolist()


def nothing_allowed_is_an_empty_list(case: Case) -> None:
    me, nothing = case.asker(LIKED), Pool(np.zeros(N_ITEMS, np.bool_))
    for one in (me, msgspec.structs.replace(me, heads={})):
        assert case.ranker.best(one, nothing, 5).items.size == 0
    made = slate(case.lineup(), me, nothing, Wanted(k=5), no_categories)
    assert (list(made.picks), made.more) == ([], False)


def dislikes_speak_against_an_item(case: Case) -> None:
    ranker = case.ranker
    if not (case.family.trained and case.family.reads_history):
        return
    liked, disliked = case.asker([5], kind=None), case.asker([], [5], kind=None)
    assert ranker.knows(disliked) == case.family.reads_dislikes
    if not case.family.reads_order:
        assert ranker.scores(liked)[5] > ranker.scores(disliked)[5]
    assert 5 in disliked.preferences.seen


def ranking_changes_nothing(case: Case) -> None:
    ranker = case.ranker
    me = msgspec.structs.replace(case.asker(LIKED), heads={}, vectors={})
    before = _bits(ranker), _asked(me)
    first = ranker.best(me, everything(N_ITEMS), 7)
    ranker.scores(me)
    ranker.explain(me, np.array([3], np.int32))
    ranker.head(me)
    if ranker.has(1):
        ranker.similar(1, everything(N_ITEMS), 5)
    assert (_bits(ranker), _asked(me)) == before
    # what it made is there for whoever keeps it, and changes no answer
    again = me.having(first.made)
    if first.made is not None and first.made.head is not None:
        again = msgspec.structs.replace(again, heads={ranker.strategy: first.made.head})
    second = ranker.best(again, everything(N_ITEMS), 7)
    assert second.items.tolist() == first.items.tolist()
    assert second.made is None


def _bits(ranker: Ranker) -> dict[str, bytes]:
    """Return the arrays of a ranker; not those that it makes on demand."""
    own = {name: value for name, value in vars(ranker).items() if not name.startswith("_")}
    return {name: value.tobytes() for name, value in own.items() if isinstance(value, np.ndarray)}


def _asked(asker: Asker) -> list[object]:
    preferences = asker.preferences
    arrays = [getattr(preferences, one.name).tobytes() for one in fields(preferences)]
    return [arrays, dict(asker.vectors), dict(asker.heads or {}), dict(asker.warmed)]


def the_entry_says_what_the_ranker_can(case: Case) -> None:
    family, ranker, me = case.family, case.ranker, case.asker(LIKED)
    assert ranker.strategy == family.strategy
    assert FAMILIES[family.strategy] is family
    assert (ranker.user_vector(me) is not None) == family.compares_users
    assert (ranker.audience is not None) == family.finds_audience
    assert (ranker.star_model is not None) == family.predicts_stars
    assert (case.snapshot is not None) == family.trained == bool(family.recipes)
    assert family.reads_user_features or not ranker.reads_features
    assert ranker.knows(case.asker(LIKED, kind=None)) == family.reads_history
    assert family.title
    assert family.about.endswith(".")
    later = ranker.with_later({ranker.n_items: {"features": {"kind": "1"}}})
    assert (later.n_items > ranker.n_items) == family.reads_later_items


CONTRACT = (
    scores_and_lists_agree,
    signals_order_items_as_the_ranker_does,
    equal_scores_are_in_the_order_of_item_numbers,
    exclusions_are_total,
    candidates_are_the_only_items,
    a_snapshot_gives_the_same_bits,
    the_follower_judges_the_lists_that_are_served,
    explanations_sum_to_the_score,
    a_slate_names_the_past_items_that_carry_a_score,
    strangers_are_not_known,
    unknown_items_are_in_no_list,
    nothing_allowed_is_an_empty_list,
    dislikes_speak_against_an_item,
    ranking_changes_nothing,
    the_entry_says_what_the_ranker_can,
)
