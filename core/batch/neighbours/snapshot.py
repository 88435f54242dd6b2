"""Snapshots of neighbours of items."""

from typing import Any, Unpack

from core.batch.neighbours.model import Neighbours
from core.errors import CoreError, SnapshotFormat
from core.snapshot import About, Snapshot, snapshot_of


def of_neighbours(model: str, fitted: Neighbours, **about: Unpack[About]) -> Snapshot:
    """Return the snapshot of a fitted model."""
    arrays = {"neighbour": fitted.neighbour, "strength": fitted.strength}
    return snapshot_of(model, arrays, {}, about)


def neighbours_of(snapshot: Snapshot) -> Neighbours:
    """Return the fitted model, which uses the snapshot's arrays without copying them."""
    try:
        arrays: dict[str, Any] = dict(snapshot.arrays)
        return Neighbours(arrays["neighbour"], arrays["strength"])
    except (KeyError, TypeError, ValueError, CoreError) as error:
        raise SnapshotFormat(f"the snapshot is not of neighbours of items: {error}") from error
