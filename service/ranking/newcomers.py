"""New items in a stack: what is not known of one is as with the items that are most like it.

A ranker that learned nothing of an item says nothing good of it, however well it fits. So a new
item gets the chance that others have on average, as far as nothing is known of itself: half by its
look-alikes, half by all items. Look-alikes alone would be too sure of the first places, which hang
on what people did a moment ago, and too hard on items that are like nothing people take.
"""

from hashlib import blake2b

import numpy as np
from msgspec import Struct

from core.batch.content.model import LookAlikes
from core.types import F32, F64, I32
from service.ranking.pool import NOTHING, Pool
from service.ranking.strategies import Strategy

ANY = 0.5
"""Weight of all items beside the look-alikes."""
_NONE: F32 = np.empty(0, np.float32)


class Newcomers(Struct, frozen=True, eq=False):
    """m new items and their look-alikes among the known ones."""

    items: I32 = NOTHING
    """(m,), ascending."""
    doubt: F32 = _NONE
    """(m,) from 1 down to 0: how little is known of each."""
    alike: I32 = np.empty((0, 0), np.int32)
    """(m, k); -1 where an item has fewer."""
    strategy: Strategy = ""
    """The ranker that knows which items are alike."""
    version: str = ""
    """Changes with the items and their look-alikes; empty without any."""

    @classmethod
    def of(cls, items: I32, doubt: F32, alike: LookAlikes, strategy: Strategy) -> "Newcomers":
        """Return these items, without those that have no look-alikes."""
        some = (alike >= 0).any(axis=1) if alike.size else np.zeros(items.size, np.bool_)
        kept = items[some], doubt[some], alike[some]
        if not kept[0].size:
            return cls()
        digest = blake2b(kept[0].tobytes() + kept[2].tobytes(), digest_size=8).hexdigest()
        return cls(*kept, strategy, digest)

    def joined(self, items: I32, z: F32 | F64, pool: Pool) -> tuple[I32, F32 | F64]:
        """Return candidates and their z with the new items of a pool that may be taken.

        Equation   exp z(y) = (1 - d) exp z_own(y) + d (1 - ANY) mean over the look-alikes j of exp
                   z(j) + d ANY mean over the pool of exp z, d = doubt^2; exp z is 0 of what no
                   ranker named, and look-alikes outside of the pool do not count
        Shapes     items (n,) ascending · z (n,)
        """
        may = self._may(pool)
        if not items.size or not may.any():
            return items, z
        new, alike = self.items[may], self.alike[may]
        is_open = _open(pool, int(alike.max()) + 1)
        chance = np.zeros(max(is_open.size, int(max(items[-1], new[-1])) + 1))
        chance[items] = np.exp(z - z.max())
        counts = (alike >= 0) & is_open[alike]
        likely = (chance[alike] * counts).sum(axis=1) / np.maximum(counts.sum(axis=1), 1)
        expected = (1.0 - ANY) * likely + ANY * chance[items].sum() / np.count_nonzero(is_open)
        unknown = np.square(self.doubt[may])
        chance[new] = (1.0 - unknown) * chance[new] + unknown * expected
        every = np.union1d(items, new).astype(np.int32)
        return every, np.log(np.maximum(chance[every], 1e-300)) + z.max()

    def _may(self, pool: Pool) -> "np.typing.NDArray[np.bool_]":
        """Return which of the items are in a pool; none where the request names candidates."""
        if pool.candidates is not None or not self.items.size:
            return np.zeros(self.items.size, np.bool_)
        return _open(pool, int(self.items[-1]) + 1)[self.items]


def _open(pool: Pool, n: int) -> "np.typing.NDArray[np.bool_]":
    """Return which items are in a pool without candidates, for at least n items."""
    is_open = np.zeros(max(pool.allowed.size, n), np.bool_)
    is_open[: pool.allowed.size] = pool.allowed
    is_open[pool.excluded[pool.excluded < is_open.size]] = False
    return is_open


NOBODY_NEW = Newcomers()
"""There is no new item."""
