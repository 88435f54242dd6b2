"""A fitted ordinal model as a snapshot, and back: a few kilobytes, because the features are drawn from their seed."""

from collections.abc import Mapping
from typing import Any

from core.errors import SnapshotFormat
from core.features import FeatureEncoder
from core.ordinal.qs3orao import OrdinalModel
from core.ordinal.stars import Stars
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


def of_stars(
    model: str,
    stars: Stars,
    *,
    encoder: FeatureEncoder,
    item_encoder: FeatureEncoder,
    settings: Mapping[str, Any],
    metrics: Mapping[str, float],
    cuts: Mapping[str, Any],
) -> Snapshot:
    """Return the snapshot of stars for pairs; the encoders make columns of users' and of items' features."""
    known = of_model(stars.model, settings=settings, metrics=metrics, cuts=cuts)
    arrays = {**known.arrays, "item_vectors": stars.item_vectors, "values": stars.values}
    parameters = {
        **known.parameters,
        "n_user_features": stars.n_user_features,
        "encoder": encoder.to_json(),
        "item_encoder": item_encoder.to_json(),
    }
    return Snapshot(model, arrays, parameters, metrics, cuts)


def stars_of(snapshot: Snapshot) -> Stars:
    """Return stars for pairs; arrays are the snapshot's, not copies. SnapshotFormat if any is missing."""
    arrays = snapshot.arrays
    try:
        width, values = int(snapshot.parameters["n_user_features"]), arrays["values"]
        return Stars(model_of(snapshot), width, values, arrays["item_vectors"])
    except (KeyError, TypeError) as error:
        raise SnapshotFormat(f"the snapshot is not of stars for pairs: {error}") from error
