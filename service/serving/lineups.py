"""The current lineup, and lineups with the earlier models that a cursor names."""

import operator
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace

from core.mixture_weights import Weights
from service.errors import ServiceError
from service.ranking.everybody import SharedList
from service.ranking.families import FAMILIES
from service.ranking.later_items import LaterItems
from service.ranking.lineup import Lineup, by_strategy
from service.ranking.online import Online, OnlineItems
from service.ranking.ranker import Ranker
from service.ranking.strategies import ONLINE, POPULAR, TRENDING
from service.served_models import ActiveModel, ActiveModels, ActiveSet
from service.serving.later_items import LaterItemsFollower
from service.serving.mixture_weights import MixtureWeights
from service.serving.online_items import OnlineSnapshotFollower
from service.serving.popularity import Orders, Popularity

_Sources = tuple[ActiveSet, Orders, Mapping[int, OnlineItems], Weights, LaterItems]

KEPT = 8
"""Number of models, active or earlier, whose rankers are kept for cursors."""


class CursorExpired(ServiceError):
    """The model that a cursor names is gone."""

    status, code = 410, "cursor_expired"


class Lineups:
    """Builds a new lineup when something in it changes; a request uses one lineup throughout."""

    def __init__(
        self,
        models: ActiveModels,
        popularity: Popularity,
        online: OnlineSnapshotFollower,
        weights: MixtureWeights,
        later: LaterItemsFollower,
    ) -> None:
        self._sources = models, popularity, online, weights, later
        self._made_of: _Sources = ActiveSet(), Orders(), {}, Weights(), LaterItems()
        self._rankers: OrderedDict[str, Ranker] = OrderedDict()
        self._orders = self._ordered(self._made_of[1])
        self._lineups: dict[int | None, Lineup] = {}

    def current(self, partition: int | None) -> Lineup:
        """Return the lineup for users of a partition; None: for an asker who is no user."""
        models, popularity, online, weights, later = self._sources
        new: _Sources = (
            models.current,
            popularity.current,
            online.current,
            weights.current,
            later.current,
        )
        if not all(map(operator.is_, new, self._made_of)):
            if new[1] is not self._made_of[1]:
                self._orders = self._ordered(new[1])
            self._made_of, self._lineups = new, {}
        lineup = self._lineups.get(partition)
        if lineup is None:
            lineup = self._lineups[partition] = self._made(partition)
        return lineup

    def of_versions(self, partition: int | None, versions: Mapping[str, str]) -> Lineup:
        """Return the lineup with these models, not the active ones; raise CursorExpired if gone."""
        lineup = self.current(partition)
        rankers = [ranker for ranker in lineup.models.values() if not ranker.family.trained]
        for strategy, version in versions.items():
            active = lineup.models.get(strategy)
            same = active is not None and active.version == version
            rankers.append(active if active is not None and same else self._earlier(version))
        return replace(lineup, models=by_strategy(rankers))

    def _earlier(self, version: str) -> Ranker:
        ranker = self._rankers.get(version)
        if ranker is None:
            raise CursorExpired(
                "the model of this list serves no more: begin again, without the cursor"
            )
        return ranker

    def _made(self, partition: int | None) -> Lineup:
        active, _, online, weights, later = self._made_of
        rankers = [self._trained(model, later) for model in active.models.values()]
        if partition is not None and partition in online:
            rankers.append(Online(FAMILIES[ONLINE], partition, online[partition]))
        popular, trending = self._orders
        return Lineup(
            models=by_strategy(rankers),
            popular=popular,
            trending=trending,
            weights=weights,
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

    def _ordered(self, orders: Orders) -> tuple[SharedList, SharedList]:
        through = orders.seen_through
        popular = SharedList(FAMILIES[POPULAR], orders.popular, through)
        return popular, SharedList(FAMILIES[TRENDING], orders.trending, through)
