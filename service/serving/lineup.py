"""Which rankers there are at this moment, and those of versions that a cursor still names."""

import operator
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from core.features import FeatureEncoder
from core.labels.snapshot import items_of
from core.mixture import Weights
from core.ordinal.snapshot import stars_of
from core.snapshot import encoders_of
from core.types import F32
from service.active import ActiveModel, ActiveModels, ActiveSet
from service.errors import ServiceError
from service.rec_ids import STRATEGIES, Strategy
from service.serving.label_ranker import Labelled
from service.serving.latest_items import LatestItems
from service.serving.mixing import Mixing
from service.serving.online_items import OnlineItems, OnlineSnapshotFollower
from service.serving.popularity import Orders, Popularity
from service.serving.rankers import FoldIn, Online, Order, Ranker, Trained
from service.serving.slates import Lineup
from service.serving.star_ranker import Starred

_Sources = tuple[ActiveSet, Orders, Mapping[int, OnlineItems], Weights, Mapping[str, F32]]

KEPT = 8
"""Models whose rankers stay for cursors that name them."""


class CursorExpired(ServiceError):
    """The model of a list is gone."""

    status, code = 410, "cursor_expired"


class Lineups:
    """Builds lineups when something in them was replaced; a request keeps the one that it began with."""

    def __init__(
        self,
        models: ActiveModels,
        popularity: Popularity,
        online: OnlineSnapshotFollower,
        mixing: Mixing,
        latest: LatestItems,
    ) -> None:
        self._sources = models, popularity, online, mixing, latest
        self._made_of: _Sources = ActiveSet(), Orders(), {}, Weights(), {}
        self._rankers: OrderedDict[str, Trained] = OrderedDict()
        self._orders = _orders(self._made_of[1])
        self._lineups: dict[int | None, Lineup] = {}

    def current(self, partition: int | None) -> Lineup:
        """Return what ranks now for users of a partition, None: for somebody who is no user."""
        models, popularity, online, mixing, latest = self._sources
        new: _Sources = (
            models.current,
            popularity.current,
            online.current,
            mixing.current,
            latest.current,
        )
        if not all(map(operator.is_, new, self._made_of)):
            if new[1] is not self._made_of[1]:
                self._orders = _orders(new[1])
            self._made_of, self._lineups = new, {}
        found = self._lineups.get(partition)
        if found is None:
            found = self._lineups[partition] = self._made(partition)
        return found

    def of_versions(self, partition: int | None, versions: Mapping[str, str]) -> Lineup:
        """Return the lineup with these trained models instead of the active ones; CursorExpired if one is gone."""
        lineup = self.current(partition)
        models = {s: one for s, one in lineup.models.items() if not isinstance(one, Trained)}
        for strategy, version in versions.items():
            name = cast("Strategy", strategy)
            now = lineup.models.get(name)
            models[name] = (
                now if now is not None and now.version == version else self._earlier(version)
            )
        return replace(lineup, models={s: models[s] for s in STRATEGIES if s in models})

    def _earlier(self, version: str) -> Ranker:
        found = self._rankers.get(version)
        if found is None:
            raise CursorExpired(
                "the model of this list serves no more: begin again, without the cursor"
            )
        return found

    def _made(self, partition: int | None) -> Lineup:
        active, _, online, weights, latest = self._made_of
        rankers: dict[str, Ranker] = {
            strategy: self._trained(model)
            for strategy, model in active.models.items()
            if model.snapshot.parameters.keys() & {"row", "space", "ordinal"}
        }
        stars = rankers.get("ordinal")
        if isinstance(stars, Starred) and stars.version in latest:
            rankers["ordinal"] = stars.with_later(latest[stars.version])
        if partition is not None and partition in online:
            rankers["online"] = Online(partition, online[partition])
        ordered: dict[Strategy, Ranker] = {s: rankers[s] for s in STRATEGIES if s in rankers}
        return Lineup(ordered, *self._orders, weights)

    def _trained(self, model: ActiveModel) -> Trained:
        version = model.record.version
        found = self._rankers.get(version)
        if found is None:
            found = self._rankers[version] = ranker_of(model)
        self._rankers.move_to_end(version)
        if len(self._rankers) > KEPT:
            self._rankers.popitem(last=False)
        return found


def ranker_of(model: ActiveModel) -> Trained:
    """Return what ranks by a model."""
    record, snapshot = model.record, model.snapshot
    cuts = record.cuts.get("trained_through", {})
    through = {int(partition): int(sequence) for partition, sequence in cuts.items()}
    if "space" in snapshot.parameters:
        return Labelled(record.version, items_of(snapshot), through, *encoders_of(snapshot))
    if "ordinal" in snapshot.parameters:
        return Starred(record.version, stars_of(snapshot), through, *encoders_of(snapshot))
    encoder = FeatureEncoder.of_json(snapshot.parameters.get("encoder", ()))
    strategy = cast("Strategy", record.strategy)
    return FoldIn(strategy, record.version, model.users, through, encoder)


def _orders(orders: Orders) -> tuple[Order, Order]:
    through = orders.seen_through
    popular, trending = orders.popular, orders.trending
    return Order("popular", popular, through), Order("trending", trending, through)
