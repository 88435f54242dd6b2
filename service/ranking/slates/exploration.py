"""Give new items some places in a slate, so that the service learns who likes them.

A new item has few events and few showings, so no ranker can place it well. A small share of the
places goes to such items; those that fit the asker, and of which least is known, come first. The
draw depends on the seed, the asker and the hour alone: the same request gives the same answer.
"""

import math
from collections.abc import Container, Iterator, Sequence
from hashlib import blake2b

import numpy as np
from msgspec import Struct

from core.affinity import NOTHING_SAID, Described
from core.meaning import Mask
from core.rng import mix
from core.types import F32, F64, I32
from service.ranking.asker import Asker
from service.ranking.newcomers import NOBODY_NEW, Newcomers
from service.ranking.pool import NOTHING, Pool
from service.ranking.ranker import Ranker
from service.ranking.slates.mixing import Pick
from service.ranking.slates.wanted import Wanted
from service.ranking.strategies import EXPLORE, MIXTURE

HOUR_MS = 3_600_000
KEPT_PLACES = 3
"""First places of a list, which no new item takes."""
SPREAD = 0.5
"""Spread of the fit over new items, where a ranker tells it: about that of affinities."""
FIT, SURPRISE = 2.0, 0.5
"""Weights of the affinity and of chance in the choice among new items; that of doubt is 1."""


class NewItems(Struct, frozen=True, eq=False):
    """The items that are new at one moment, and the descriptions of all items."""

    items: I32 = NOTHING
    """(m,), ascending."""
    doubt: F32 = np.empty(0, np.float32)
    """(m,) from 1 down to 0: how little is known of each; see ``doubt_of``."""
    described: Described = NOTHING_SAID
    placing: Ranker | None = None
    """The ranker that places items by their documents; None: categories alone tell what fits."""
    coming: Newcomers = NOBODY_NEW
    """Those of them that a stack ranks as it ranks their look-alikes."""


class Exploration(Struct, frozen=True, eq=False):
    """The draw of new items for one asker and one hour."""

    new: NewItems
    share: float
    """Expected share of the places after the first ones."""
    seed: int
    who: str = ""
    hour: int = 0

    @property
    def until_ms(self) -> int:
        """Return when the draw is another one."""
        return (self.hour + 1) * HOUR_MS

    @property
    def n_items(self) -> int:
        """Return the number of items that a pool must reach to hold the new ones."""
        return int(self.new.items[-1]) + 1 if self.new.items.size else 0

    def placed(self, picks: list[Pick], asker: Asker, pool: Pool, wanted: Wanted) -> list[Pick]:
        """Return a ranked list with new items in some places; the items there move down.

        No item moves down because it is new: what is ranked higher than its place stays there.
        """
        if not self._may_explore(wanted, pool):
            return picks
        places = {*self._places(len(picks))}
        if not places:
            return picks
        new, ranked = iter(self._chosen(asker, pool, len(picks))), iter(picks)
        made: dict[int, Pick] = {}
        for place in range(len(picks)):
            found = _next(new, made) if place in places else None
            found = found or _next(ranked, made)
            if found is not None:
                made[found.item] = found
        return [*made.values()]

    def explores(self, wanted: Wanted, pool: Pool) -> bool:
        """Return whether new items have places in a list."""
        return self._may_explore(wanted, pool) and bool(self._places(wanted.n))

    def _may_explore(self, wanted: Wanted, pool: Pool) -> bool:
        """Return whether anything new may be shown: not where a request says what to rank."""
        return (
            self.new.items.size > 0
            and self.share > 0.0
            and (wanted.assigned or wanted.model in {None, MIXTURE})
            and wanted.max_per_category is None
            and pool.candidates is None
        )

    def _places(self, n: int) -> list[int]:
        """Return the places of new items among n, rising; a longer list has the same ones first."""
        places: list[int] = []
        place = KEPT_PLACES - 1
        while True:
            # the gap between places that are each taken with this share
            chance = (self._drawn(len(places)) + 1) / (1 << 64)
            place += 1 + int(math.log(chance) / math.log1p(-self.share))
            if place >= n:
                return places
            places.append(place)

    def _chosen(self, asker: Asker, pool: Pool, n: int) -> Sequence[Pick]:
        """Return at most n new items of the pool, best first."""
        items = self.new.items
        may = items < pool.allowed.size
        may[may] &= pool.allowed[items[may]]
        may &= ~_among(items, pool.excluded)
        items, doubt = items[may], self.new.doubt[may]
        fit = self._fit(asker, items)
        merit = FIT * fit + doubt + SURPRISE * self._chance(items)
        best = np.argsort(-merit, kind="stable")[:n]
        pairs = zip(items[best].tolist(), fit[best].tolist(), strict=True)
        return [Pick(item, value, EXPLORE) for item, value in pairs]

    def _fit(self, asker: Asker, items: I32) -> F32:
        """Return how well items (m,) fit the asker, in units of an affinity."""
        placing = self.new.placing
        if placing is None or not placing.knows(asker):
            return affinity_of(self.new.described, asker, items)
        scores = placing.scores_of(asker, items)
        scored = np.isfinite(scores)
        spread = float(scores[scored].std()) if scored.any() else 0.0
        fit = np.zeros(items.size, np.float32)
        if spread > 0.0:
            fit[scored] = SPREAD * (scores[scored] - scores[scored].mean()) / spread
        return fit

    def _drawn(self, purpose: int) -> int:
        """Return a number below 2^64 that the asker and the hour determine."""
        key = b"%d %d %d " % (self.seed, self.hour, purpose) + self.who.encode()
        return int.from_bytes(blake2b(key, digest_size=8).digest())

    def _chance(self, items: I32) -> F64:
        """Return a Gumbel number of each item (m,): the largest sums are draws without return."""
        bits = mix(mix(items.astype(np.uint64)) ^ np.uint64(self._drawn(-1)))
        unit = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        return np.asarray(-np.log(-np.log(unit)))


def _next(picks: Iterator[Pick], shown: Container[int]) -> Pick | None:
    """Return the next item that is not shown yet; None if there is none."""
    return next((pick for pick in picks if pick.item not in shown), None)


def _among(items: I32, some: I32) -> Mask:
    """Return whether each item is in an ascending list."""
    at = np.searchsorted(some, items)
    found: Mask = at < some.size
    found[found] = some[at[found]] == items[found]
    return found


def affinity_of(described: Described, asker: Asker, items: I32) -> F32:
    """Return how well items (m,) fit what the asker liked; 0 if nothing described was liked."""
    known = asker.preferences
    liked = known.target > 0.0
    if not liked.any() or not described.column.size:
        return np.zeros(items.size, np.float32)
    return described.affinity(items, described.taste(known.item_ix[liked], known.weight[liked]))


def doubt_of(events: F64, showings: F64) -> F32:
    """Return how little is known of items (m,): 1 / sqrt(1 + events + showings / 10)."""
    return (1.0 / np.sqrt(1.0 + events + showings / 10.0)).astype(np.float32)
