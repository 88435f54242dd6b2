"""What can be trained: the models by name, their settings, how they are searched and fitted.

A recipe turns what was read into a model, has it judged as it would serve, and makes a snapshot of it. The api checks
orders with ``checked``; everything else runs in the trainer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from core.batch.fbgd import config as fbgd_config
from core.batch.fbgd import search as fbgd_search
from core.batch.fbgd.config import FbgdConfig
from core.batch.fbgd.model import Fbgd
from core.batch.ocmf import config as ocmf_config
from core.batch.ocmf import search as ocmf_search
from core.batch.ocmf.config import OcmfConfig
from core.batch.ocmf.feature_use import Known, Way, fit_way
from core.batch.ocmf.graph import similarity
from core.batch.ocmf.model import Ocmf
from core.batch.ocmf.users import StructuredUsers
from core.batch.shrinkage import choose_draw, without_draw
from core.batch.snapshot import of_users
from core.batch.snapshot import users_of as structured_users
from core.interactions import Interactions
from core.recipe_settings import RecipeSettings
from core.search.search import Budget
from core.snapshot import About, Snapshot
from service.training.dataset import Dataset, Described, Material
from service.training.judge import Verdict, judged
from service.training.label_recipe import LabelRecipe
from service.training.orders import check_order
from service.training.star_recipe import StarRecipe

FEWEST_TO_SEARCH = 10
"""Users with two pairs, without whom there is nothing to choose settings on."""

OnShare = Callable[[float], None]
ConfigT = TypeVar("ConfigT")


class Recipe(Protocol[ConfigT]):
    """One model by name."""

    @property
    def strategy(self) -> str:
        """Return which strategy it serves."""

    @property
    def with_documents(self) -> bool:
        """Return whether it learns from features and links of users."""

    @property
    def with_items(self) -> bool:
        """Return whether it learns from features of items."""

    @property
    def with_ratings(self) -> bool:
        """Return whether it learns from ratings as they are."""

    @property
    def settings(self) -> RecipeSettings[ConfigT]:
        """Return what may be stated."""

    def search(
        self,
        material: Material,
        given: Mapping[str, Any],
        budget: Budget,
        on_share: OnShare,
    ) -> ConfigT:
        """Return the settings found; those given stay."""

    def fit(
        self,
        material: Material,
        config: ConfigT,
        *,
        previous: Any = None,
    ) -> Any:
        """Return the fitted model; ``previous``: the same settings fitted to a part of the material."""

    def judges(self, data: Dataset) -> Dataset:
        """Return the dataset with the judges whom such a model is for."""

    def judged(self, data: Dataset, model: Any) -> Verdict:
        """Return what the judges say of a model."""

    def snapshot(
        self, name: str, model: Any, described: Described | None, about: About
    ) -> Snapshot:
        """Return a model as the registry keeps it."""

    def restored(self, snapshot: Snapshot) -> Any:
        """Return the model of a snapshot."""


class FoldInRecipe:
    """What recipes of models with fold-in have in common."""

    with_items = with_ratings = False

    def judges(self, data: Dataset) -> Dataset:
        return data

    def judged(self, data: Dataset, model: StructuredUsers) -> Verdict:
        return judged(data, model)

    def snapshot(
        self, name: str, model: StructuredUsers, described: Described | None, about: About
    ) -> Snapshot:
        known = None if model.weights is None or described is None else described.encoder
        return of_users(name, model, encoder=known, **about)

    def restored(self, snapshot: Snapshot) -> StructuredUsers:
        return structured_users(snapshot)


@dataclass(frozen=True)
class FbgdRecipe(FoldInRecipe):
    """Matrix factorisation on all pairs."""

    strategy = "fbgd"
    with_documents = False
    [settings] = fbgd_config.RECIPES

    def search(
        self,
        material: Material,
        given: Mapping[str, Any],
        budget: Budget,
        on_share: OnShare,
    ) -> FbgdConfig:
        pairs, usable = material.pairs, _usable(material.pairs, budget)
        config = fbgd_search.search(
            pairs,
            self.settings.config(given),
            without_draw(usable, given),
            fixed=frozenset(given),
            on_trial=on_share,
        )
        if "draw" in given or usable.seconds <= 0.0:
            return config
        draw = choose_draw(
            pairs,
            lambda part: Fbgd(config).fit(part).fitted,
            seed=config.seed,
            otherwise=config.draw,
        )
        return replace(config, draw=draw)

    def fit(
        self,
        material: Material,
        config: FbgdConfig,
        *,
        previous: StructuredUsers | None = None,
    ) -> StructuredUsers:
        if previous is not None:
            # one epoch brings a model up to date with a few new events
            warm = Fbgd(replace(config, epochs=1)).fit(material.pairs, previous=previous.row)
            return StructuredUsers(warm.fitted)
        return StructuredUsers(Fbgd(config).fit(material.pairs).fitted)


@dataclass(frozen=True)
class OcmfRecipe(FoldInRecipe):
    """One-class matrix factorisation; it answers users it has never seen by the features of their documents."""

    settings: RecipeSettings[OcmfConfig]
    strategy = "ocmf"
    with_documents = True

    def search(
        self,
        material: Material,
        given: Mapping[str, Any],
        budget: Budget,
        on_share: OnShare,
    ) -> OcmfConfig:
        pairs, usable = material.pairs, _usable(material.pairs, budget)
        config = ocmf_search.search(
            pairs,
            self.settings.config(given),
            without_draw(usable, given),
            # serving knows a user's links by nothing but the item factors: a graph only if it is asked for
            similar=_similar(material.described) if "graph" in given else None,
            fixed=frozenset(given) | self.settings.fixed,
            on_trial=on_share,
        )
        if "draw" in given or usable.seconds <= 0.0:
            return config
        # what pairs alone say: links and features are not needed for that
        alone = replace(config, graph=0.0)
        draw = choose_draw(
            pairs, lambda part: Ocmf(alone).fit(part).row_objective, seed=config.seed
        )
        return replace(config, draw=draw)

    def fit(
        self,
        material: Material,
        config: OcmfConfig,
        *,
        previous: StructuredUsers | None = None,
    ) -> StructuredUsers:
        pairs, described = material.pairs, material.described
        if described is None:
            return fit_way(pairs, Way(config), Known()).users
        known = Known(described.features, _similar(described) if config.graph else None)
        way = Way(config, "beside" if described.encoder.width else None)
        return fit_way(pairs, way, known).users


RECIPES: dict[str, Recipe[Any]] = {
    "fbgd": FbgdRecipe(),
    **{one.name: OcmfRecipe(one) for one in ocmf_config.RECIPES},
    "exmlds": LabelRecipe(),
    "ordinal": StarRecipe(),
}


def checked(model: str, parameters: Mapping[str, Any]) -> Recipe[Any]:
    """Return the recipe of an order; InvalidTraining says what is wrong."""
    check_order(model, parameters)
    return RECIPES[model]


def _usable(pairs: Interactions, budget: Budget) -> Budget:
    """Return a budget of 0 where too few users have two pairs to choose settings on."""
    enough = int((pairs.user_counts > 1).sum()) >= FEWEST_TO_SEARCH
    return budget if enough else replace(budget, seconds=0.0)


def _similar(described: Described | None) -> Any:
    if described is None or described.links.nnz == 0:
        return None
    return similarity(described.links, described.links.shape[0])
