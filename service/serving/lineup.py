"""Which rankers there are at this moment, and those of versions that a cursor still names."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from core.snapshot import users_of
from service.active import ActiveModel, ActiveModels, ActiveSet
from service.errors import ServiceError
from service.rec_ids import STRATEGIES, Strategy
from service.serving.popularity import Orders, Popularity
from service.serving.rankers import FoldIn, Order, Ranker
from service.serving.slates import Lineup

KEPT = 8
"""Models whose rankers stay for cursors that name them."""


class CursorExpired(ServiceError):
    """The model of a list is gone."""

    status, code = 410, "cursor_expired"


class Lineups:
    """Builds a lineup when something in it was replaced; a request keeps the one that it began with."""

    def __init__(self, models: ActiveModels, popular: Popularity) -> None:
        self._models, self._popular = models, popular
        self._active: ActiveSet | None = None
        self._orders: Orders | None = None
        self._rankers: OrderedDict[str, FoldIn] = OrderedDict()
        self._lineup: Lineup | None = None

    @property
    def current(self) -> Lineup:
        """Return what ranks now."""
        active, orders = self._models.current, self._popular.current
        if self._lineup is None or active is not self._active or orders is not self._orders:
            self._lineup = self._made(active, orders)
            self._active, self._orders = active, orders
        return self._lineup

    def of_versions(self, versions: Mapping[str, str]) -> Lineup:
        """Return the lineup with these versions instead of the active ones; CursorExpired if one is gone."""
        lineup = self.current
        models = dict(lineup.models)
        for strategy, version in versions.items():
            now = models.get(cast("Strategy", strategy))
            if now is None or now.version != version:
                models[cast("Strategy", strategy)] = self._earlier(version)
        return replace(lineup, models=models)

    def _earlier(self, version: str) -> FoldIn:
        found = self._rankers.get(version)
        if found is None:
            raise CursorExpired(
                "the model of this list serves no more: begin again, without the cursor"
            )
        return found

    def _made(self, active: ActiveSet, orders: Orders) -> Lineup:
        rankers = {
            strategy: self._fold_in(model)
            for strategy, model in active.models.items()
            if "row" in model.snapshot.parameters
        }
        models: dict[Strategy, Ranker] = {s: rankers[s] for s in STRATEGIES if s in rankers}
        seen = orders.seen_through
        return Lineup(
            models,
            Order("popular", orders.popular, seen),
            Order("trending", orders.trending, seen),
        )

    def _fold_in(self, model: ActiveModel) -> FoldIn:
        record = model.record
        found = self._rankers.get(record.version)
        if found is None:
            through = record.cuts.get("trained_through", {})
            found = self._rankers[record.version] = FoldIn(
                cast("Strategy", record.strategy),
                record.version,
                users_of(model.snapshot),
                {int(partition): int(sequence) for partition, sequence in through.items()},
            )
        self._rankers.move_to_end(record.version)
        if len(self._rankers) > KEPT:
            self._rankers.popitem(last=False)
        return found
