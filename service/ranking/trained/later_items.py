"""Rank items that were described after a training, by their current documents.

Slates and the follower share this, so that the mixture weighs the rankers that serve.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from service.ranking.ranker import Ranker

MOST_LATER = 10_000
"""Largest number of later items that a model ranks; beyond that it should be trained again."""


Bodies: TypeAlias = Mapping[int, Mapping[str, Any]]
"""Documents of items by number; empty where nothing is said."""


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
    bodies: Mapping[str, Bodies] = field(default_factory=dict)
    """The documents that each of them has read, by version of the model."""

    def refreshed(self, models: Iterable[Ranker], documents: Documents) -> "LaterItems":
        """Return the later items of these models now; the same object if nothing has changed.

        A ranker stays the same object until a document that it reads changes.
        """
        readers = {m.version: m for m in models if m.family.reads_later_items}
        if not readers:
            return LaterItems() if self.rankers else self
        # before the documents: what changes meanwhile is read again next time
        moment = documents.state()
        if moment == self.moment and self.rankers.keys() == readers.keys():
            return self
        bodies = {
            version: self.bodies[version]
            if moment == self.moment and version in self.bodies
            else _read(model, documents, moment)
            for version, model in readers.items()
        }
        rankers = {
            version: self.rankers[version]
            if bodies[version] == self.bodies.get(version)
            else model.with_later(bodies[version])
            for version, model in readers.items()
        }
        return LaterItems(moment, rankers, bodies)

    def covers(self, models: Iterable[Ranker]) -> bool:
        """Whether the later items of all of these models have been read."""
        return all(m.version in self.rankers for m in models if m.family.reads_later_items)

    def with_later(self, model: Ranker) -> Ranker:
        """Return a model with its later items; the model itself if it ranks none."""
        return self.rankers.get(model.version, model)


def _read(model: Ranker, documents: Documents, moment: Moment) -> Bodies:
    """Return the documents of items that the model does not place, by number."""
    last = min(moment.n_items, model.n_items + MOST_LATER)
    later = range(model.n_items, last)
    # the newest ones, if there are very many
    before = model.unplaced[max(model.unplaced.size - MOST_LATER, 0) :].tolist()
    found = dict(zip([*before, *later], documents.items([*before, *later]), strict=True))
    return {number: body for number, body in found.items() if body or number in later}
