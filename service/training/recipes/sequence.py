"""The recipe sequence: what comes after a user's latest items, by linear autoregression."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.batch.autoregression import config as autoregression
from core.batch.autoregression.config import AutoregressionConfig
from core.batch.autoregression.fit import fit
from core.batch.autoregression.model import Autoregression
from core.batch.autoregression.search import search
from core.batch.autoregression.snapshot import autoregression_of, of_autoregression
from core.errors import DataError
from core.search.search import Budget
from core.snapshot import About, Snapshot
from core.steps import Steps
from core.types import F32
from service.training.answers import Answers, Asked
from service.training.data.dataset import Dataset, EncodedUsers
from service.training.data.material import Material
from service.training.recipe import Searched
from service.training.validation import Validation, validated


@dataclass(frozen=True)
class ByOrder(Answers):
    """The answers of an autoregression: by the latest steps of each user."""

    model: Autoregression
    steps: Steps

    @property
    def n_items(self) -> int:
        return self.model.n_items

    def scores(self, asked: Asked) -> F32:
        latest = [self.steps.latest(int(user)) for user in asked.user_ix]
        return np.array([self.model.scores(items) for items in latest])


class SequenceRecipe:
    """Learns from the order of events, and is validated by the latest ones, as it serves."""

    [settings] = autoregression.RECIPES
    files: frozenset[str] = frozenset()

    def search(
        self, material: Material, given: Mapping[str, Any], budget: Budget
    ) -> Searched[AutoregressionConfig]:
        base, fixed = self.settings.config(given), frozenset(given)
        steps = _order_of(material)
        return Searched(search(steps, base, budget, fixed=fixed))

    def fit(
        self, material: Material, config: AutoregressionConfig, *, previous: Any = None
    ) -> Autoregression:
        return fit(_order_of(material), config)

    def answers(
        self, material: Material, config: AutoregressionConfig, model: Autoregression
    ) -> ByOrder:
        return ByOrder(model, _order_of(material))

    def held_out(self, data: Dataset) -> Dataset:
        return data

    def validated(self, data: Dataset, model: Autoregression) -> Validation:
        return validated(data, ByOrder(model, _order_of(data.at_cut)))

    def snapshot(
        self, name: str, model: Autoregression, encoded: EncodedUsers | None, about: About
    ) -> Snapshot:
        return of_autoregression(name, model, **about)

    def restored(self, snapshot: Snapshot) -> Autoregression:
        return autoregression_of(snapshot)


def _order_of(material: Material) -> Steps:
    steps = material.order
    if steps is None:
        raise DataError("the order of events is unknown: give their times")
    return steps


RECIPES = (SequenceRecipe(),)
