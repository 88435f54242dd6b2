"""The recipe neighbours: items by items, from all pairs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from core.batch.neighbours import config as neighbours
from core.batch.neighbours.config import NeighboursConfig
from core.batch.neighbours.fit import fit
from core.batch.neighbours.model import Neighbours
from core.batch.neighbours.search import search
from core.batch.neighbours.snapshot import neighbours_of, of_neighbours
from core.errors import DataError
from core.search.search import Budget
from core.snapshot import About, Snapshot
from core.types import F32
from service.training.answers import Answers, Asked
from service.training.data.dataset import Dataset, EncodedUsers
from service.training.data.material import Material
from service.training.recipe import Searched
from service.training.searching import searchable
from service.training.validation import Validation, validated


@dataclass(frozen=True)
class ByNeighbours(Answers):
    """The answers of neighbours of items."""

    model: Neighbours

    @property
    def n_items(self) -> int:
        return self.model.n_items

    def scores(self, asked: Asked) -> F32:
        return self.model.scores_of(asked.rows)


class NeighboursRecipe:
    """Learns from likes alone; all held-out users validate such a model."""

    [settings] = neighbours.RECIPES
    files: frozenset[str] = frozenset()

    def search(
        self, material: Material, given: Mapping[str, Any], budget: Budget
    ) -> Searched[NeighboursConfig]:
        pairs, base = material.pairs, self.settings.config(given)
        if not searchable(pairs.liked):
            budget = replace(budget, seconds=0.0)
        searched = partial(search, pairs, base, fixed=frozenset(given))
        try:
            return Searched(searched(budget))
        except DataError:
            # the users with two likes have so few that no split holds out enough
            return Searched(searched(replace(budget, seconds=0.0)))

    def fit(
        self, material: Material, config: NeighboursConfig, *, previous: Neighbours | None = None
    ) -> Neighbours:
        # one pass over all pairs makes the model: there is nothing to continue from
        return fit(material.pairs, config)

    def answers(
        self, material: Material, config: NeighboursConfig, model: Neighbours
    ) -> ByNeighbours:
        return ByNeighbours(model)

    def held_out(self, data: Dataset) -> Dataset:
        return data

    def validated(self, data: Dataset, model: Neighbours) -> Validation:
        return validated(data, ByNeighbours(model))

    def snapshot(
        self, name: str, model: Neighbours, encoded: EncodedUsers | None, about: About
    ) -> Snapshot:
        return of_neighbours(name, model, **about)

    def restored(self, snapshot: Snapshot) -> Neighbours:
        return neighbours_of(snapshot)


RECIPES = (NeighboursRecipe(),)
