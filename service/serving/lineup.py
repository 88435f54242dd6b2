"""Which rankers there are at this moment, and those of versions that a cursor still names."""

import operator
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import cast

import msgspec
from msgspec import Struct

from core.batch.snapshot import encoders_of
from core.features import FeatureEncoder
from core.labels.snapshot import items_of
from core.mixture_weights import Weights
from core.ordinal.snapshot import stars_of
from core.types import F32
from service.errors import ServiceError
from service.ids import sequence_token
from service.ranking.labelled import Labelled
from service.ranking.rankers import FoldIn, Online, Order, Ranker, Trained
from service.ranking.starred import Starred
from service.rec_ids import STRATEGIES, Strategy
from service.served_models import ActiveModel, ActiveModels, ActiveSet
from service.serving.latest_items import LatestItems
from service.serving.mixture_weights import Mixing
from service.serving.online_items import OnlineItems, OnlineSnapshotFollower
from service.serving.popularity import Orders, Popularity

_Sources = tuple[ActiveSet, Orders, Mapping[int, OnlineItems], Weights, Mapping[str, F32]]

KEPT = 8
"""Models whose rankers stay for cursors that name them."""


class Blend(Struct, frozen=True):
    """What another ranker has in the scores."""

    share: float
    version: str


class Origin(Struct, frozen=True):
    """What ranked."""

    strategy: Strategy
    version: str
    versions: Mapping[str, str]
    """Of the batch models in it, by strategy."""
    trained_through: str
    """As a token."""
    blend: Blend | None = None
    """Of the online model."""

    def blended(self, share: float, version: str) -> "Origin":
        """Return what it is with a share of the online model in the scores: a version of its own."""
        digest = _digest(f"{self.version},{version},{share}")
        return msgspec.structs.replace(self, version=f"blend-{digest}", blend=Blend(share, version))


@dataclass(frozen=True, eq=False)
class Lineup:
    """What ranks at one moment."""

    models: Mapping[Strategy, Ranker]
    """Those that may know an asker: the active models, the online model of the asker's partition."""
    popular: Order
    trending: Order
    weights: Weights = field(default_factory=Weights)
    """Of the rankers in the mixture, as far as they were judged."""
    of_users: bool = True
    """False: of somebody who is no user, whom the online model cannot know."""
    _origins: dict[tuple[Strategy, ...], "Origin"] = field(default_factory=dict, init=False)

    @cached_property
    def n_items(self) -> int:
        """Return how many items are known to rankers: the first so many."""
        rankers: list[Ranker] = [self.popular, *self.models.values()]
        return max(ranker.n_items for ranker in rankers)

    @cached_property
    def effort(self) -> int:
        """Return about how many multiplications a slate takes at most."""
        return max((ranker.effort for ranker in self.models.values()), default=0)

    @cached_property
    def trained(self) -> Sequence[Trained]:
        """Return the active models."""
        return [ranker for ranker in self.models.values() if isinstance(ranker, Trained)]

    @cached_property
    def describers(self) -> Sequence[Trained]:
        """Return the models that know people by their features."""
        return [ranker for ranker in self.trained if ranker.knows_features]

    def weights_of(self, own: Collection[Ranker], n: int) -> Mapping[str, float]:
        """Return what all rankers weigh beside those that know an asker with n preferences; nothing if nobody can tell.

        Of a model the gate can, before it was judged; of the online model only what was judged.
        """
        trained = {ranker.strategy for ranker in own if isinstance(ranker, Trained)}
        told = trained & self.weights.shared.keys() if trained else self.weights.by_length
        return self.weights.of(n) if told else {}

    def origin(self, rankers: Sequence[Ranker]) -> "Origin":
        """Return what stands in each slate that these of its rankers make."""
        names = tuple([ranker.strategy for ranker in rankers])
        found = self._origins.get(names)
        if found is None:
            found = self._origins[names] = _origin(rankers)
        return found


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
        return Lineup(ordered, *self._orders, weights, of_users=partition is not None)

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


def _origin(rankers: Sequence[Ranker]) -> Origin:
    versions: dict[str, str] = {r.strategy: r.version for r in rankers if isinstance(r, Trained)}
    mixed = len(rankers) > 1
    through: dict[int, int] = {}
    for ranker in rankers:
        # of a mixture what all of its batch models have seen
        if isinstance(ranker, Trained) or not versions:
            for partition, sequence in ranker.trained_through.items():
                through[partition] = min(sequence, through.get(partition, sequence))
    return Origin(
        "mixture" if mixed else rankers[0].strategy,
        _mixture_version(versions) if mixed else rankers[0].version,
        versions,
        sequence_token(through),
    )


def _mixture_version(versions: Mapping[str, str]) -> str:
    """Return a version that changes when one of a mixture does."""
    text = ",".join(f"{strategy}={versions[strategy]}" for strategy in sorted(versions))
    return f"mixture-{_digest(text)}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()
