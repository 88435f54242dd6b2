"""A fitted ordinal model as a snapshot, and back: a few kilobytes, because the features are drawn from their seed."""

from collections.abc import Mapping
from typing import Any

from core.errors import SnapshotFormat
from core.ordinal.qs3orao import OrdinalModel
from core.ordinal.thresholds import Levels
from core.snapshot import Snapshot

MODEL = "qs3orao"
_ARRAYS = ("low", "inverse_range", "widths", "weights")
_NUMBERS = ("offset", "block", "seed", "reg", "gamma", "auc")


def of_model(
    model: OrdinalModel,
    *,
    settings: Mapping[str, Any],
    metrics: Mapping[str, float],
    cuts: Mapping[str, Any],
) -> Snapshot:
    """Return the snapshot of an ordinal model."""
    arrays = {name: getattr(model, name) for name in _ARRAYS}
    arrays |= {"thresholds": model.levels.thresholds, "odds": model.levels.cuts}
    numbers = {name: getattr(model, name) for name in _NUMBERS} | {"slope": model.levels.slope}
    return Snapshot(MODEL, arrays, {"settings": dict(settings), "ordinal": numbers}, metrics, cuts)


def model_of(snapshot: Snapshot) -> OrdinalModel:
    """Return the ordinal model; its arrays are the snapshot's, not copies."""
    try:
        arrays: dict[str, Any] = {name: snapshot.arrays[name] for name in _ARRAYS}
        numbers = dict(snapshot.parameters["ordinal"])
        read = Levels(snapshot.arrays["thresholds"], snapshot.arrays["odds"], numbers.pop("slope"))
        return OrdinalModel(**arrays, **numbers, levels=read)
    except (KeyError, TypeError) as error:
        raise SnapshotFormat(f"the snapshot is not of an ordinal model: {error}") from error
