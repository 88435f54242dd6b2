"""Similar items where one ranker has learned most of them, and another places the rest."""

from itertools import pairwise

import numpy as np
import pytest

from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.ocmf.users import StructuredUsers
from service.ranking.families import FAMILIES
from service.ranking.lineup import Lineup
from service.ranking.pool import Pool
from service.ranking.slates.slate import Slate, similar
from service.ranking.slates.wanted import Wanted
from service.ranking.trained.content import ByContent
from service.ranking.trained.fold_in import FoldIn
from tests.core.described import N_ITEMS, N_NEW, body, fitted, likes
from tests.rankers import lineup

OLD, LATER = 4, N_ITEMS
"""A shoe that people took, and a shoe and a hat whose documents were written after the training."""


def items(made: Slate) -> list[int]:
    return [pick.item for pick in made.picks]


@pytest.fixture(scope="module")
def learned() -> FoldIn:
    """A ranker that knows the items that people took."""
    config = FbgdConfig(factors=8, reg=1.0, alpha0=20.0)
    users = StructuredUsers(Fbgd(config).fit(likes()).fitted)
    return FoldIn(FAMILIES["fbgd"], "fbgd-0", users, {0: 7})


@pytest.fixture(scope="module")
def placing() -> ByContent:
    known = ByContent(FAMILIES["content"], "content-0", fitted(), {0: 7})
    return known.with_later({LATER: body(LATER), LATER + 1: body(LATER + 1)})


@pytest.fixture(scope="module")
def both(learned: FoldIn, placing: ByContent) -> Lineup:
    return lineup(learned, placing)


def pool_without(*excluded: int) -> Pool:
    return Pool(np.ones(N_ITEMS + 2, np.bool_), np.array(sorted(excluded), np.int32))


def test_an_item_that_nobody_took_stands_where_content_has_it(
    learned: FoldIn, placing: ByContent, both: Lineup
) -> None:
    pool, n = pool_without(OLD), 40
    alone = items(similar(lineup(learned), OLD, pool, Wanted(n)))
    by_content, _ = placing.similar(OLD, pool, n)
    made = similar(both, OLD, pool, Wanted(n))
    new = [item for item in by_content.tolist() if not learned.has(item)]
    assert LATER in new
    assert len(new) < N_NEW + 2
    assert {item for item in items(made) if not learned.has(item)} == {*new}
    for item in new:
        assert items(made).index(item) == by_content.tolist().index(item)
    old = [item for item in items(made) if learned.has(item)]
    assert old == [item for item in alone if item in old]
    strategies = {pick.item: pick.strategy for pick in made.picks}
    assert strategies[LATER] == "content"
    assert {strategies[item] for item in old} == {"fbgd"}
    assert made.origin.versions == {"fbgd": "fbgd-0", "content": "content-0"}


def test_a_longer_list_begins_as_a_shorter_one(both: Lineup) -> None:
    lists = [items(similar(both, OLD, pool_without(OLD), Wanted(n))) for n in (1, 7, 20, 40)]
    for short, long in pairwise(lists):
        assert long[: len(short)] == short
    assert len(lists[-1]) == len({*lists[-1]}) == 40


def test_pages_continue_the_list(both: Lineup) -> None:
    whole = items(similar(both, OLD, pool_without(OLD), Wanted(30)))
    second = similar(both, OLD, pool_without(OLD), Wanted(10, offset=10))
    assert items(second) == whole[10:20]


def test_what_is_left_out_stays_out(both: Lineup) -> None:
    made = similar(both, OLD, pool_without(OLD, LATER), Wanted(40))
    assert LATER not in items(made)


@pytest.mark.parametrize("strategy", ["fbgd", "content"])
def test_a_named_ranker_answers_alone(both: Lineup, strategy: str) -> None:
    made = similar(both, OLD, pool_without(OLD), Wanted(20, model=strategy))
    assert {pick.strategy for pick in made.picks} == {strategy}
    assert made.origin.strategy == strategy


def test_a_new_item_is_compared_by_content_alone(both: Lineup) -> None:
    made = similar(both, LATER, pool_without(LATER), Wanted(10))
    assert made.origin.strategy == "content"
    assert {item % 2 for item in items(made)} == {LATER % 2}


def test_the_list_of_the_learned_ends_where_it_ended(learned: FoldIn, both: Lineup) -> None:
    """Few items may be shown: nothing is named twice, and nothing is made up."""
    allowed = np.zeros(N_ITEMS + 2, np.bool_)
    allowed[[0, 2, LATER]] = True
    made = similar(both, OLD, Pool(allowed, np.array([OLD], np.int32)), Wanted(10))
    assert {*items(made)} == {0, 2, LATER}
    assert not made.more
