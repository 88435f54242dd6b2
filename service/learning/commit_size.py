"""The largest size that a batch's commit can have, estimated before the batch is learned."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.types import F64, I64
from service.store.profiles.counters import GAP, ROW_BYTES
from service.store.profiles.showings import WIDTH

KEY_BYTES = 48
"""Bytes that a key and the frame of a value take, without the names of namespace and user."""
COMMAND_BYTES = 4_096
"""Bytes of all commands that a commit has once."""
_COUNTED_BYTES = ROW_BYTES + 4 * WIDTH
"""Bytes of an item's counters and showings."""
MENTIONS = 4
"""How often a commit names a user: row, history, index and change feed."""


@dataclass(frozen=True, kw_only=True)
class CommitSize:
    """The largest number of bytes of a commit and of its parts.

    A history that is rewritten because it is full is not counted.
    """

    fixed: float
    user: float
    """Of each user, without the names."""
    item: float
    """Of each item, without its counters."""
    event: float

    def of(
        self, events: NDArray[Any], users: NDArray[Any], names: I64, items: NDArray[Any], top: int
    ) -> F64:
        """Return the bytes (n,) of commits that end with each of n events, in rising order.

        ``events`` (n,) are extra bytes of single events; ``users`` and ``items`` (n,) mark the
        first event of each; ``names`` (n,) are the bytes of the users' ids; ``top`` is the largest
        item number.
        """
        of_users = users * (self.user + MENTIONS * names)
        counted = _COUNTED_BYTES * np.minimum((GAP + 1) * np.cumsum(items), top + 1)
        of_events = np.cumsum(of_users + items * self.item + self.event + events)
        size: F64 = self.fixed + of_events + counted
        return size
