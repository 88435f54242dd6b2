"""Drift: the recent error of the experts divided by their usual one."""

from collections.abc import Sequence
from statistics import median
from typing import Any, cast

import redis

from service.store.connection import store_errors
from service.store.keys import PartitionKeys
from service.store.profiles.expert_history import StreamEntry, unpack_point

DRIFT_POINTS, FEWEST_POINTS = 100, 10
"""Points of the experts' history that define the usual error, and the fewest that show drift."""


def drift(client: redis.Redis, partitions: Sequence[PartitionKeys], since: Sequence[int]) -> float:
    """Return the ratio of the recent online error to the usual one, in the worst partition.

    1.0 means no drift. ``since`` has the watermark of each partition at the last training: the
    usual error is the median of all points, or of those since then if that is higher, so that one
    drift starts only one training.
    """
    found = zip(partitions, since, strict=True)
    return max((_drift(_points(client, keys), one) for keys, one in found), default=1.0)


def _points(client: redis.Redis, keys: PartitionKeys) -> list[tuple[int, float]]:
    """Return the experts' recent points, the newest first."""
    with store_errors():
        newest = client.xrevrange(keys.expert_history, count=DRIFT_POINTS)
    return [_point(entry) for entry in cast("list[Any]", newest)]


def _drift(points: Sequence[tuple[int, float]], since: int) -> float:
    """Return the ratio of the newest error to the usual one.

    The usual error is the median of all points, or that of the points after ``since`` if it is
    higher. ``points`` are (sequence, error), the newest first; the last one up to ``since`` counts
    as the first after it. So a high error is drift only until a training has begun.

    >>> points = [(at, 0.3 if at > 18 else 0.2) for at in range(20, 0, -1)]
    >>> _drift(points, 0), _drift(points, 19)
    (1.5, 1.0)
    """
    if len(points) < FEWEST_POINTS:
        return 1.0
    known = next((error for sequence, error in points if sequence <= since), None)
    later = [error for sequence, error in points if sequence > since]
    usual = median(error for _, error in points)
    usual = max(usual, median(later if known is None else [*later, known]))
    return float(round(points[0][1] / usual, 6)) if usual > 0.0 else 1.0


def _point(entry: StreamEntry) -> tuple[int, float]:
    """Return the sequence and the best expert's recent loss of a point of the experts' history."""
    sequence, point = unpack_point(entry)
    return sequence, min(expert["recent_loss"] for expert in point["experts"])
