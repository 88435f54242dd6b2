"""The weights of the rankers, as learned by the followers of all partitions.

They are derived: after a loss the weights that the gate expects are used until they are learned
again.
"""

from collections.abc import Mapping
from typing import TypeVar, cast

import msgspec
import numpy as np
import redis
import redis.asyncio

from core.mixture_weights import Weights
from core.stack.arms import ARM_LENGTHS
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
