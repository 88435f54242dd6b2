"""Records of models and of changes of the pointers to them, without arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from core.snapshot import Snapshot, blob_bytes, version_of

SHOWN = 12
"""Characters of a version in messages and tables, and the fewest that identify one over HTTP."""
MOST_TEXT = 500
"""Most characters of ``who`` and of ``why``."""
LEAD = "lead"
"""Name of a metric: the model's lead over popularity in the mean reciprocal rank."""


@dataclass(frozen=True)
class ModelRecord:
    """All that the registry stores of a model besides its arrays."""

    version: str
    """sha256 of the manifest, ``Snapshot.version``."""
    strategy: str
    """Strategy that the model serves: fbgd, ocmf, exmlds, ordinal."""
    model: str
    """Recipe of the model: ocmf-lr-wsq, ..."""
    created_ms: int
    job: str | None
    """The job that trained it."""
    parameters: Mapping[str, Any]
    metrics: Mapping[str, Any]
    decision: Mapping[str, Any]
    """Decision of the gate: {"outcome": "promoted" | "refused" | "not_judged", "reason": ...}."""
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
    """Id of the change; ids rise with time."""
    at_ms: int
    strategy: str
    version: str
    before: str | None
    """Version that was active before."""
    action: str
    """promoted, rolled_back, pinned or unpinned."""
    who: str
    why: str
