"""The mixture of rankers: what each weighs, and how well it foresees what users do next."""

from fastapi import APIRouter

from service.api.routing import Route, Runtime
from service.api.schemas import Answer
from service.ids import sequence_token
from service.store.mixture import RankerRecord, joined, joined_lengths

router = APIRouter(route_class=Route, tags=["models"])


class Ranker(Answer):
    """How one ranker has done, each positive judged before it was learned."""

    name: str
    """Its strategy."""
    weight: float
    """In the mixture, by all judgements; the weights sum to 1."""
    model_version: str
    judged: int
    """Positives that this version was judged on."""
    mrr: float
    """Mean reciprocal rank of the item that the user took among all unseen ones, 0 beyond 100; about the last
    10 000 judgements."""
    ndcg_at_10: float


class HistoryLength(Answer):
    """What the rankers weigh for users with about as long a history."""

    preferences_from: int
    """Items that the user is known to like or dislike, up to the next length."""
    judged: int
    weights: dict[str, float]
    """By name; they sum to 1."""


class Rankers(Answer):
    """The rankers of the mixture, the heaviest first."""

    rankers: list[Ranker]
    mixture: Ranker | None
    """The combined lists; null until something was judged."""
    by_length: list[HistoryLength]
    """The weights that slates are made with; for a length that is not here, those of all judgements."""
    judged: int
    passed_over: int
    """Positives that arrived too fast to be judged, up to two seconds ago."""
    seen_through: str


@router.get("/v1/rankers", summary="Compare the rankers")
async def get_rankers(runtime: Runtime) -> Rankers:
    """Weights and prequential metrics of each ranker in the mixture.

    A sample of the arriving positives is ranked by every ranker with what was known just before.
    """
    records = await runtime.mixing.reader.records()
    rankers, mixture = joined(records)
    known = [one for one in records if one is not None]
    seen = {p: 0 if one is None else one.watermark for p, one in enumerate(records)}
    return Rankers(
        rankers=[
            _ranker(name, one)
            for name, one in sorted(rankers.items(), key=lambda pair: (-pair[1].weight, pair[0]))
        ],
        mixture=None if mixture is None else _ranker("mixture", mixture),
        by_length=[
            HistoryLength(preferences_from=least, judged=one.judged, weights=one.weights)
            for least, one in joined_lengths(records).items()
        ],
        judged=sum(one.judged for one in known),
        passed_over=sum(one.passed_over for one in known),
        seen_through=sequence_token(seen),
    )


def _ranker(name: str, record: RankerRecord) -> Ranker:
    return Ranker(
        name=name,
        weight=record.weight,
        model_version=record.version or name,
        judged=record.judged,
        mrr=record.mrr,
        ndcg_at_10=record.ndcg10,
    )
