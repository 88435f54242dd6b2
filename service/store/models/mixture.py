"""The weights of the rankers, as learned by the followers of all partitions.

They are derived: after a loss the weights that the gate expects are used until they are learned
again.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

import msgspec
import numpy as np
import redis
import redis.asyncio

from core.mixture_weights import Weights
from core.stack.arms import ARM_LENGTHS, Arms
from core.stack.logit import Logit
from service.store.connection import store_errors
from service.store.keys import NamespaceKeys, PartitionKeys

_Record = TypeVar("_Record", bound=msgspec.Struct)


class RankerRecord(msgspec.Struct, frozen=True):
    """The weight and the metrics of one ranker."""

    weight: float
    version: str
    judged: int
    """Number of positives ranked by this version."""
    mrr: float
    """Mean reciprocal rank of about the last 10 000 positives; 0 for ranks beyond 100."""
    ndcg10: float


class LengthRecord(msgspec.Struct, frozen=True):
    """The weights of the rankers for histories of similar length."""

    judged: int
    weights: dict[str, float]


class ArmRecord(msgspec.Struct, frozen=True):
    """The weight and the metrics of an arm: the stack, the fusion, or a single ranker."""

    weight: float
    judged: int = 0
    mrr: float = 0.0
    ndcg10: float = 0.0
    lead: float = 0.0
    """Mean of ndcg@10 of what was served less that of the arm, on the same positives."""
    lead_squared: float = 0.0
    """Mean of the square of that difference."""


class StackRecord(msgspec.Struct, frozen=True):
    """The weights of a stack, see ``core.stack.logit``."""

    names: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[tuple[float, float, float], ...]
    length: tuple[float, float]
    events: int = 0
    """Number of positives that it was fitted to; after a restart at least those before, up to 200.
    """
    added: dict[str, float] = {}
    """What ndcg@10 loses without the signals of a ranker, or of the history."""

    @classmethod
    def of(cls, logit: Logit, events: int, added: Mapping[str, float]) -> "StackRecord":
        """Return the record of a fit."""
        return cls(
            names=logit.names,
            mean=tuple(logit.mean.tolist()),
            scale=tuple(logit.scale.tolist()),
            weights=tuple((own, more, short) for own, more, short in logit.weights.tolist()),
            length=logit.length,
            events=events,
            added=dict(added),
        )

    @property
    def logit(self) -> Logit:
        """Return the weights."""
        return Logit(
            self.names,
            np.array(self.mean, np.float32),
            np.array(self.scale, np.float32),
            np.array(self.weights, np.float64).reshape(-1, 3),
            self.length,
        )


class FirstStack(msgspec.Struct, frozen=True):
    """First weights of a stack from a training, for use before anything is judged."""

    job: str
    """The training; each follower takes its weights at most once."""
    stack: StackRecord


class MixtureRecord(msgspec.Struct, frozen=True):
    """The weights learned by the follower of one partition."""

    watermark: int
    """Sequence of the last positive that was judged."""
    judged: int
    passed_over: int
    """Number of positives that arrived too fast to be judged."""
    rankers: dict[str, RankerRecord]
    mixture: RankerRecord | None = None
    """The mixture of all rankers, with the weights that held at the time of each positive."""
    by_length: dict[int, LengthRecord] = {}
    """Weights by the least number of preferences, for lengths of which histories were judged."""

    stack: StackRecord | None = None
    """None until enough positives were judged."""
    arms: dict[str, ArmRecord] = {}
    arms_by_length: dict[int, dict[str, float]] = {}
    """Weights of the arms by the least number of preferences."""
    first_stack: str = ""
    """The training whose ``FirstStack`` was taken or passed over last."""

    @property
    def arm_weights(self) -> Weights:
        """Return the weight of each arm."""
        shared = {name: arm.weight for name, arm in self.arms.items()}
        return Weights(shared, self.arms_by_length, ARM_LENGTHS)

    @property
    def versions(self) -> dict[str, str]:
        """Return the version of each ranker."""
        return {name: ranker.version for name, ranker in self.rankers.items()}

    @property
    def weights(self) -> Weights:
        """Return the weight of each ranker."""
        return Weights(
            {name: ranker.weight for name, ranker in self.rankers.items()},
            {least: one.weights for least, one in self.by_length.items()},
        )


def write_mixture(client: redis.Redis, keys: PartitionKeys, record: MixtureRecord) -> None:
    """Replace the stored record."""
    with store_errors():
        client.set(keys.mixture, msgspec.json.encode(record))


def read_mixture(client: redis.Redis, keys: PartitionKeys) -> MixtureRecord | None:
    """Return the stored record, None before the first."""
    with store_errors():
        answer = cast("bytes | None", client.get(keys.mixture))
    return _decoded(answer, MixtureRecord)


def write_first_stack(client: redis.Redis, namespace: str, first: FirstStack) -> None:
    """Store the first weights from a training; the followers take them within seconds.

    Its families must serve by then, or it waits until they do.
    """
    with store_errors():
        client.set(NamespaceKeys(namespace).first_stack, msgspec.json.encode(first))


def read_first_stack(client: redis.Redis, namespace: str) -> FirstStack | None:
    """Return the first weights from the latest training, None before any."""
    with store_errors():
        answer = cast("bytes | None", client.get(NamespaceKeys(namespace).first_stack))
    return _decoded(answer, FirstStack)


def _decoded(answer: bytes | None, kind: type[_Record]) -> _Record | None:
    """Return a stored record; None if there is none, or one in the form of another version."""
    try:
        return None if answer is None else msgspec.json.decode(answer, type=kind)
    except msgspec.DecodeError:
        # it is derived, and is learned and written again
        return None


class MixtureReader:
    """Reads the records of all partitions, for an api process."""

    def __init__(self, client: redis.asyncio.Redis, namespace: str, partitions: int) -> None:
        self._client = client
        self._keys = [PartitionKeys(namespace, p).mixture for p in range(partitions)]

    async def records(self) -> list[MixtureRecord | None]:
        """Return the record of each partition."""
        with store_errors():
            pipe = self._client.pipeline(transaction=False)
            for key in self._keys:
                pipe.get(key)
            answers = cast("list[bytes | None]", await pipe.execute())
        return [_decoded(answer, MixtureRecord) for answer in answers]


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
