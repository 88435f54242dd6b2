"""Converts fitted ordinal models to snapshots and back.

A snapshot takes a few kilobytes, because the features are regenerated from their seed.
"""

from dataclasses import replace
from typing import Any, Unpack

from core.batch.snapshot import with_encoders
from core.errors import SnapshotFormat
from core.features import FeatureEncoder
from core.ordinal.model import OrdinalModel
from core.ordinal.stars import Stars
from core.ordinal.thresholds import Levels
from core.snapshot import About, Snapshot, snapshot_of

MODEL = "qs3orao"
_ARRAYS = ("low", "inverse_range", "widths", "weights")
_NUMBERS = ("offset", "block", "seed", "reg", "gamma", "auc")


def of_model(model: OrdinalModel, **about: Unpack[About]) -> Snapshot:
    """Return the snapshot of an ordinal model."""
    arrays = {name: getattr(model, name) for name in _ARRAYS}
    arrays |= {"thresholds": model.levels.thresholds, "odds": model.levels.cuts}
    numbers = {name: getattr(model, name) for name in _NUMBERS} | {"slope": model.levels.slope}
    return snapshot_of(MODEL, arrays, {"ordinal": numbers}, about)


def model_of(snapshot: Snapshot) -> OrdinalModel:
    """Return the ordinal model; its arrays are the snapshot's own, not copies."""
    try:
        arrays: dict[str, Any] = {name: snapshot.arrays[name] for name in _ARRAYS}
        numbers = dict(snapshot.parameters["ordinal"])
        read = Levels(snapshot.arrays["thresholds"], snapshot.arrays["odds"], numbers.pop("slope"))
        return OrdinalModel(**arrays, **numbers, levels=read)
    except (KeyError, TypeError) as error:
        raise SnapshotFormat(f"this is not the snapshot of an ordinal model: {error}") from error


def of_stars(
    model: str,
    stars: Stars,
    *,
    encoder: FeatureEncoder,
    item_encoder: FeatureEncoder,
    **about: Unpack[About],
) -> Snapshot:
    """Return the snapshot of stars for pairs, with the encoders of both sides' features."""
    known = of_model(stars.model, **about)
    arrays = {**known.arrays, "item_vectors": stars.item_vectors, "values": stars.values}
    parameters = {**known.parameters, "n_user_features": stars.n_user_features}
    made = replace(known, model=model, arrays=arrays, parameters=parameters)
    return with_encoders(made, encoder, item_encoder)


def stars_of(snapshot: Snapshot) -> Stars:
    """Return stars for pairs; arrays are the snapshot's own. SnapshotFormat if one is missing."""
    arrays = snapshot.arrays
    try:
        width, values = int(snapshot.parameters["n_user_features"]), arrays["values"]
        return Stars(model_of(snapshot), width, values, arrays["item_vectors"])
    except (KeyError, TypeError) as error:
        raise SnapshotFormat(f"this is not the snapshot of a model of stars: {error}") from error
