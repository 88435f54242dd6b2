"""Converts fitted label models to snapshots and back.

The registry stores the snapshots; serving maps them.
"""

from dataclasses import asdict, replace
from typing import Any, Unpack

import numpy as np

from core.batch.feature_map import FeatureMap
from core.batch.nystroem import Nystroem
from core.batch.snapshot import with_encoders
from core.errors import SnapshotFormat
from core.features import FeatureEncoder
from core.interactions import Interactions
from core.labels.config import Votes
from core.labels.labelled_items import ItemsAsLabels
from core.labels.space import LabelSpace
from core.snapshot import About, Snapshot, snapshot_of

_ARRAYS = ("centres", "learner_ptr", "weights", "label_factors", "point_ptr", "points")


def of_space(model: str, space: LabelSpace, **about: Unpack[About]) -> Snapshot:
    """Return the snapshot of a label model."""
    arrays = {name: getattr(space, name) for name in _ARRAYS}
    arrays |= {"label_ptr": space.labels.ptr, "label_ix": space.labels.item_ix}
    known: dict[str, Any] = {"n_features": space.n_features, "n_labels": space.n_labels}
    if (landmarks := space.feature_map.nystroem) is not None:
        arrays |= {"landmarks": landmarks.centres, "landmarks_root": landmarks.root}
        known["gamma"] = landmarks.gamma
    return snapshot_of(model, arrays, {"space": known, "votes": asdict(space.votes)}, about)


def space_of(snapshot: Snapshot) -> LabelSpace:
    """Return the label model; its arrays are the snapshot's own.

    SnapshotFormat if one is missing.
    """
    arrays = snapshot.arrays
    try:
        known, votes = snapshot.parameters["space"], Votes(**snapshot.parameters["votes"])
        landmarks = None
        if "gamma" in known:
            landmarks = Nystroem(arrays["landmarks"], arrays["landmarks_root"], known["gamma"])
        labels = Interactions(
            int(known["n_labels"]), np.asarray(arrays["label_ptr"]), np.asarray(arrays["label_ix"])
        )
        parts: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
        n_features = int(known["n_features"])
        return LabelSpace(FeatureMap(landmarks), n_features, labels=labels, votes=votes, **parts)
    except (KeyError, TypeError) as error:
        raise SnapshotFormat(f"this is not the snapshot of a label model: {error}") from error


def of_items(
    model: str,
    items: ItemsAsLabels,
    *,
    encoder: FeatureEncoder,
    item_encoder: FeatureEncoder,
    **about: Unpack[About],
) -> Snapshot:
    """Return the snapshot of items as labels, with the encoders of both sides' features."""
    space = of_space(model, items.space, **about)
    arrays = {**space.arrays, "item_places": items.item_places}
    if items.item_weights is not None:
        arrays["item_weights"] = items.item_weights
    return with_encoders(replace(space, arrays=arrays), encoder, item_encoder)


def items_of(snapshot: Snapshot) -> ItemsAsLabels:
    """Return items as labels; arrays are the snapshot's own. SnapshotFormat if one is missing."""
    arrays = snapshot.arrays
    if "item_places" not in arrays:
        raise SnapshotFormat("this is not the snapshot of a label model of items: no item vectors")
    return ItemsAsLabels(space_of(snapshot), arrays["item_places"], arrays.get("item_weights"))
