"""The outcome of a batch: the changes to commit, and what the learner itself must note."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.online.reports import Learned
from core.types import I64
from service.store.log.change import NO_ITEMS
from service.store.profiles.commit import Changes

DELETED: Mapping[str, int] = {"deletions": 1}
MERGED: Mapping[str, int] = {"others": 1, "moves": 1}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of a batch of events, a deletion or a merge."""

    changes: Changes
    counted: Mapping[str, int]
    """Increments of the counters of ``PartitionState``."""
    stale_users: Sequence[str] = ()
    """Users to read again after the commit, because it rewrites what is stored about them."""
    rating: I64 = field(default_factory=lambda: NO_ITEMS)
    """Positions in the batch of the ratings that were learned."""
    learned: Learned | None = None
    """The predictions of these ratings just before they were learned; None without ratings."""
