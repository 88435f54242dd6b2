"""Records of models and of the changes of their pointers; no arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from core.snapshot import Snapshot, blob_bytes, version_of

SHOWN = 12
"""Characters of a version that messages and tables show, and the fewest that name one over HTTP."""
MOST_TEXT = 500
"""Most characters of who changed something, and of why."""
LEAD = "lead"
"""Name of a metric: lead of the model's mean reciprocal rank over that of popularity."""


@dataclass(frozen=True)
class ModelRecord:
    """What the registry knows of a model besides its arrays."""

    version: str
    """sha256 of the manifest, ``Snapshot.version``."""
    strategy: str
    """What it serves: fbgd, ocmf, exmlds, ordinal."""
    model: str
    """Which model of the strategy: ocmf-lr-wsq, ..."""
    created_ms: int
    job: str | None
    """The job that trained it."""
    parameters: Mapping[str, Any]
    metrics: Mapping[str, Any]
    decision: Mapping[str, Any]
    """{"outcome": "promoted" | "refused" | "not_judged", "reason": ...}: what the gate said."""
    cuts: Mapping[str, Any]
    """{"trained_through": {partition: sequence}, "judged_through": {...}}."""
    bytes: int

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        strategy: str,
        *,
        created_ms: int,
        job: str | None = None,
        decision: Mapping[str, Any],
    ) -> Self:
        """Return the record of a snapshot."""
        manifest = snapshot.manifest
        return cls(
            version=version_of(manifest),
            strategy=strategy,
            model=snapshot.model,
            created_ms=created_ms,
            job=job,
            parameters=snapshot.parameters.get("settings", {}),
            metrics=snapshot.metrics,
            decision=decision,
            cuts=snapshot.cuts,
            bytes=blob_bytes(manifest),
        )


@dataclass(frozen=True)
class ModelChange:
    """One change of an active pointer or a pin."""

    id: str
    """Rises with time."""
    at_ms: int
    strategy: str
    version: str
    before: str | None
    """What was active until then."""
    action: str
    """promoted, rolled_back, pinned or unpinned."""
    who: str
    why: str
