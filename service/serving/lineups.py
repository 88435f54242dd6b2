"""The current lineup, and lineups with the earlier models that a cursor names."""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeAlias

from msgspec.structs import replace as replaced

from core.mixture_weights import Weights
from service.errors import ServiceError
from service.ranking.keeping import Basis
from service.ranking.lineup import Lineup
from service.ranking.ranker import Ranker
from service.ranking.trained.folded_items import FoldedItems
from service.ranking.trained.later_items import LaterItems
from service.ranking.untrained.state import State, rankers_of
from service.served_models import ActiveModel, ActiveModels, ActiveSet
from service.serving.copies.folded_items import FoldedItemsFollower
from service.serving.copies.later_items import LaterItemsFollower
from service.serving.copies.mixture_weights import MixtureWeights
from service.store.models.joined_mixture import arms
from service.store.models.mixture import MixtureRecord

_Records: TypeAlias = Sequence[MixtureRecord | None]
_Sources: TypeAlias = tuple[
    ActiveSet, Weights, _Records, LaterItems, FoldedItems, *tuple[State, ...]
]

KEPT = 8
"""Number of models, active or earlier, whose rankers are kept for cursors."""


class CursorExpired(ServiceError):
    """The model that a cursor names is gone."""

    status, code = 410, "cursor_expired"


class FollowsState(Protocol):
    """Follows a state in the store; ``current`` is replaced as a whole."""

    @property
    def current(self) -> State: ...


class Lineups:
    """Builds a new lineup when something in it changes; a request uses one lineup throughout."""

    def __init__(
        self,
        models: ActiveModels,
        weights: MixtureWeights,
        later: LaterItemsFollower,
        folded: FoldedItemsFollower,
        states: Sequence[FollowsState],
    ) -> None:
        self._models, self._weights, self._later, self._folded = models, weights, later, folded
        self._states = states
        self._made_of: _Sources = ActiveSet(), Weights(), (), LaterItems(), FoldedItems()
        self._rankers: OrderedDict[str, Ranker] = OrderedDict()
        self._lineups: dict[int | None, Lineup] = {}
        self._ahead: tuple[object, Lineup] | None = None
        self._number = self._of_later = 0
        """The number of the lineup, and of the first one with these later items."""

    def current(self, partition: int | None) -> Lineup:
        """Return the lineup for users of a partition; None: for an asker who is not a user."""
        new: _Sources = (
            self._models.current,
            self._weights.current,
            self._weights.records,
            self._later.current,
            self._folded.current,
            *[followed.current for followed in self._states],
        )
        if not all(map(operator.is_, new, self._made_of)):
            self._renumber(new)
            self._made_of, self._lineups = new, {}
        lineup = self._lineups.get(partition)
        if lineup is None:
            lineup = self._lineups[partition] = self._made(partition, self._made_of[0])
        return lineup

    def ahead(self, partition: int | None) -> Lineup:
        """Return the lineup as it will be once the models in preparation serve."""
        self.current(partition)
        active = self._models.coming
        key = partition, self._number, _versions(active)
        if self._ahead is None or self._ahead[0] != key:
            self._ahead = key, self._made(partition, active)
        return self._ahead[1]

    def _renumber(self, new: _Sources) -> None:
        self._number += 1
        later = new[3]
        if later.rankers != self._made_of[3].rankers:
            self._of_later = self._number

    def of_versions(self, partition: int | None, versions: Mapping[str, str]) -> Lineup:
        """Return the lineup with these models, not the active ones; raise CursorExpired if gone.

        Beginnings of versions will do. An active family that reads contexts may be absent: it takes
        no part in a list without a context, so the current lineup goes on with that list.
        """
        lineup = self.current(partition)
        active = {
            one.strategy: one.version
            for one in lineup.trained
            if one.strategy in versions or not one.family.reads_context
        }
        if active.keys() == versions.keys() and all(
            active[strategy].startswith(versions[strategy]) for strategy in active
        ):
            return lineup
        rankers = [ranker for ranker in lineup.rankers if not ranker.family.trained]
        for strategy, version in versions.items():
            ranker = lineup.models.get(strategy)
            same = ranker is not None and ranker.version.startswith(version)
            rankers.append(ranker if ranker is not None and same else self._earlier(version))
        basis = replaced(lineup.basis, models=f"cursor: {sorted(versions.items())}")
        return replace(lineup, rankers=rankers, basis=basis)

    def _earlier(self, version: str) -> Ranker:
        kept = (own for whole, own in self._rankers.items() if whole.startswith(version))
        ranker = next(kept, None)
        if ranker is None:
            raise CursorExpired(
                "the model of this list is no longer kept: begin again, without the cursor"
            )
        return ranker

    def _made(self, partition: int | None, active: ActiveSet) -> Lineup:
        _, weights, records, later, folded, *states = self._made_of
        trained = (self._trained(model, later) for model in active.models.values())
        rankers = [folded.with_folded(ranker) for ranker in trained]
        others, judged = rankers_of(states, partition), arms(records, partition)
        # a list of the fusion ends when there is a stack: its scores are something else
        models = _versions(active) + " stack" * (judged.logit is not None)
        return Lineup(
            [*rankers, *others],
            weights,
            judged,
            basis=Basis(self._number, models, self._of_later, _n_events(others)),
            of_users=partition is not None,
        )

    def _trained(self, model: ActiveModel, later: LaterItems) -> Ranker:
        """Return the ranker of a model with its later items; a cursor gets it without them."""
        version, ranker = model.record.version, model.ranker
        self._rankers[version] = ranker
        self._rankers.move_to_end(version)
        if len(self._rankers) > KEPT:
            self._rankers.popitem(last=False)
        return later.with_later(ranker)


def _versions(active: ActiveSet) -> str:
    return " ".join(f"{strategy}={one}" for strategy, one in sorted(active.versions.items()))


def _n_events(rankers: Iterable[Ranker]) -> int:
    """Return the number of events that the lists for everybody count."""
    shared = (one.trained_through for one in rankers if one.family.for_everybody)
    return max((sum(through.values()) for through in shared), default=0)
