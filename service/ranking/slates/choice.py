"""Choose the rankers of a slate: those that know the asker and weigh enough."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from core.stack.arms import FUSION, STACK
from core.types import F32
from service.ranking.asker import Asker
from service.ranking.family import ScoreKind
from service.ranking.lineup import Lineup
from service.ranking.ranker import Ranker
from service.ranking.reasons import (
    NOTHING_TO_MIX,
    OUTWEIGHED,
    and_,
    inactive,
)
from service.ranking.slates.wanted import Wanted
from service.ranking.stack import Stack
from service.ranking.strategies import MIXTURE, Strategy

LEAST_WEIGHT = 0.05
"""Least weight of a ranker, as a share of the heaviest; lighter ones change nothing visible."""


class Choice(Struct, frozen=True):
    """The rankers of a slate."""

    able: Sequence[Ranker]
    """All rankers that could take part, on this page or on later ones."""
    rankers: Sequence[Ranker]
    """The rankers that matter, heaviest first; the lists of several are combined."""
    weights: Sequence[float]
    stack: Stack | None = None
    """Ranks instead of the fusion of their lists."""
    blend: float = 0.0
    """Share of the online model in the scores of a single ranker."""
    reason: str | None = None
    """Why the rankers are not those that the request named."""

    @property
    def score_kind(self) -> ScoreKind:
        """Return what the scores are."""
        if self.stack is not None:
            return "probability"
        if len(self.rankers) > 1:
            return "rank_sum"
        # a blend adds up scores of two models, each scaled
        return "likeness" if self.blend else self.rankers[0].family.score_kind

    @property
    def arm(self) -> str:
        """Return the arm that answers: the stack, the fusion, or a single ranker."""
        if self.stack is not None:
            return STACK
        return FUSION if len(self.rankers) > 1 else self.rankers[0].strategy


def choose(lineup: Lineup, asker: Asker, wanted: Wanted) -> Choice:
    """Return the rankers for this asker, with their weights."""
    able, reason = _rankers(lineup, asker, wanted)
    blend = wanted.blend
    if blend and (unblended := _unblended(able, lineup, asker)):
        reason, blend = reason or unblended, 0.0
    arm = lineup.arm(able, asker.preferences.item_ix.size) if len(able) > 1 else FUSION
    if arm == STACK and (stack := lineup.stack(able)) is not None:
        rankers = stack.rankers
        return Choice(able, rankers, [1.0] * len(rankers), stack=stack, reason=reason)
    alone = [ranker for ranker in able if ranker.strategy == arm]
    rankers, weights = weighed(lineup, alone or able, asker)
    if wanted.model == MIXTURE and len(rankers) == 1 < len(able):
        reason = and_(reason, OUTWEIGHED)
    return Choice(able, rankers, weights, blend=blend, reason=reason)


def _rankers(lineup: Lineup, asker: Asker, wanted: Wanted) -> tuple[Sequence[Ranker], str | None]:
    """Return the rankers for this asker, and why they are not those that the request named."""
    everybodys = lineup.everybodys
    model = wanted.resumed or wanted.model
    named = None if model is None else lineup.named(model)
    if named is not None and (named.family.for_everybody or named.knows(asker)):
        return [named], None
    # one that only places new items has to do where no other knows the asker
    personal = _knowing(lineup.mixed, asker) or _knowing(lineup.models, asker)
    # drop a ranker that knows little about this user, unless it is the only personal one
    personal = {n: r for n, r in personal.items() if r.share(asker) >= LEAST_WEIGHT} or personal
    trusted = {name: ranker for name, ranker in personal.items() if ranker.family.trusted}
    if not trusted:
        personal = {}
    elif not asker.preferences.item_ix.size and all(r.family.trained for r in personal.values()):
        # the weights were learned from users with a history; for a user of whom only features are
        # known, they say more than the lists for everybody
        personal, everybodys = trusted, {}
    weights = lineup.weights_of(personal.values(), asker.preferences.item_ix.size)
    if not weights and len(personal) == 1:
        everybodys = {}
    rankers = [*personal.values(), *everybodys.values()] if personal else [lineup.popular]
    return rankers, _reason(lineup, asker, wanted.model, len(personal), alone=len(rankers) == 1)


def _knowing(rankers: Mapping[Strategy, Ranker], asker: Asker) -> dict[Strategy, Ranker]:
    return {name: ranker for name, ranker in rankers.items() if ranker.knows(asker)}


def _reason(
    lineup: Lineup, asker: Asker, model: Strategy | None, n_personal: int, *, alone: bool
) -> str | None:
    if model in lineup.models:
        return asker.unknown
    if model not in {None, MIXTURE}:
        return inactive(model, of_users=lineup.of_users)
    if n_personal == 0:
        return asker.unknown if lineup.trained else inactive(None)
    return NOTHING_TO_MIX if model == MIXTURE and alone else None


def _unblended(rankers: Sequence[Ranker], lineup: Lineup, asker: Asker) -> str | None:
    """Return why the online model cannot be blended in; None: it can."""
    if len(rankers) > 1 or not rankers[0].family.trained:
        return "`blend` was left out: only a trained model can be blended, name one with `model`"
    if lineup.online is None or not lineup.online.knows(asker):
        return "`blend` was left out: the online model does not know this user yet"
    return None


def weighed(
    lineup: Lineup, able: Sequence[Ranker], asker: Asker
) -> tuple[Sequence[Ranker], Sequence[float]]:
    """Return the rankers whose weight in a fusion matters, heaviest first, and their weights."""
    if len(able) == 1:
        return able, [1.0]
    personal = [ranker for ranker in able if not ranker.family.for_everybody]
    learned = lineup.weights_of(personal, asker.preferences.item_ix.size) or _first(able)
    # a ranker without a learned weight gets an equal share
    weights = [r.share(asker) * learned.get(r.strategy, 1.0 / len(able)) for r in able]
    order = sorted(range(len(able)), key=lambda at: -weights[at])
    heavy = [at for at in order if weights[at] >= LEAST_WEIGHT * weights[order[0]]]
    return [able[at] for at in heavy], [weights[at] for at in heavy]


def _first(rankers: Sequence[Ranker]) -> Mapping[str, float]:
    """Return the weights before any judgement: only trained models, else only the online model."""
    personal = [ranker for ranker in rankers if not ranker.family.for_everybody]
    trained = [r.strategy for r in personal if r.family.trained and r.family.trusted]
    lead = trained or [ranker.strategy for ranker in personal if not ranker.family.trained]
    return {ranker.strategy: float(ranker.strategy in lead) for ranker in rankers}


def heard(readers: Iterable[Ranker], asker: Asker, named: Strategy | None = None) -> list[Ranker]:
    """Return the models for which the asker's features matter, always with the one ``named``."""
    return [r for r in readers if r.share(asker) >= LEAST_WEIGHT or r.strategy == named]


def feature_vectors(readers: Iterable[Ranker], features: Mapping[str, Any]) -> dict[str, F32]:
    """Return the feature vector that each model computes from some features, by its version."""
    vectors = {reader.version: reader.feature_vector(features) for reader in readers}
    return {version: vector for version, vector in vectors.items() if vector is not None}
