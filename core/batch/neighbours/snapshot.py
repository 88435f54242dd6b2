"""Snapshots of neighbours of items."""

from dataclasses import fields
from typing import Any, Unpack

from core.batch.neighbours.model import Joining, Neighbours
from core.errors import CoreError, SnapshotFormat
from core.snapshot import About, Snapshot, snapshot_of


def of_neighbours(model: str, fitted: Neighbours, **about: Unpack[About]) -> Snapshot:
    """Return the snapshot of a fitted model."""
    arrays: dict[str, Any] = {"strength": fitted.strength}
    parameters: dict[str, Any] = {}
    if fitted.of_dense is None:
        arrays["neighbour"] = fitted.neighbour
    else:
        parameters["of_dense"] = fitted.of_dense
    if fitted.joining is not None:
        numbers = {one.name: getattr(fitted.joining, one.name) for one in fields(Joining)}
        arrays["own"] = numbers.pop("own")
        parameters["joining"] = numbers
    return snapshot_of(model, arrays, parameters, about)


def neighbours_of(snapshot: Snapshot) -> Neighbours:
    """Return the fitted model, which uses the snapshot's arrays without copying them."""
    try:
        arrays: dict[str, Any] = dict(snapshot.arrays)
        joining = snapshot.parameters.get("joining")
        if joining is not None:
            joining = Joining(arrays["own"], **joining)
        if "of_dense" in snapshot.parameters:
            k = int(snapshot.parameters["of_dense"])
            return Neighbours.dense(arrays["strength"], k, joining)
        return Neighbours(arrays["neighbour"], arrays["strength"], joining)
    except (KeyError, TypeError, ValueError, CoreError) as error:
        raise SnapshotFormat(f"the snapshot is not of neighbours of items: {error}") from error
