"""The description of a family of models: everything that the rest of the service needs to know."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from core.recipe_settings import RecipeSettings
from core.snapshot import Snapshot
from service.ranking.strategies import Strategy

if TYPE_CHECKING:
    from service.ranking.ranker import Ranker


ScoreKind: TypeAlias = Literal["probability", "stars", "likeness", "count", "days", "rank_sum"]
"""What a score is: the probability of being taken next, a predicted rating, how well an item fits
(no fixed scale), counted events, days since 1970, or a sum over the lists that hold an item."""


ADDS = "adds"
"""Metric of a model of a family that ``only_places``: 1 if it adds to the rankers beside it."""


class Published(NamedTuple):
    """A trained model as it comes from the registry."""

    version: str
    snapshot: Snapshot
    trained_through: Mapping[int, int]
    """Sequence of the last event that the model has learned, by partition."""


@dataclass(frozen=True, kw_only=True)
class Reasons:
    """The reasons that answers give for a personal family without training, if it cannot rank."""

    unlearned: str = ""
    """It has no ranker, because it has learned nothing yet."""
    no_user: str = ""
    """It has no ranker for an asker who is not a user; empty: it ranks for others as for users."""
    unknown: str = ""
    """Its ranker does not know the asker."""
    newer: str = ""
    """When it will know items that it does not know yet."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """A kind of model or ranker; ``families.py`` lists them and tells how to add one."""

    strategy: Strategy
    """Its name in the API, in logs and in the registry."""
    number: int
    """Its number in logs and recommendation ids; never changed, never given to another family."""
    title: str
    """Its name for people; answers show it beside the strategy."""
    about: str
    """One sentence for people who do not know the papers."""
    score_kind: ScoreKind = "likeness"
    """What its scores are, where it ranks alone."""
    recipes: tuple[RecipeSettings[Any], ...] = ()
    """How it is trained; reasons and docs suggest the first. Empty: the family is not trained."""
    read: "Callable[[Family, Published], Ranker] | None" = None
    """Makes the ranker of a trained model; None: the family is not trained."""
    reasons: Reasons = Reasons()
    """Only for a family that is personal and not trained; the others' follow from the entry."""
    for_everybody: bool = False
    """Whether its list is the same for everybody."""
    mixes: bool = True
    """Whether it takes part in mixtures; else it answers only where it is named."""
    compares_items: bool = False
    """Whether it finds items similar to an item."""
    compares_items_best: bool = False
    """Whether it is asked for similar items before the other trained families."""
    compares_users: bool = False
    explains: bool = False
    """Whether it can tell which past items carry a score."""
    finds_audience: bool = False
    """Whether it ranks users for an item."""
    predicts_stars: bool = False
    """Whether it predicts ratings for single pairs of a user and an item."""
    reads_history: bool = True
    """Whether it ranks by the history of the asker."""
    reads_dislikes: bool = True
    """Whether it ranks for somebody with dislikes alone."""
    reads_order: bool = False
    """Whether it is trained with the order of events; it ranks by the latest ones."""
    serves_without_history: bool = False
    """Whether it ranks for people without a history: by features, or one list for everybody."""
    trusted: bool = True
    """Whether it may rank before it was judged, and when no other ranker knows the asker."""
    judged: bool = True
    """Whether the follower judges it; a family whose share shrinks with the history needs none."""
    reads_user_features: bool = False
    reads_item_features: bool = False
    reads_context: bool = False
    """Whether it ranks by where the list is shown; it is trained with where events happened."""
    only_places: bool = False
    """Whether it serves to place new items alone and takes no part in mixtures, unless a training
    found that it adds to the others (see ``ADDS``)."""
    reads_later_items: bool = False
    """Whether it ranks items that were added after its training, by their documents."""

    @property
    def only_reads_features(self) -> bool:
        """Whether its models know people by their features alone."""
        return self.trained and not (self.reads_history or self.reads_context)

    @property
    def places_items(self) -> bool:
        """Whether documents place items for people with a history, even what nobody took yet."""
        return self.reads_history and self.reads_later_items

    @cached_property
    def trained(self) -> bool:
        """Whether its models are trained and come from the registry."""
        return self.read is not None


Families: TypeAlias = Mapping[Strategy, Family]
"""Families by strategy."""


def table(entries: Iterable[Family]) -> Families:
    """Return the families in the order of their numbers."""
    return {entry.strategy: entry for entry in sorted(entries, key=lambda entry: entry.number)}
