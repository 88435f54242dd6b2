"""What became of the events that a stream has sent."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hedgerow_client import types
from hedgerow_client.errors import NothingAccepted

MOST_REFUSALS = 1_000


@dataclass(frozen=True)
class Refusal:
    """An event that the service cannot accept, and why."""

    event: types.Feedback
    code: str
    detail: str


@dataclass(frozen=True)
class Batch:
    """What became of the events of one request."""

    acknowledged: list[types.Feedback]
    refused: list[Refusal]
    sequence: str


@dataclass
class Receipt:
    """What became of all events so far."""

    acknowledged: int = 0
    """Events that are stored."""
    refused_total: int = 0
    refused: list[Refusal] = field(default_factory=list)
    """The first thousand events that cannot be accepted."""
    sequence: str = ""
    """The place of the last events in the order: send it as ``min_sequence`` to read them."""

    def add(self, batch: Batch) -> None:
        """Note one more batch."""
        self.acknowledged += len(batch.acknowledged)
        self.refused_total += len(batch.refused)
        self.refused += batch.refused[: MOST_REFUSALS - len(self.refused)]
        self.sequence = latest(self.sequence, batch.sequence)


def settled(events: Sequence[types.Feedback], answer: types.Written | NothingAccepted) -> Batch:
    """Return what became of the events of one request."""
    if isinstance(answer, NothingAccepted):
        rejected, sequence = answer.rejected, ""
    else:
        rejected, sequence = answer["rejected"], answer["sequence"]
    refused = [Refusal(events[row["index"]], row["code"], row["detail"]) for row in rejected]
    indexes = {row["index"] for row in rejected}
    acknowledged = [event for index, event in enumerate(events) if index not in indexes]
    return Batch(acknowledged, refused, sequence)


def latest(one: str, other: str) -> str:
    """Return the sequence that stands for all events up to both.

    A sequence names the place in each partition that it concerns.

    >>> latest("0:7,1:3", "1:5")
    '0:7,1:5'
    """
    places: dict[int, int] = {}
    for part in filter(None, f"{one},{other}".split(",")):
        partition, _, place = part.partition(":")
        places[int(partition)] = max(int(place), places.get(int(partition), 0))
    return ",".join(f"{partition}:{place}" for partition, place in sorted(places.items()))
