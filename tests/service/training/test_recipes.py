"""Recipes: found by their folder, the same for a training and for an evaluation."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.batch.fbgd.config import RECIPES as FBGD
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.ocmf.config import FeatureUse
from core.batch.row_objective import RowObjective
from core.batch.shrinkage import SHARE, STRENGTHS
from core.interactions import Interactions
from core.search.search import Budget
from service.training.data.material import Material
from service.training.recipes import RANKING, RECIPES, SERVED
from service.training.searching import search_with_shrinkage
from tests.core import ranking

ABOUT: Any = {"settings": {}, "metrics": {}, "cuts": {}}
GOOD = FbgdConfig(factors=4, epochs=2, alpha0=60.0, reg=1.0, shrinkage=0.3)


def ticking() -> Any:
    return itertools.count(0.0, 0.5).__next__


def searched(pairs: Interactions, given: dict[str, Any], seconds: float) -> tuple[Any, ...]:
    """Return the settings found, the seconds left for the search, and the number of fits."""
    left: list[float] = []
    fits: list[FbgdConfig] = []

    def search(budget: Budget) -> FbgdConfig:
        left.append(budget.seconds)
        return replace(GOOD, **given)

    def fit(config: FbgdConfig, some: Interactions) -> RowObjective:
        fits.append(config)
        return Fbgd(config).fit(some).fitted

    budget = Budget(ticking(), seconds)
    found = search_with_shrinkage(FBGD[0], pairs, given, budget, search=search, fit=fit)
    return found, left[0], len(fits)


def test_the_shrinkage_is_chosen_after_the_search_in_time_that_is_left_for_it() -> None:
    found, seconds, fits = searched(ranking.tribes(), {}, 10.0)
    assert seconds == pytest.approx((1.0 - SHARE) * 10.0)
    assert (fits, replace(found, shrinkage=GOOD.shrinkage)) == (1, GOOD)
    assert found.shrinkage in STRENGTHS


def test_a_stated_shrinkage_stays_and_leaves_all_the_time_to_the_search() -> None:
    found, seconds, fits = searched(ranking.tribes(), {"shrinkage": 3.0}, 10.0)
    assert (found.shrinkage, seconds, fits) == (3.0, 10.0, 0)


@pytest.mark.parametrize("seconds", [0.0, 10.0])
def test_where_nothing_can_be_searched_rough_settings_are_taken(seconds: float) -> None:
    pairs = ranking.tribes()
    few = pairs if seconds == 0.0 else pairs.rows(np.arange(9))
    assert searched(few, {}, seconds) == (GOOD, 0.0, 0)


def test_each_module_of_the_folder_adds_its_recipes() -> None:
    assert {"fbgd", "ocmf-sq-sq", "exmlds", "ordinal", "pitf", "popular"} <= RECIPES.keys()
    assert RECIPES.keys() == SERVED.keys() | RANKING.keys()
    assert all(recipe.settings.name == name for name, recipe in RECIPES.items())


@pytest.mark.parametrize("name", sorted(SERVED.keys() & RANKING.keys()))
def test_an_evaluation_of_stated_settings_makes_what_a_training_makes(name: str) -> None:
    recipe: Any = RECIPES[name]
    rounds = {one: 2 for one in ("epochs", "rounds") if one in recipe.settings.names}
    size = {n: v for n, v in {"factors": 4, "reg": 2.0}.items() if n in recipe.settings.names}
    stated, material = {**size, **rounds}, Material(ranking.tribes())
    orders = (stated, recipe.settings.ordered(stated))
    made = []
    for given in orders:
        budget = Budget(ticking(), 0.0)
        config = recipe.search(material, given, budget).config
        fitted = recipe.fit(material, config)
        made.append((config, recipe.snapshot(name, fitted, None, ABOUT).version))
    assert made[0] == made[1]


def test_a_training_uses_features_beside_the_pairs_and_links_only_if_they_are_ordered() -> None:
    recipe: Any = RECIPES["ocmf-sq-wsq"]
    links = np.array([[0, 1], [2, 3]])
    pairs = ranking.tribes()
    material = Material(pairs, links=links)
    for ordered, graph in (({}, 0.0), ({"graph": 0.5}, 0.5)):
        given = recipe.settings.ordered({"factors": 4, "rounds": 2, **ordered})
        found: FeatureUse = recipe.search(material, given, Budget(ticking(), 0.0)).config
        assert (found.use, found.config.graph) == ("beside", graph)
        assert bool(recipe.fit(material, found).link) == bool(graph)


class CountedLinks:
    """Links of a few users, as a matrix, that count how often they are read."""

    def __init__(self, users: int) -> None:
        self.read, self._users = 0, users

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> Any:
        self.read += 1
        matrix = np.zeros((self._users, self._users), dtype)
        matrix[0, 1] = matrix[2, 3] = 1.0
        return matrix


@pytest.mark.parametrize(("graph", "reads"), [(0.0, False), (0.5, True)])
def test_the_matrix_of_links_is_built_only_for_a_model_that_uses_it(
    graph: float, *, reads: bool
) -> None:
    recipe: Any = RECIPES["ocmf-sq-wsq"]
    pairs = ranking.tribes()
    links = CountedLinks(pairs.n_users)
    material = Material(pairs, links=links)
    given = recipe.settings.ordered({"factors": 4, "rounds": 2, "graph": graph})
    config = recipe.search(material, given, Budget(ticking(), 0.0)).config
    model = recipe.fit(material, config)
    recipe.answers(material, config, model)
    assert (links.read > 0) == reads
