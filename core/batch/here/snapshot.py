"""Snapshots of what is liked in contexts."""

from typing import Any, Unpack

from core.batch.here.model import Here
from core.errors import SnapshotFormat
from core.snapshot import About, Snapshot, snapshot_of


def of_here(model: str, fitted: Here, **about: Unpack[About]) -> Snapshot:
    """Return the snapshot of a fitted model."""
    arrays = {"lift": fitted.lift, "share": fitted.share}
    return snapshot_of(model, arrays, {"said": [[*pair] for pair in fitted.said]}, about)


def here_of(snapshot: Snapshot) -> Here:
    """Return the fitted model, which uses the snapshot's arrays without copying them."""
    try:
        lift, share = snapshot.arrays["lift"], snapshot.arrays["share"]
        said: Any = [(str(name), str(text)) for name, text in snapshot.parameters["said"]]
        if lift.shape != (len(said), share.size):
            raise ValueError(f"lifts of shape {lift.shape} for {share.size} items")
        return Here(said, lift, share)
    except (KeyError, TypeError, ValueError) as error:
        raise SnapshotFormat(f"the snapshot is not of likes in contexts: {error}") from error
