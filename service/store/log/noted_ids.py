"""The latest ids of events, which the append script notes to tell at once which rows are repeats.

The learner's window alone decides which events count, and only once it comes to them. These ids are
a small part of it: as many as are certain to be in a window that forgets the oldest ids of the
producer with the most. So what is told here to have come before is dropped later; what came before
them is not told. A repeat does not renew its id, here as there.
"""

from collections.abc import Sequence
from importlib import resources
from itertools import compress
from typing import NamedTuple, Self

from service.settings import Settings
from service.store.keys import PartitionKeys
from service.store.log.codec import HAS_DIGEST, LISTS

MOST_OF_ENTRY = 1_000
"""Entries with more ids are imports: to look up so many would keep others waiting. A small window
has a smaller bound."""
SCRIPT = resources.files(__package__).joinpath("noted_ids.lua").read_text()
"""Defines ``repeats``."""


class NotedIds(NamedTuple):
    """How many ids a partition notes; none by default."""

    place: int = 0
    """Ids in each of two places, the latest and those before, and up to an entry's more."""
    entry: int = MOST_OF_ENTRY
    seconds: int = 1
    """For how long at most."""

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return as many as the window of a learner is certain to have."""
        share = settings.dedupe_window // LISTS
        entry = min(MOST_OF_ENTRY, share // 4)
        seconds = max(int(3_600 * settings.dedupe_max_age_h), 1)
        return cls((share - entry) // 2, entry, seconds)


class Placed(NamedTuple):
    """Where events are in the log, and which of them are known to have come before."""

    last: int
    """The sequence of the last one."""
    repeats: Sequence[int] = ()
    """Places, from 0: in the answer of the script among the ids, else among the rows."""


def script_keys(keys: PartitionKeys) -> tuple[str, str]:
    """Return the two places."""
    return keys.ids_noted, keys.ids_noted_before


def rows_of(repeats: Sequence[int], flags: Sequence[int]) -> list[int]:
    """Return the rows of an entry whose ids are repeats; none if its ``flags`` are not known.

    >>> rows_of([0, 2], [HAS_DIGEST, 0, HAS_DIGEST, HAS_DIGEST])
    [0, 3]
    """
    rows = [*compress(range(len(flags)), (flag & HAS_DIGEST for flag in flags))]
    return [rows[place] for place in repeats] if rows else []
