"""What the records of all partitions say together: weights, arms and metrics of the mixture."""

from collections.abc import Mapping, Sequence

from core.mixture_weights import Weights
from core.stack.arms import Arms
from service.store.models.mixture import ArmRecord, LengthRecord, MixtureRecord, RankerRecord


def knowing(
    records: Sequence[MixtureRecord | None], versions: Mapping[str, str]
) -> list[MixtureRecord]:
    """Return the records that cover these versions (by strategy), or all records if none does.

    The record of a follower that has ended does not cover models promoted since.
    """
    found = [record for record in records if record is not None]
    return [record for record in found if versions.items() <= record.versions.items()] or found


def arms(records: Sequence[MixtureRecord | None], partition: int | None) -> Arms:
    """Return the arms for a partition's users, as its own follower has learned them.

    Where it has learned none, and for an asker who is not a user, those of the follower that has
    judged most.
    """
    found = [record for record in records if record is not None and record.arms]
    own = None if partition is None else records[partition] if partition < len(records) else None
    if own is None or not own.arms:
        own = max(found, key=lambda record: record.judged, default=None)
    if own is None:
        return Arms()
    return Arms(None if own.stack is None else own.stack.logit, own.arm_weights)


def joined(
    records: Sequence[MixtureRecord],
) -> tuple[dict[str, RankerRecord], RankerRecord | None]:
    """Return the rankers of all partitions and their mixture.

    The metrics are means, weighted by the number of positives that each partition has judged.
    """
    names = dict.fromkeys(name for record in records for name in record.rankers)
    weight = _weights([_shared(record) for record in records])
    rankers = {
        name: _mean([r.rankers[name] for r in records if name in r.rankers], weight[name])
        for name in names
    }
    mixed = [record.mixture for record in records if record.mixture is not None]
    return rankers, _mean(mixed, 1.0) if mixed else None


def weights(records: Sequence[MixtureRecord]) -> Weights:
    """Return the weights of the rankers, empty before the first; weights of one length sum to 1."""
    by_length = {least: one.weights for least, one in joined_lengths(records).items()}
    return Weights(_weights([_shared(record) for record in records]), by_length)


def joined_arms(records: Sequence[MixtureRecord]) -> dict[str, ArmRecord]:
    """Return the arms of all partitions.

    Weights and metrics are means, weighted by the number of positives that each has judged.
    """
    parts: dict[str, list[ArmRecord]] = {}
    for record in records:
        for name, arm in record.arms.items():
            parts.setdefault(name, []).append(arm)
    return {name: _mean_arm(found) for name, found in parts.items()}


def _mean_arm(parts: Sequence[ArmRecord]) -> ArmRecord:
    shares = _shares([part.judged for part in parts])

    def mean(name: str) -> float:
        return sum(
            share * float(getattr(part, name)) for share, part in zip(shares, parts, strict=True)
        )

    return ArmRecord(
        weight=mean("weight"),
        judged=sum(part.judged for part in parts),
        mrr=mean("mrr"),
        ndcg10=mean("ndcg10"),
        lead=mean("lead"),
        lead_squared=mean("lead_squared"),
    )


def joined_lengths(records: Sequence[MixtureRecord]) -> dict[int, LengthRecord]:
    """Return the weights of each length that was judged.

    They are means, weighted by the number of positives that each partition has judged.
    """
    parts: dict[int, list[LengthRecord]] = {}
    for record in records:
        for least, one in record.by_length.items():
            parts.setdefault(least, []).append(one)
    return {
        least: LengthRecord(sum(one.judged for one in parts[least]), _weights(parts[least]))
        for least in sorted(parts)
    }


def _shared(record: MixtureRecord) -> LengthRecord:
    return LengthRecord(record.judged, dict(record.weights.shared))


def _weights(parts: Sequence[LengthRecord]) -> dict[str, float]:
    """Return the mean weights; a ranker that a partition lacks has weight 0 there."""
    mean: dict[str, float] = {}
    for share, part in zip(_shares([one.judged for one in parts]), parts, strict=True):
        for name, weight in part.weights.items():
            mean[name] = mean.get(name, 0.0) + share * weight
    return mean


def _shares(judged: Sequence[int]) -> list[float]:
    total = sum(judged)
    return [n / total if total else 1.0 / len(judged) for n in judged]


def _mean(parts: Sequence[RankerRecord], weight: float) -> RankerRecord:
    """Return the mean metrics, weighted by the number of positives that each part has judged."""
    shares = _shares([part.judged for part in parts])

    def mean(name: str) -> float:
        values = (getattr(part, name) for part in parts)
        return float(sum(share * value for share, value in zip(shares, values, strict=True)))

    judged = sum(part.judged for part in parts)
    return RankerRecord(
        weight=weight,
        version=parts[0].version,
        judged=judged,
        mrr=mean("mrr"),
        ndcg10=mean("ndcg10"),
    )
