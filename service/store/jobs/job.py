"""A training: what was ordered, and the record of the job that does it."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import msgspec

from service.store.jobs.growth import enough

Status = Literal["queued", "running", "succeeded", "failed", "cancelled"]
UNFINISHED: tuple[Status, ...] = ("queued", "running")
PROMOTING = "promoting"
"""The last stage. It cannot be cancelled; the model that it makes active can be rolled back."""

ORDERED = "order"
"""The ``why`` of a job that was ordered on request; the schedule orders the others."""


@dataclass(frozen=True)
class TrainingOrder:
    """What to train, and who wants it."""

    model: str | None
    """The recipe; None: whatever is worth training."""
    parameters: Mapping[str, Any]
    """Stated settings of the recipe; the others are searched."""
    budget_s: float
    """Seconds that the search of settings may take."""
    who: str
    """Origin of the order: a key's name, ``command line``, ``schedule``."""
    why: str
    """Cause of the order: order, cron, events, drift."""
    promote_unjudged: bool = False
    """Whether the model may serve if nobody can judge it."""


@dataclass(frozen=True)
class JobRecord:
    """A job as it is stored; what was ordered stands in the same fields as in ``TrainingOrder``."""

    id: str
    status: Status
    model: str | None
    parameters: dict[str, Any]
    budget_s: float
    who: str
    why: str
    created_ms: int
    promote_unjudged: bool = False
    started_ms: int | None = None
    ended_ms: int | None = None
    stage: str = ""
    """Current stage of a running job."""
    recipe: str = ""
    """The recipe at work in a job that names none."""
    tried: list[dict[str, Any]] = field(default_factory=list)
    """All recipes that a job without one has considered, and the outcome of each."""
    progress: float = 0.0
    """Share of the job that is done, 0 to 1."""
    worker: str = ""
    """Token of the trainer that runs it."""
    error: str | None = None
    """Reason of the failure or cancellation, and a remedy."""
    metrics: dict[str, Any] = field(default_factory=dict)
    decision: dict[str, Any] = field(default_factory=dict)
    """Decision of the gate: outcome, reason and the figures behind it."""
    version: str | None = None
    """Version of the model that it published; None for a job without a recipe: see ``tried``."""

    learned: int | None = None
    """Number of events that were learned when it began; None before that."""

    def does(self, order: TrainingOrder, learned: int) -> bool:
        """Return whether a job does what an order asks for, when so many events are learned."""
        names = ("model", "parameters", "budget_s", "promote_unjudged")
        if any(getattr(self, name) != getattr(order, name) for name in names):
            return False
        if self.status == "running" and self.learned is not None:
            return learned - self.learned < enough(self.learned)
        return not self.has_ended

    @property
    def has_ended(self) -> bool:
        """Whether the job is in a final state."""
        return self.status not in UNFINISHED


def queued(order: TrainingOrder, created_ms: int) -> JobRecord:
    """Return the record of a new job."""
    ordered = vars(order) | {"parameters": dict(order.parameters)}
    return JobRecord(id=secrets.token_hex(8), status="queued", created_ms=created_ms, **ordered)


def text(value: str) -> bytes:
    """Return a text in the form of the record; an empty text stays empty."""
    return msgspec.json.encode(value) if value else b""


def packed(values: Mapping[str, Any]) -> dict[Any, Any]:
    """Return fields of a record as they are stored."""
    return {name: msgspec.json.encode(value) for name, value in values.items()}


def unpacked(stored: Mapping[bytes, bytes]) -> JobRecord | None:
    """Return the record of a stored hash; None if the hash is gone."""
    known = {entry.name for entry in fields(JobRecord)}
    values = {name.decode(): msgspec.json.decode(value) for name, value in stored.items()}
    # a hash without an id expired between two commands
    return JobRecord(**{n: v for n, v in values.items() if n in known}) if "id" in values else None
