"""A new item with few takers begins where its document puts it."""

import numpy as np
import pytest

from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.ocmf.users import StructuredUsers
from core.batch.preferences import Preferences
from core.batch.takers import Takers
from core.types import F32
from service.ranking.families import FAMILIES
from service.ranking.trained.content import ByContent
from service.ranking.trained.fold_in import FoldIn
from service.ranking.trained.folded_items import FoldedItems
from tests.core.described import N_ITEMS, body, fitted, likes
from tests.rankers import asker

SHOE, HAT = N_ITEMS, N_ITEMS + 1
SHOES, HATS = [0, 2, 4, 6, 8], [1, 3, 5, 7, 9]


@pytest.fixture(scope="module")
def plain() -> FoldIn:
    fit = Fbgd(FbgdConfig(factors=4, reg=2.0, alpha0=20.0)).fit(likes())
    users = StructuredUsers(fit.fitted, items=fit.item_objective)
    return FoldIn(FAMILIES["fbgd"], "fbgd-0", users, {0: 7})


@pytest.fixture(scope="module")
def content() -> ByContent:
    return ByContent(FAMILIES["content"], "content-0", fitted(factors=4), {0: 7})


def taker(items: list[int]) -> Preferences:
    ix = np.array(sorted(items), np.int32)
    ones = np.ones(ix.size, np.float32)
    return Preferences(ix, ones, ones, ix)


@pytest.fixture(scope="module")
def takers() -> Takers:
    """One who likes shoes took the new shoe, and also the new hat: a present, say."""
    return Takers.of_rows([taker([*SHOES, SHOE, HAT])])


def scores(ranker: object, past: list[int]) -> F32:
    assert isinstance(ranker, FoldIn)
    return ranker.scores_of(asker(past), np.array([SHOE, HAT], np.int32))


def test_one_event_does_not_outweigh_the_document(
    plain: FoldIn, content: ByContent, takers: Takers
) -> None:
    by_events = plain.folding_in(takers)
    told = content.with_later({SHOE: body(SHOE), HAT: body(HAT)})
    by_both = plain.folding_in(takers, told)
    # by that event alone, the hat is for those who like shoes
    shoe, hat = scores(by_events, HATS)
    assert hat == pytest.approx(shoe)
    shoe, hat = scores(by_both, HATS)
    assert hat > shoe
    shoe, hat = scores(by_both, SHOES)
    assert shoe > hat


def test_an_item_without_a_document_is_placed_by_its_takers(
    plain: FoldIn, content: ByContent, takers: Takers
) -> None:
    alone = scores(plain.folding_in(takers), SHOES)
    told = scores(plain.folding_in(takers, content.with_later({SHOE: body(SHOE)})), SHOES)
    assert told[1] == alone[1]
    assert told[0] != alone[0]


def test_items_are_placed_anew_when_their_documents_change(
    plain: FoldIn, content: ByContent, takers: Takers
) -> None:
    told = content.with_later({SHOE: body(SHOE), HAT: body(HAT)})
    first = FoldedItems().refreshed([plain, told], takers)
    assert first.refreshed([plain, told], takers) is first
    other = content.with_later({SHOE: body(HAT), HAT: body(HAT)})
    second = first.refreshed([plain, other], takers)
    assert second is not first
    before, after = (scores(one.with_folded(plain), HATS)[0] for one in (first, second))
    assert after > before
    assert first.with_folded(plain).made_of != second.with_folded(plain).made_of
    without = second.refreshed([plain], takers).with_folded(plain)
    assert scores(without, HATS)[0] == scores(plain.folding_in(takers), HATS)[0]
