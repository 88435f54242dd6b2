"""A new family in one place: lineups, slates and the follower take it as it is.

In the service it takes three files: a module in ``service/ranking`` with the ranker, an entry in
``families.py`` and a module with the recipe. Nothing else is edited.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from core.mixture_weights import Weights
from core.recipe_settings import RecipeSettings
from core.snapshot import Snapshot
from core.types import F32
from service.learning.following.learned_weights import LearnedWeights, TrainedModel
from service.ranking.asker import NOBODY, Asker
from service.ranking.families import FAMILIES
from service.ranking.family import Family, Published, table
from service.ranking.pool import Pool, chosen
from service.ranking.ranker import Listed, Ranker
from service.ranking.reasons import inactive, unknown
from service.ranking.slates import slate
from service.ranking.wanted import Wanted
from service.served_models import active_model
from service.store.models.records import ModelRecord
from tests.rankers import asker, everything, fold_in, lineup, no_categories
from tests.ranking import contract
from tests.ranking.worlds import N_ITEMS, Case, read, with_twins

# --- the ranker -----------------------------------------------------------------------------------


class ByPrice(Ranker):
    """Ranks the items whose prices are near those of items that somebody liked."""

    def __init__(
        self, family: Family, version: str, prices: F32, trained_through: Mapping[int, int]
    ) -> None:
        super().__init__(family, version, trained_through)
        self.prices, self.n_items, self.effort = prices, prices.size, prices.size

    def knows(self, asker: Asker) -> bool:
        return bool(asker.preferences.within(self.n_items).item_ix.size)

    def best(self, asker: Asker, pool: Pool, n: int) -> Listed:
        return Listed(*chosen(self.scores(asker), pool, n))

    def scores(self, asker: Asker) -> F32:
        own = asker.preferences.within(self.n_items)
        apart = np.abs(self.prices[:, None] - self.prices[own.item_ix])
        likes = np.ones(own.item_ix.size) if own.target is None else 2.0 * own.target - 1.0
        return (np.exp(-apart) @ likes).astype(np.float32)


def read_prices(family: Family, model: Published) -> ByPrice:
    return ByPrice(family, model.version, model.snapshot.arrays["prices"], model.trained_through)


# --- its recipe and its entry ---------------------------------------------------------------------


@dataclass(frozen=True)
class PriceConfig:
    """Settings of a training."""

    cheapest: float = 0.0


PRICE = Family(
    strategy="price",
    number=8,
    title="Price",
    about="Lists items that cost about as much as those that somebody liked.",
    recipes=(RecipeSettings("by-price", PriceConfig(), ("cheapest",)),),
    read=read_prices,
)


# --- all the rest is there ------------------------------------------------------------------------

FAMILIES_AND_TOY = table((*FAMILIES.values(), PRICE))


def snapshot() -> Snapshot:
    prices = np.linspace(0, 3, N_ITEMS, dtype=np.float32)
    return with_twins(Snapshot("by-price", {"prices": prices}))


def case() -> Case:
    return Case(read(PRICE, snapshot()), FAMILIES_AND_TOY, snapshot())


@pytest.mark.parametrize("promise", contract.CONTRACT, ids=lambda promise: promise.__name__)
def test_the_contract_holds_for_a_family_that_nobody_else_knows(promise):
    promise(case())


def test_a_mixed_slate_combines_it_with_others():
    models = lineup(fold_in(N_ITEMS), case().ranker, families=FAMILIES_AND_TOY)
    made = slate(models, asker([2]), everything(N_ITEMS), Wanted(k=9), no_categories)
    assert made.origin.versions.keys() == {"fbgd", "price"}
    assert "price" in {pick.strategy for pick in made.picks}
    alone = Wanted(k=3, model="price")
    made = slate(models, asker([2]), everything(N_ITEMS), alone, no_categories)
    assert [pick.item for pick in made.picks] == [2, 1, 3]


def test_reasons_name_its_recipe():
    assert "by-price" in inactive("price", FAMILIES_AND_TOY)
    own = asker([N_ITEMS + 1]).preferences
    says = unknown(case().ranker, own, features=False, posted=False, anonymous=False)
    assert "by-price" in says
    models = lineup(fold_in(N_ITEMS), families=FAMILIES_AND_TOY)
    wanted = Wanted(k=1, model="price")
    made = slate(models, asker([2]), everything(N_ITEMS), wanted, no_categories)
    assert made.reason == inactive("price", FAMILIES_AND_TOY)


def test_it_is_read_from_the_registry_and_weighed_by_the_follower():
    made = snapshot()
    record = ModelRecord.of(made, "price", created_ms=1, decision={})
    model = active_model(record, made, FAMILIES_AND_TOY)
    assert not model.ranker.knows(NOBODY)
    weighed = LearnedWeights(None)
    weighed.follow({"price": TrainedModel(record.version, 0.01)}, {"popular": "popular"})
    weights: Weights = weighed.weights
    assert weights.shared["price"] > weights.shared["popular"]
