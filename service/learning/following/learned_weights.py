"""The weights of the rankers as one follower learns them, and the metrics of each ranker."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from core.mixture_weights import REMEMBERED, Weights, foreseen, length, ndcg10, reciprocal_rank
from core.stack.arms import STACK, Arms, first_arms, with_arms, with_first_stack
from core.stack.learning import StackLearner
from core.stack.window import Judged
from service.learning.following.inbox import Sighting
from service.learning.following.judge import Verdict
from service.ranking.families import FAMILIES
from service.store.models.mixture import (
    ArmRecord,
    FirstStack,
    LengthRecord,
    MixtureRecord,
    RankerRecord,
    StackRecord,
)

SURE = 0.1
"""How far a family that is not trusted begins behind popularity, unless it was judged: it counts
once it has earned it."""
TRIED = 200
"""Number of events after which a stack's learned weights are better than those of a training."""
KEEP = 1.0 - 1e-4
"""Decay of the metrics at each judgement: they cover about the last 10 000 judgements."""


class TrainedModel(NamedTuple):
    """A trained model that serves, as the gate saw it."""

    version: str
    lead: float | None
    """Its mean reciprocal rank less that of popularity; None: nobody could judge it."""
    trusted: bool = True
    """See ``Family.trusted``."""


class LearnedWeights:
    """Weights and metrics of the rankers, updated by each judgement in the stored record."""

    def __init__(self, record: MixtureRecord | None) -> None:
        self.record = record or MixtureRecord(0, 0, 0, {})
        stack = self.record.stack
        self._learner = StackLearner(None if stack is None else stack.logit)
        self._known = 0 if stack is None else min(stack.events, TRIED)
        """Number of events that the weights before a restart stand for in later fits, at least."""
        if not self.record.arms and self.record.rankers:
            # written before there were arms
            families = _arms(self.record.rankers)
            self._replace(**self._armed(first_arms(families, has_stack=False)))

    @property
    def weights(self) -> Weights:
        """Return the weights of the rankers."""
        return self.record.weights

    @property
    def arms(self) -> Arms:
        """Return the stack and the weights of the arms."""
        stack = self.record.stack
        return Arms(None if stack is None else stack.logit, self.record.arm_weights)

    def follow(self, trained: Mapping[str, TrainedModel], others: Mapping[str, str]) -> None:
        """Weigh exactly these rankers; a new version of a ranker keeps the weight of the old one.

        A new name resets all weights to those that the gate expects, as long as no trained model
        has been judged ``REMEMBERED`` times. Afterwards the others keep their learned weights, and
        the new ranker gets the ratio to the heaviest one that the gate expects. The weights for
        each length of history start again from the shared ones.
        """
        weight, by_length = self.weights.shared, self.record.by_length
        versions = {name: model.version for name, model in trained.items()} | dict(others)
        if self.record.versions == versions:
            return
        if not versions.keys() <= weight.keys():
            weight, by_length = _begun(self._tried(trained), trained, others), {}
        weight = _of(versions, weight)
        arms = with_arms(
            self.record.arm_weights, _arms(versions), has_stack=self.record.stack is not None
        )
        self._replace(
            **self._armed(arms),
            rankers={name: self._ranker(name, v, weight[name]) for name, v in versions.items()},
            by_length={
                least: LengthRecord(one.judged, _of(versions, one.weights))
                for least, one in by_length.items()
            },
        )

    def _armed(self, weights: Weights) -> dict[str, Any]:
        """Return the fields of the record for these weights of the arms."""
        known = self.record.arms
        arms = {
            name: msgspec.structs.replace(known.get(name, ArmRecord(weight)), weight=weight)
            for name, weight in weights.shared.items()
        }
        by_length = {least: dict(one) for least, one in weights.by_length.items()}
        return {"arms": arms, "arms_by_length": by_length}

    def _tried(self, trained: Mapping[str, TrainedModel]) -> Mapping[str, float]:
        """Return the weights if a trained model has enough judgements, else none."""
        judged = (one.judged for name, one in self.record.rankers.items() if name in trained)
        return self.weights.shared if max(judged, default=0) >= REMEMBERED else {}

    def _ranker(self, name: str, version: str, weight: float) -> RankerRecord:
        known = self.record.rankers.get(name)
        if known is None or known.version != version:
            return RankerRecord(weight, version, 0, 0.0, 0.0)
        return _weighted(known, weight)

    def pass_over(self, n: int) -> None:
        """Count positives that are not judged."""
        if n:
            self._replace(passed_over=self.record.passed_over + n)

    def judge(self, verdict: Verdict, sighting: Sighting) -> None:
        """Learn from one positive; the metrics are those of the sample."""
        n, weights = verdict.n_known, self.weights
        counted: Mapping[str, int] = {} if sighting.extra else verdict.ranks
        gains = {name: reciprocal_rank(rank) for name, rank in verdict.ranks.items()}
        learned = weights.after(n, gains)
        rankers, by_length = self.record.rankers, self.record.by_length
        before = by_length[length(n)].judged if length(n) in by_length else 0
        arms = self._judged_arms(verdict, counts=not sighting.extra)
        self._replace(
            **arms,
            watermark=sighting.sequence,
            judged=self.record.judged + 1,
            rankers={
                name: _judged(_weighted(rankers[name], weight), counted.get(name))
                for name, weight in learned.shared.items()
            },
            by_length=by_length | {length(n): LengthRecord(before + 1, dict(learned.of(n)))},
            mixture=_judged(
                self.record.mixture or RankerRecord(1.0, "", 0, 0.0, 0.0),
                None if sighting.extra else verdict.mixed,
            ),
        )

    def foretold(self, first: FirstStack | None) -> None:
        """Take the first weights from a training, unless better ones have been learned.

        Learned ones are better from ``TRIED`` events on, as long as they know all of its families.
        """
        if first is None or first.job == self.record.first_stack:
            return
        families = _families(first.stack)
        if not families <= self.record.versions.keys():
            return
        own = self.record.stack
        if own is None or own.events < TRIED or not families <= _families(own):
            self._learner.start_at(first.stack.logit)
            self._known = 0
            arms = with_first_stack(self.record.arm_weights, _arms(self.record.versions))
            self._replace(**self._armed(arms), stack=first.stack)
        self._replace(first_stack=first.job)

    def _judged_arms(self, verdict: Verdict, *, counts: bool) -> dict[str, Any]:
        """Return the fields of the arms after a positive, and let the stack learn from it."""
        ranks = {**verdict.ranks, **verdict.combined}
        gains = {arm: reciprocal_rank(rank) for arm, rank in ranks.items()}
        if verdict.candidate is not None:
            self._learner.learn(Judged(verdict.candidate, gains), verdict.signals)
        fields = self._armed(self.record.arm_weights.after(verdict.n_known, gains))
        served = ndcg10(verdict.mixed)
        fields["arms"] = {
            name: _judged_arm(arm, ranks[name], served) if counts and name in ranks else arm
            for name, arm in fields["arms"].items()
        }
        return fields

    def fit(self) -> None:
        """Fit the stack again if that is due; it takes up to a few seconds.

        A first fit gets the weight among the arms that its ranks would have earned so far.
        """
        fitted = self._learner.fit() if self._learner.is_due else None
        if fitted is None:
            return
        arms, families = self.record.arm_weights, _arms(self.record.versions)
        if self.record.stack is None:
            before = with_arms(first_arms(families, has_stack=False), families, has_stack=True)
            arms = self._learner.arms(before, STACK)
        self._replace(
            **self._armed(arms),
            stack=StackRecord.of(fitted.logit, max(fitted.events, self._known), fitted.added),
        )

    def _replace(self, **changed: Any) -> None:
        fields = {name: getattr(self.record, name) for name in self.record.__struct_fields__}
        self.record = MixtureRecord(**{**fields, **changed})


