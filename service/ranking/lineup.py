"""The rankers of one moment, and how a slate names those that made it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

import msgspec
from msgspec import Struct

from core.mixture_weights import Weights
from service.ranking.families import FAMILIES
from service.ranking.family import Families
from service.ranking.ranker import AudienceModel, Ranker, StarModel
from service.ranking.strategies import MIXTURE, ONLINE, POPULAR, TRENDING, Strategy


class Blend(Struct, frozen=True):
    """The share of another ranker in the scores."""

    share: float
    version: str


class Origin(Struct, frozen=True):
    """What ranked."""

    strategy: Strategy
    version: str
    versions: Mapping[str, str]
    """The trained models in it: strategy -> version."""
    trained_through: Mapping[int, int]
    """Partition -> sequence."""
    blend: Blend | None = None
    """The online model's share."""

    def blended(self, share: float, version: str) -> "Origin":
        """Return the origin of scores with a share of the online model: a version of its own."""
        digest = _digest(f"{self.version},{version},{share}")
        return msgspec.structs.replace(self, version=f"blend-{digest}", blend=Blend(share, version))


@dataclass(frozen=True, eq=False)
class Lineup:
    """The rankers of one moment. One slate uses one lineup throughout."""

    models: Mapping[Strategy, Ranker]
    """Rankers that may know an asker: the active models, and the online model of a partition."""
    popular: Ranker
    trending: Ranker
    weights: Weights = field(default_factory=Weights)
    """Weights of the rankers in the mixture, as far as they were judged."""
    of_users: bool = True
    """False: the asker is no user, so the online model cannot know them."""
    families: Families = field(default_factory=lambda: FAMILIES)
    _origins: dict[tuple[Strategy, ...], Origin] = field(default_factory=dict, init=False)

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
    def everybodys(self) -> Mapping[Strategy, Ranker]:
        """Return the rankers whose list is the same for all people."""
        return {POPULAR: self.popular, TRENDING: self.trending}

    @cached_property
    def trained(self) -> Sequence[Ranker]:
        """Return the active models."""
        return [ranker for ranker in self.models.values() if ranker.family.trained]

    @cached_property
    def feature_readers(self) -> Sequence[Ranker]:
        """Return the models that know people by their features."""
        return [ranker for ranker in self.models.values() if ranker.reads_features]

    @property
    def online(self) -> Ranker | None:
        """Return the online model's ranker."""
        return self.models.get(ONLINE)

    @property
    def audience(self) -> AudienceModel | None:
        """Return a model that ranks users for an item."""
        return next((r.audience for r in self.models.values() if r.audience), None)

    @property
    def star_model(self) -> StarModel | None:
        """Return a model that predicts ratings of single pairs."""
        return next((r.star_model for r in self.models.values() if r.star_model), None)

    def weights_of(self, own: Collection[Ranker], n: int) -> Mapping[str, float]:
        """Return the weights of all rankers for an asker with n preferences, whom ``own`` know.

        They are empty if no weight is known: a trained model has one from the gate before it was
        judged, the online model only from judgements.
        """
        trained = {ranker.strategy for ranker in own if ranker.family.trained}
        told = trained & self.weights.shared.keys() if trained else self.weights.by_length
        return self.weights.of(n) if told else {}

    def origin(self, rankers: Sequence[Ranker]) -> Origin:
        """Return the origin of each slate that these of its rankers make."""
        names = tuple([ranker.strategy for ranker in rankers])
        found = self._origins.get(names)
        if found is None:
            found = self._origins[names] = _origin(rankers)
        return found


def in_order(rankers: Iterable[Ranker]) -> list[Ranker]:
    """Return rankers in the order of their families' numbers: ties in weights are decided by it."""
    return sorted(rankers, key=lambda ranker: ranker.family.number)


def by_strategy(rankers: Iterable[Ranker]) -> dict[Strategy, Ranker]:
    """Return rankers by strategy, in order."""
    return {ranker.strategy: ranker for ranker in in_order(rankers)}


def _origin(rankers: Sequence[Ranker]) -> Origin:
    versions: dict[str, str] = {r.strategy: r.version for r in rankers if r.family.trained}
    mixed = len(rankers) > 1
    through: dict[int, int] = {}
    for ranker in rankers:
        # a mixture has learned what all of its trained models have
        if ranker.family.trained or not versions:
            for partition, sequence in ranker.trained_through.items():
                through[partition] = min(sequence, through.get(partition, sequence))
    return Origin(
        strategy=MIXTURE if mixed else rankers[0].strategy,
        version=_mixture_version(versions) if mixed else rankers[0].version,
        versions=versions,
        trained_through=through,
    )


def _mixture_version(versions: Mapping[str, str]) -> str:
    """Return a version that changes when one of a mixture does."""
    text = ",".join(f"{strategy}={versions[strategy]}" for strategy in sorted(versions))
    return f"mixture-{_digest(text)}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()
