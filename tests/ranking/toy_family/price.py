"""Ranks by price: the first of the three files of a family that the service does not have."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.errors import ConfigError
from core.recipe_settings import RecipeSettings
from core.types import F32
from service.ranking.asker import Asker
from service.ranking.family import Family, Published
from service.ranking.pool import Pool, chosen
from service.ranking.ranker import Listed, Ranker


@dataclass(frozen=True)
class PriceConfig:
    """Settings of a training."""

    cheapest: float = 0.0

    def __post_init__(self) -> None:
        if self.cheapest < 0.0:
            raise ConfigError("cheapest must be 0 or more")


RECIPES = (RecipeSettings("by-price", PriceConfig(), ("cheapest",)),)


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
    """Return the ranker of a published model."""
    return ByPrice(family, model.version, model.snapshot.arrays["prices"], model.trained_through)