def _families(stack: StackRecord) -> set[str]:
    """Return the families whose signals a stack knows."""
    return {name.split(":")[0] for name in stack.names} & FAMILIES.keys()


def _arms(names: Iterable[str]) -> list[str]:
    """Return the families that are arms: those that are judged."""
    return [name for name in names if name not in FAMILIES or FAMILIES[name].judged]


def _begun(
    learned: Mapping[str, float], trained: Mapping[str, TrainedModel], others: Mapping[str, str]
) -> dict[str, float]:
    """Return the learned weights, and for new names the expected ratio to the heaviest ranker."""
    expected = foreseen(_leads(trained) | dict.fromkeys(others, 0.0))
    if not learned:
        return expected
    first = max(learned, key=lambda name: learned[name])
    new = expected.keys() - learned.keys()
    ratio = {name: expected[name] / expected.get(first, expected[name]) for name in new}
    # without judgements there is no evidence that a model is better than the heaviest ranker
    known = {name for name in new if name not in trained or trained[name].lead is not None}
    return dict(learned) | {
        n: learned[first] * (ratio[n] if n in known else min(ratio[n], 1.0)) for n in new
    }


def _of(names: Iterable[str], weight: Mapping[str, float]) -> dict[str, float]:
    """Return the weights of these names alone, scaled to sum to 1."""
    kept = {name: weight[name] for name in names}
    total = sum(kept.values())
    return {name: value / total for name, value in kept.items()}


def _leads(trained: Mapping[str, TrainedModel]) -> dict[str, float]:
    """Return each model's lead over popularity; a trusted one without it gets the best lead.

    If nobody could judge any model, none leads.
    """
    best = max((one.lead for one in trained.values() if one.lead is not None), default=0.0)
    return {
        name: one.lead if one.lead is not None else best if one.trusted else -SURE
        for name, one in trained.items()
    }


def _weighted(record: RankerRecord, weight: float) -> RankerRecord:
    return RankerRecord(weight, record.version, record.judged, record.mrr, record.ndcg10)


def _judged_arm(arm: ArmRecord, rank: int, served: float) -> ArmRecord:
    """Update the means of an arm by one judgement."""
    judged = arm.judged + 1
    step = max(1.0 / judged, 1.0 - KEEP)
    lead = served - ndcg10(rank)
    return ArmRecord(
        weight=arm.weight,
        judged=judged,
        mrr=arm.mrr + step * (reciprocal_rank(rank) - arm.mrr),
        ndcg10=arm.ndcg10 + step * (ndcg10(rank) - arm.ndcg10),
        lead=arm.lead + step * (lead - arm.lead),
        lead_squared=arm.lead_squared + step * (lead**2 - arm.lead_squared),
    )


def _judged(record: RankerRecord, rank: int | None) -> RankerRecord:
    """Update the means by one judgement: plain means first, later decaying ones.

    A rank of None means that the ranker had no list, which changes nothing.
    """
    if rank is None:
        return record
    judged = record.judged + 1
    step = max(1.0 / judged, 1.0 - KEEP)
    return RankerRecord(
        record.weight,
        record.version,
        judged,
        record.mrr + step * (reciprocal_rank(rank) - record.mrr),
        record.ndcg10 + step * (ndcg10(rank) - record.ndcg10),
    )
