"""The rankers of one moment, and the origin by which a slate names them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b

import msgspec
from msgspec import Struct

from core.mixture_weights import Weights
from core.stack.arms import FUSION, STACK, Arms
from service.ranking.keeping import Basis
from service.ranking.ranker import AudienceModel, Ranker, StarModel
from service.ranking.stack import Stack, signal_names
from service.ranking.strategies import MIXTURE, ONLINE, POPULAR, Strategy


class Blend(Struct, frozen=True):
    """The share of the online model in the scores, and its version."""

    share: float
    version: str


class Origin(Struct, frozen=True):
    """The ranker or mixture that made a slate."""

    strategy: Strategy
    version: str
    versions: Mapping[str, str]
    """Versions of the trained models in it, by strategy."""
    trained_through: Mapping[int, int]
    """Sequence of the last learned event, by partition."""
    blend: Blend | None = None
    """The share of the online model, if the request asked for one."""

    def blended(self, share: float, version: str) -> "Origin":
        """Return the origin of scores with a share of the online model; it has another version."""
        digest = _digest(f"{self.version},{version},{share}")
        return msgspec.structs.replace(self, version=f"blend-{digest}", blend=Blend(share, version))


@dataclass(frozen=True, eq=False)
class Lineup:
    """The rankers of one moment. One slate uses one lineup throughout."""

    rankers: Sequence[Ranker]
    """Rankers of the active models and of the state of families without training; always of
    ``POPULAR``, which fills every list up."""
    weights: Weights = field(default_factory=Weights)
    """Weights of the rankers in the mixture, as far as they have been judged."""
    arms: Arms = field(default_factory=Arms)
    """The weights of the stack, and what Hedge makes of it and of the other arms."""
    basis: Basis = field(default_factory=Basis.alone)
    """Decides for how long a list that was made in it is shown again."""
    of_users: bool = True
    """Whether the asker is a user; families may know no others."""
    _origins: dict[tuple[Strategy, ...], Origin] = field(default_factory=dict, init=False)
    _stacks: dict[tuple[Strategy, ...], Stack | None] = field(default_factory=dict, init=False)

    @cached_property
    def models(self) -> Mapping[Strategy, Ranker]:
        """Return the rankers that may know an asker."""
        return by_strategy(one for one in self.rankers if not one.family.for_everybody)

    @cached_property
    def mixed(self) -> Mapping[Strategy, Ranker]:
        """Return those of the ``models`` that take part in mixtures."""
        return {name: one for name, one in self.models.items() if not one.only_places}

    @cached_property
    def everybodys(self) -> Mapping[Strategy, Ranker]:
        """Return the rankers whose list is the same for everybody, as far as they mix."""
        return by_strategy(
            one for one in self.rankers if one.family.for_everybody and one.family.mixes
        )

    def named(self, strategy: Strategy) -> Ranker | None:
        """Return the ranker of a strategy; None: there is none."""
        return next((one for one in self.rankers if one.strategy == strategy), None)

    @cached_property
    def popular(self) -> Ranker:
        """Return the ranker that continues where the chosen ones end."""
        return self.everybodys[POPULAR]

    @cached_property
    def n_items(self) -> int:
        """Return the number of items that rankers know: they know items 0 .. n_items - 1."""
        return max(ranker.n_items for ranker in self.rankers)

    @cached_property
    def effort(self) -> int:
        """Return the approximate largest number of multiplications for a slate."""
        return max((ranker.effort for ranker in self.models.values()), default=0)

    @cached_property
    def trained(self) -> Sequence[Ranker]:
        """Return the rankers of the active models."""
        return [ranker for ranker in self.models.values() if ranker.family.trained]

    @cached_property
    def feature_readers(self) -> Sequence[Ranker]:
        """Return the models that read the features of users."""
        return [ranker for ranker in self.models.values() if ranker.reads_features]

    @property
    def online(self) -> Ranker | None:
        """Return the online model's ranker."""
        return self.models.get(ONLINE)

    def audience(self, strategy: Strategy | None = None) -> AudienceModel | None:
        """Return the model of a strategy (None: of any) that ranks users for an item."""
        named = (r for r in self.models.values() if strategy in {None, r.strategy})
        return next((ranker.audience for ranker in named if ranker.audience), None)

    def star_model(self, strategy: Strategy) -> StarModel | None:
        """Return the model of a strategy that predicts ratings of single pairs."""
        ranker = self.models.get(strategy)
        return None if ranker is None else ranker.star_model

    def weights_of(self, personal: Collection[Ranker], n: int) -> Mapping[str, float]:
        """Return the weights of all rankers for an asker with n preferences.

        ``personal`` are the rankers that know the asker. The result is empty if none of them has a
        weight: a trained model has one from the gate before it is judged, other families only
        from judgements.
        """
        trained = {ranker.strategy for ranker in personal if ranker.family.trained}
        weighted = trained & self.weights.shared.keys() if trained else self.weights.by_length
        return self.weights.of(n) if weighted else {}

    def stack(self, able: Sequence[Ranker]) -> Stack | None:
        """Return the stack of those of these rankers that have weights in it.

        None: it has no weights yet, or none for a ranker that knows the asker.
        """
        names = tuple([ranker.strategy for ranker in able])
        if names not in self._stacks:
            self._stacks[names] = self._stack(able)
        return self._stacks[names]

    def _stack(self, able: Sequence[Ranker]) -> Stack | None:
        logit = self.arms.logit
        if logit is None:
            return None
        weighed = {name.split(":")[0] for name in logit.weighed}
        rankers = in_order(ranker for ranker in able if ranker.strategy in weighed)
        if all(ranker.family.for_everybody for ranker in rankers):
            return None
        return Stack(rankers, logit.aligned(signal_names(rankers)), basis=self.basis)

    def arm(self, able: Sequence[Ranker], n: int) -> str:
        """Return the arm that answers somebody with n preferences whom these rankers know."""
        arms = [FUSION, *(ranker.strategy for ranker in able)]
        if n and self.stack(able) is not None:
            arms.append(STACK)
        return self.arms.best(n, arms)

    def origin(self, rankers: Sequence[Ranker]) -> Origin:
        """Return the origin of a slate made by these rankers of the lineup, in any order."""
        names = tuple([ranker.strategy for ranker in rankers])
        origin = self._origins.get(names)
        if origin is None:
            origin = self._origins[names] = _origin(in_order(rankers))
        return origin


def in_order(rankers: Iterable[Ranker]) -> list[Ranker]:
    """Return rankers by the number of their family; this order decides ties between weights."""
    return sorted(rankers, key=lambda ranker: ranker.family.number)


def by_strategy(rankers: Iterable[Ranker]) -> dict[Strategy, Ranker]:
    """Return rankers by strategy, in the order of ``in_order``."""
    return {ranker.strategy: ranker for ranker in in_order(rankers)}


def _origin(rankers: Sequence[Ranker]) -> Origin:
    versions: dict[str, str] = {r.strategy: r.version for r in rankers if r.family.trained}
    mixed = len(rankers) > 1
    through: dict[int, int] = {}
    for ranker in rankers:
        # a mixture has learned only the events that all of its trained models have learned
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
    """Return a version that changes whenever a version in the mixture does."""
    text = ",".join(f"{strategy}={versions[strategy]}" for strategy in sorted(versions))
    return f"mixture-{_digest(text)}"


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()
