"""The interface of a recipe, which trains models of a family: from settings to a snapshot.

``hedgerow eval`` and the trainer use the same recipes, so an evaluation measures what would serve.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from core.recipe_settings import RecipeSettings
from core.search.search import Budget
from core.snapshot import About, Snapshot
from service.training.answers import Answers
from service.training.data.dataset import Dataset, EncodedUsers
from service.training.data.material import Material
from service.training.validation import Validation

ConfigT = TypeVar("ConfigT")


@dataclass(frozen=True)
class Searched(Generic[ConfigT]):
    """The settings that a search found."""

    config: ConfigT
    compared: list[dict[str, Any]] = field(default_factory=list)
    """Uses of side information with their validation scores, if several were compared."""


class Recipe(Protocol[ConfigT]):
    """A recipe as both an evaluation and the trainer use it."""

    @property
    def settings(self) -> RecipeSettings[ConfigT]:
        """Return the settings that may be stated."""

    def search(
        self, material: Material, given: Mapping[str, Any], budget: Budget
    ) -> Searched[ConfigT]:
        """Return the settings found within the budget; those in ``given`` are kept."""

    def fit(self, material: Material, config: ConfigT, *, previous: Any = None) -> Any:
        """Return the fitted model.

        ``previous`` is a model with the same settings, fitted to fewer events of the same users.
        """


@runtime_checkable
class RankingRecipe(Recipe[ConfigT], Protocol[ConfigT]):
    """A recipe whose models rank all items for users of the material.

    ``hedgerow eval topk`` offers it.
    """

    @property
    def files(self) -> frozenset[str]:
        """Return the side files that the recipe learns from: users, items, graph."""

    def answers(self, material: Material, config: ConfigT, model: Any) -> Answers:
        """Return how a fitted model answers the users of the material."""


@runtime_checkable
class ServedRecipe(Recipe[ConfigT], Protocol[ConfigT]):
    """A recipe whose models can serve; the trainer offers it."""

    def held_out(self, data: Dataset) -> Dataset:
        """Return the dataset with only the held-out users that such a model is meant for."""

    def validated(self, data: Dataset, model: Any) -> Validation:
        """Return how well a model ranks for the held-out users, ranking as it would in service."""

    def snapshot(
        self, name: str, model: Any, encoded: EncodedUsers | None, about: About
    ) -> Snapshot:
        """Return a model as the snapshot that the registry stores."""

    def restored(self, snapshot: Snapshot) -> Any:
        """Return the model of a snapshot."""
