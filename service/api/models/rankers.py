"""The mixture of rankers: their weights, and how well each predicts what users do next."""

import math
from collections.abc import Sequence

from fastapi import APIRouter

from core.mixture_weights import LENGTHS
from service.api.figures import Figure
from service.api.routing import Route, Runtime
from service.api.schemas import Answer, OfModel
from service.ids import sequence_token
from service.ranking.families import FAMILIES, title_of
from service.store.models.joined_mixture import joined, joined_arms, joined_lengths
from service.store.models.mixture import ArmRecord, LengthRecord, MixtureRecord, RankerRecord

router = APIRouter(route_class=Route, tags=["models"])
REMEMBERED_JUDGEMENTS = 10_000
"""Number of judgements that a mean covers."""
UNJUDGED = (
    "no positive was judged yet: to be judged, positives must arrive at a moderate pace, about in "
    "the order of their times, from users with known preferences; those of an import mostly do "
    "not. Until then the weights are those that the gate expects"
)


MIXED = "Merges the lists of the rankers into one."


class Ranker(OfModel):
    """The quality of one ranker; each positive is judged before it is learned."""

    name: str
    """Its strategy."""
    title: str
    """Its name for people."""
    about: str
    """What it does, in one sentence for people."""
    weight: Figure
    """In the mixture, by all judgements; the weights sum to 1."""
    model_version: str
    """The version that was judged; the name of the strategy if it has no models."""
    judged: int
    """Positive events with which this version was judged; do not compare rankers with different
    numbers."""
    mrr: Figure | None
    """Mean of 1 / rank of the item that the user took, among all items not seen before (0 beyond
    rank 100), over about the last 10 000 judgements; null before the first judgement."""
    ndcg_at_10: Figure | None
    """The mean ndcg@10 of its lists; null before the first judgement."""


class LengthWeight(Answer):
    """The weight of one ranker for a length of history."""

    name: str
    """Its strategy."""
    weight: Figure
    """In the mixture, for histories of this length."""


class HistoryLength(Answer):
    """The weights of the rankers for users with histories of similar length."""

    preferences_from: int
    """The least number of items that the user is known to like or dislike."""
    preferences_to: int | None
    """The largest; null: any."""
    judged: int
    """Positive events of users with such a history, whichever versions were judged on them."""
    weights: list[LengthWeight]
    """The heaviest first; they sum to 1."""


class Interval(Answer):
    """A mean with its 95 % interval."""

    mean: Figure
    """The mean."""
    low: Figure
    """The lower bound."""
    high: Figure
    """The upper bound."""


class Arm(Answer):
    """A way to make a mixed slate: `stack`, `fusion`, or a ranker alone."""

    name: str
    """`stack`, `fusion`, or the strategy of a ranker."""
    weight: Figure
    """By all judgements. For each length of history, the arm with the largest weight answers, but
    the stack gives way only to an arm with more than three times its weight."""
    judged: int
    """Positives for which it had a list."""
    mrr: Figure | None
    """The mean reciprocal rank of the items that users took; null before the first judgement."""
    ndcg_at_10: Figure | None
    """The mean ndcg@10 of its lists; null before the first judgement."""
    served_lead: Interval | None
    """The ndcg@10 of the served slates minus that of this arm, on the same positive events."""


class SignalWeight(Answer):
    """The weight of a standardised signal in the stack."""

    signal: str
    """The ranker, or `history`, and what it says about an item."""
    weight: Figure
    """For a history of average length."""
    by_length: Figure
    """Added for each standard deviation of the logarithm of the length."""
    short: Figure
    """Added for histories of fewer than 7 preferences, times log(8 / (1 + preferences))."""


class StackPart(Answer):
    """What a ranker adds to the stack."""

    name: str
    """The ranker, or `history`."""
    ndcg_at_10: Figure
    """How much lower ndcg@10 is without the ranker, on the newest quarter of the positive events
    that the stack learned."""


class Stack(Answer):
    """The weights by which rankers are combined, see docs/explanation/stack.md."""

    partition: int
    """The partition that learned it: the one that has judged most."""
    events: int
    """Number of positive events that it was fitted to."""
    weights: list[SignalWeight]
    """The heaviest first."""
    added: list[StackPart]
    """The largest first."""


