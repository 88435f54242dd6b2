"""Models with the items that they have not learned, folded in by the users who took them since.

Slates and the follower share this, so that the mixture weighs the rankers that serve.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from core.batch.takers import NOBODY, Takers
from service.ranking.ranker import Ranker


@dataclass(frozen=True, eq=False)
class FoldedItems:
    """The rankers that know more items than their models."""

    takers: Takers = NOBODY
    rankers: Mapping[str, Ranker] = field(default_factory=dict)
    """By version of the model; a model that knows no more items has no entry."""
    made_of: frozenset[str] = frozenset()
    """What all models that were asked are made of."""

    def refreshed(self, models: Iterable[Ranker], takers: Takers) -> "FoldedItems":
        """Return the rankers of these models with these takers; the same object if none changed.

        It takes some milliseconds for a hundred takers.
        """
        models = list(models)
        made_of = frozenset(model.made_of for model in models)
        if takers.version == self.takers.version and made_of == self.made_of:
            return self
        placing = next((model for model in models if model.family.places_items), None)
        folded = {model.version: model.folding_in(takers, placing) for model in models}
        rankers = {name: folded[name] for name in folded if folded[name] not in models}
        if not rankers and not self.rankers and made_of == self.made_of:
            return self
        return FoldedItems(takers, rankers, made_of)

    def with_folded(self, model: Ranker) -> Ranker:
        """Return a model with its folded items; the model itself if there are none."""
        return self.rankers.get(model.version, model)
