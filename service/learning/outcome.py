"""What the events of a batch lead to: what is committed, and what the learner notes for itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.online.model import Learned
from core.types import I64
from service.store.log.change import NO_ITEMS
from service.store.profiles.commit import Changes

DELETED: Mapping[str, int] = {"deletions": 1}
MERGED: Mapping[str, int] = {"others": 1}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Made by the part of the learner that carried out the batch."""

    changes: Changes
    counted: Mapping[str, int]
    """What is added to the counters of ``PartitionState``."""
    stale_users: Sequence[str] = ()
    """Users to read anew after the commit: it rewrites what is stored of them."""
    rating: I64 = field(default_factory=lambda: NO_ITEMS)
    """Positions in the batch of the ratings that were learned."""
    learned: Learned | None = None
    """What was predicted of these ratings before; None where there are none."""
