"""The experts' history: a capped stream with one point per thousand events."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, cast

StreamEntry = tuple[bytes, Mapping[bytes, bytes]]


class ExpertStanding(TypedDict):
    """One expert at the time of a point."""

    name: str
    weight: float
    part: float
    """Share of the ratings that the expert predicts for."""
    recent_loss: float


class ExpertPoint(TypedDict):
    """The experts after some ratings."""

    learned: int
    """Number of ratings that the experts have learned."""
    experts: Sequence[ExpertStanding]


def pack_point(point: ExpertPoint) -> bytes:
    """Return the stored form of a point.

    >>> pack_point({"learned": 2000, "experts": []})
    b'{"learned": 2000, "experts": []}'
    """
    return json.dumps(point).encode()


def unpack_point(entry: StreamEntry) -> tuple[int, ExpertPoint]:
    """Return a point of the stream with the sequence of the newest event it includes."""
    name, fields = entry
    return int(name.partition(b"-")[0]), cast("ExpertPoint", json.loads(fields[b"d"]))


def shown(entry: StreamEntry) -> dict[str, Any]:
    """Return a point of the stream as one flat record."""
    sequence, point = unpack_point(entry)
    return {"sequence": sequence, **point}