class Rankers(Answer):
    """The rankers of the mixture, the one with the largest weight first."""

    rankers: list[Ranker]
    """The heaviest first."""
    mixture: Ranker | None
    """The combined lists; null until something was judged."""
    by_length: list[HistoryLength]
    """The weights for slates by length of history; lengths without weights of their own use the
    weights of all judgements."""
    arms: list[Arm]
    """The ways to make mixed slates, the one with the largest weight first."""
    stack: Stack | None
    """The stack; null until enough positive events were judged, or a training gave it first
    weights."""
    judged: int
    """Number of positive events that any ranker was judged on."""
    passed_over: int
    """Positive events that arrived too fast to judge rankers with them, as of at most two seconds
    ago."""
    reason: str | None
    """Why there are no figures; null once something was judged."""
    seen_through: str
    """The last events that were judged."""


@router.get("/v1/rankers", summary="Compare the rankers")
async def get_rankers(runtime: Runtime) -> Rankers:
    """Weights and metrics of each ranker in the mixture, measured on events before learning them.

    Every ranker ranks a sample of the arriving positive events with what was known just before. For
    models that were promoted while a learner was away, its partition does not count.
    """
    records = await runtime.mixture_weights.reader.records()
    counting = runtime.mixture_weights.counting(records)
    rankers, mixture = joined(counting)
    known = [one for one in records if one is not None]
    judged = sum(one.judged for one in known)
    seen = {p: 0 if one is None else one.watermark for p, one in enumerate(records)}
    return Rankers(
        rankers=[
            _ranker(name, one)
            for name, one in sorted(rankers.items(), key=lambda pair: (-pair[1].weight, pair[0]))
        ],
        mixture=None if mixture is None else _ranker("mixture", mixture),
        by_length=[_history_length(least, one) for least, one in joined_lengths(counting).items()],
        arms=[
            _arm(name, one)
            for name, one in sorted(
                joined_arms(counting).items(), key=lambda pair: (-pair[1].weight, pair[0])
            )
        ],
        stack=_stack(records),
        judged=judged,
        passed_over=sum(one.passed_over for one in known),
        reason=None if judged else UNJUDGED,
        seen_through=sequence_token(seen),
    )


def _ranker(name: str, record: RankerRecord) -> Ranker:
    return Ranker(
        name=name,
        title=title_of(name),
        about=FAMILIES[name].about if name in FAMILIES else MIXED,
        weight=record.weight,
        model_version=record.version or name,
        judged=record.judged,
        mrr=record.mrr if record.judged else None,
        ndcg_at_10=record.ndcg10 if record.judged else None,
    )


def _arm(name: str, record: ArmRecord) -> Arm:
    return Arm(
        name=name,
        weight=record.weight,
        judged=record.judged,
        mrr=record.mrr if record.judged else None,
        ndcg_at_10=record.ndcg10 if record.judged else None,
        served_lead=_lead(record) if record.judged else None,
    )


def _lead(record: ArmRecord) -> Interval:
    spread = max(record.lead_squared - record.lead**2, 0.0)
    within = 1.96 * math.sqrt(spread / min(record.judged, REMEMBERED_JUDGEMENTS))
    return Interval(mean=record.lead, low=record.lead - within, high=record.lead + within)


def _stack(records: Sequence[MixtureRecord | None]) -> Stack | None:
    learned = [
        (one.judged, partition, one.stack)
        for partition, one in enumerate(records)
        if one is not None and one.stack is not None
    ]
    if not learned:
        return None
    _, partition, stack = max(learned, key=lambda one: one[:2])
    known = zip(stack.names, stack.weights, stack.scale, strict=True)
    weights = [
        SignalWeight(signal=name, weight=own, by_length=more, short=short)
        for name, (own, more, short), scale in known
        if scale > 0.0
    ]
    added = [StackPart(name=name, ndcg_at_10=gain) for name, gain in stack.added.items()]
    return Stack(
        partition=partition,
        events=stack.events,
        weights=sorted(weights, key=lambda one: -abs(one.weight)),
        added=sorted(added, key=lambda one: -one.ndcg_at_10),
    )


def _history_length(least: int, record: LengthRecord) -> HistoryLength:
    return HistoryLength(
        preferences_from=least,
        preferences_to=next((n - 1 for n in LENGTHS if n > least), None),
        judged=record.judged,
        weights=[
            LengthWeight(name=name, weight=weight)
            for name, weight in sorted(record.weights.items(), key=lambda pair: (-pair[1], pair[0]))
        ],
    )
