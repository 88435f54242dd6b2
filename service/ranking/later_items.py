"""Rank items that were added after a training, by their current documents.

Slates and the follower share this, so that the mixture weighs the rankers that serve.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from service.ranking.ranker import Ranker

MOST_LATER = 10_000
"""Largest number of later items that a model ranks; beyond that it should be trained again."""


class Moment(Protocol):
    """A state of the catalogue, equal to another one if no document differs."""

    @property
    def n_items(self) -> int: ...


class Documents(Protocol):
    """The documents of the items."""

    def state(self) -> Moment: ...
    def items(self, numbers: Iterable[int]) -> Sequence[Mapping[str, Any]]: ...


@dataclass(frozen=True, eq=False)
class LaterItems:
    """The models that rank later items, with the items of one moment."""

    moment: Moment | None = None
    rankers: Mapping[str, Ranker] = field(default_factory=dict)
    """Rankers that know the later items, by version of the model."""

    def refreshed(self, models: Iterable[Ranker], documents: Documents) -> "LaterItems":
        """Return the later items of these models now; the same object if nothing has changed."""
        readers = [model for model in models if model.family.reads_later_items]
        if not readers:
            return LaterItems() if self.rankers else self
        # before the documents: what changes meanwhile is read again next time
        moment = documents.state()
        kept = self.rankers if moment == self.moment else {}
        if kept.keys() == {model.version for model in readers}:
            return self
        rankers = {
            model.version: kept.get(model.version) or _extended(model, documents, moment)
            for model in readers
        }
        return LaterItems(moment, rankers)

    def covers(self, models: Iterable[Ranker]) -> bool:
        """Whether the later items of all of these models have been read."""
        return all(m.version in self.rankers for m in models if m.family.reads_later_items)

    def with_later(self, model: Ranker) -> Ranker:
        """Return a model with its later items; the model itself if it ranks none."""
        return self.rankers.get(model.version, model)


def _extended(model: Ranker, documents: Documents, moment: Moment) -> Ranker:
    last = min(moment.n_items, model.n_items + MOST_LATER)
    return model.with_later(model.later_vectors(documents.items(range(model.n_items, last))))
