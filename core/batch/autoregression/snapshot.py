"""Snapshots of autoregressions; a restored model uses the arrays without copying them."""

from typing import Unpack

from core.batch.autoregression.model import Autoregression, Coefficients, Dense, Sparse
from core.errors import SnapshotFormat
from core.snapshot import About, Array, Snapshot, snapshot_of


def of_autoregression(name: str, model: Autoregression, **about: Unpack[About]) -> Snapshot:
    """Return the snapshot of a model."""
    arrays: dict[str, Array] = {"age_weight": model.age_weight, **vars(model.coefficients)}
    return snapshot_of(name, arrays, {}, about)


def autoregression_of(snapshot: Snapshot) -> Autoregression:
    """Return the model of a snapshot; raise SnapshotFormat if it is not of an autoregression."""
    arrays = snapshot.arrays
    try:
        return Autoregression(_coefficients(snapshot), arrays["age_weight"])
    except KeyError as error:
        raise SnapshotFormat(f"the snapshot is not of an autoregression: no {error}") from error


def _coefficients(snapshot: Snapshot) -> Coefficients:
    arrays = snapshot.arrays
    if "values" in arrays:
        return Dense(arrays["values"])
    return Sparse(arrays["ptr"], arrays["target"], arrays["value"])
