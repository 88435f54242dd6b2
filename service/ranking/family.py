"""A family of models: one entry says everything that the rest of the service asks about it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from core.recipe_settings import RecipeSettings
from core.snapshot import Snapshot
from service.ranking.strategies import Strategy

if TYPE_CHECKING:
    from service.ranking.ranker import Ranker


class Published(NamedTuple):
    """A trained model as the registry hands it out."""

    version: str
    snapshot: Snapshot
    trained_through: Mapping[int, int]
    """The last sequence that it has learned, by partition."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """A kind of model or ranker; see ``families.py`` for all of them and for how to add one."""

    strategy: Strategy
    """Its name in the API, in logs and in the registry."""
    number: int
    """Its number in logs and recommendation ids; never changed, never given to another family."""
    title: str
    about: str
    """One sentence for people who do not know the papers."""
    recipes: tuple[RecipeSettings[Any], ...] = ()
    """How it is trained; reasons and docs suggest the first. Empty: nothing is trained."""
    read: "Callable[[Family, Published], Ranker] | None" = None
    """Makes the ranker of a trained model; None: nothing is trained."""
    for_everybody: bool = False
    """Whether it has one list for all people."""
    compares_users: bool = False
    explains: bool = False
    """Whether it can tell which past items carry a score."""
    finds_audience: bool = False
    """Whether it ranks users for an item."""
    predicts_stars: bool = False
    """Whether it predicts ratings of single pairs."""
    reads_history: bool = True
    """Whether it knows people by what they did."""
    serves_without_history: bool = False
    """Whether it ranks for people without a history: by features, or one list for all."""
    trusted: bool = True
    """Whether it may rank before it was judged, and where nothing else knows the asker."""
    judged: bool = True
    """Whether the follower judges it; a family that fades as a history grows needs no weight."""
    reads_user_features: bool = False
    reads_item_features: bool = False
    reads_later_items: bool = False
    """Whether it ranks items that came after its training, by their documents."""

    @property
    def trained(self) -> bool:
        """Whether its models come from the registry."""
        return self.read is not None


Families: TypeAlias = Mapping[Strategy, Family]
"""Families by strategy."""


def table(entries: Iterable[Family]) -> Families:
    """Return the families in the order of their numbers."""
    return {entry.strategy: entry for entry in sorted(entries, key=lambda one: one.number)}
