"""A commit: all changes of a partition by one batch of events, as values.

The learner's components return ``Changes``; the learner adds its own state and builds the
``Commit``, which ``commit_packing`` turns into commands. A commit never changes after it is built,
so it can be sent again after a lost reply.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.types import F32, I64
from service.store.log.change import NO_ANSWERS, NO_ITEMS
from service.store.log.dead_letters import DeadLetter
from service.store.profiles.click_through import SourceCounts
from service.store.profiles.counters import Pieces
from service.store.profiles.dedupe_chunk import DedupeClock, ListChange
from service.store.profiles.expert_history import ExpertPoint
from service.store.profiles.histories import Numbers, Records
from service.store.profiles.transitions import NO_TRANSITIONS, TransitionsChange

NO_ROWS: F32 = np.empty((0, 0), dtype=np.float32)


@dataclass(frozen=True, kw_only=True, slots=True)
class RowChanges:
    """Rows (n, width) of the online model; row i belongs to user i or item i."""

    users: Sequence[str] = ()
    user_rows: F32 = field(default_factory=lambda: NO_ROWS)
    items: Sequence[int] = ()
    item_rows: F32 = field(default_factory=lambda: NO_ROWS)
    new_items: Sequence[int] = ()
    """Items whose row is written for the first time."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A user's whole history, rewritten after a deletion or a compaction."""

    user: str
    history: Records
    trimmed: Numbers
    """Items that no record names any longer."""
    joined: str = ""
    """A user who was merged into this one: contexts of theirs that the history has are kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryChanges:
    """Records to append, and histories to replace."""

    users: Sequence[str] = ()
    records: Sequence[memoryview] = ()
    """``history_record.HISTORY`` records for the history of the user of the same index."""
    new_users: Sequence[str] = ()
    contexts: Mapping[str, bytes] = field(default_factory=dict)
    """Where new events happened, by user: entries of ``profiles.contexts``."""
    rewritten: Sequence[Rewritten] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Removals:
    """Users and items to remove."""

    users: Sequence[str] = ()
    last_generation: int = 0
    """Newest generation with rows of a user to remove: a running rebuild may have written some."""
    impressions: Sequence[bytes] = ()
    """Ids of impressions in the side stream."""
    items: Mapping[int, int] = field(default_factory=dict)
    """Sequence of the deletion by item number: older records no longer count."""


NO_ROW_CHANGES, NO_HISTORY_CHANGES, NO_REMOVALS = RowChanges(), HistoryChanges(), Removals()


@dataclass(frozen=True, kw_only=True, slots=True)
class Changes:
    """The changes by the events of one batch."""

    rows: RowChanges = NO_ROW_CHANGES
    histories: HistoryChanges = NO_HISTORY_CHANGES
    removals: Removals = NO_REMOVALS
    counts: Pieces = ()
    """Changed bytes of the items' counters."""
    showings: Pieces = ()
    """Changed bytes of the items' showings."""
    transitions: bytes = b""
    """Changes of the items that follow others, for the journal."""
    impressions: Sequence[tuple[str, bytes]] = ()
    """(user, record) for the side stream."""
    click_through: Mapping[str, SourceCounts | None] = field(default_factory=dict)
    """Counts by source in hex; None for a source that is forgotten."""
    touched_users: Sequence[str] = ()
    touched_items: I64 = field(default_factory=lambda: NO_ITEMS)


@dataclass(frozen=True, kw_only=True, slots=True)
class DedupeChange:
    """Changes of the stored dedupe window."""

    lists: Mapping[int, ListChange] = field(default_factory=dict)
    """By number."""
    clock: DedupeClock | None = None
    """None if nothing changes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StateChange:
    """The state from which a learner continues."""

    arrays: Mapping[str, bytes] = field(default_factory=dict)
    """Shared arrays of the online model."""
    counters: Mapping[str, int] = field(default_factory=dict)
    """Fields of ``PartitionState``."""


NO_DEDUPE_CHANGE, NO_STATE_CHANGE = DedupeChange(), StateChange()


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """Everything that one batch writes."""

    follows: int
    """Watermark of the commit before."""
    watermark: int
    changes: Changes
    transitions: TransitionsChange = NO_TRANSITIONS
    dedupe: DedupeChange = NO_DEDUPE_CHANGE
    state: StateChange = NO_STATE_CHANGE
    answers: NDArray[Any] = field(default_factory=lambda: NO_ANSWERS)
    """Predictions for waiting requests, as ``codec.AWAITED_ANSWER``."""
    expert_point: ExpertPoint | None = None
    """New point of the experts' history."""
    dead: DeadLetter | None = None
    """A log entry that could not be learned; the commit holds nothing else of it."""
    log_bytes: int = 0
    """Size in bytes of the log entries that this commit completes."""
