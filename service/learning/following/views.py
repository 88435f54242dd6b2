"""Views of the learner's state: immutable copies, made every few seconds.

A view contains no event after its watermark. The online snapshot is made from it, and the rankers
are judged with it.
"""

import time
from dataclasses import dataclass

import numpy as np

from core import popularity
from core.batch.takers import NOBODY, Takers
from core.online.model import OnlineModel
from core.snapshot import Snapshot
from core.transitions.table import Counted, Transitions
from core.types import F32, F64
from service.learning.state.counters import ItemCounters
from service.learning.state.rows import ItemRows
from service.learning.state.transitions import ItemTransitions
from service.ranking.strategies import ONLINE

SHARE = 0.02
"""Largest share of the learner's time for copies; a large catalogue is copied less often."""


@dataclass(frozen=True, eq=False)
class View:
    """The state after the event ``watermark`` and before the next event."""

    watermark: int
    items: F32
    """(n, w) item rows, see ``OnlineModel.parameters``; all 0 for items without ratings."""
    state: dict[str, F64]
    """The shared state, see ``OnlineModel.arrays``."""
    counts: F64
    """(n, 3) counters, see core/counters.py."""
    transitions: Counted

    def snapshot(self, partition: int, fingerprint: str, takers: Takers = NOBODY) -> Snapshot:
        """Return the online snapshot: item rows, shared state, transitions and takers."""
        arrays = {"items": self.items} | {f"state.{name}": a for name, a in self.state.items()}
        arrays |= {f"transitions.{name}": a for name, a in self.transitions.arrays().items()}
        arrays |= {f"takers.{name}": a for name, a in takers.arrays().items()}
        cuts = {"trained_through": {str(partition): self.watermark}}
        return Snapshot(ONLINE, arrays, {"fingerprint": fingerprint}, {}, cuts)


def nothing_learned(model: OnlineModel) -> View:
    """Return the view before the first event; ``model`` has learned nothing."""
    return View(
        watermark=0,
        items=model.parameters(np.empty((0, model.width), np.float32)),
        state=model.arrays(),
        counts=np.empty((0, popularity.WIDTH)),
        transitions=Transitions(1.0).counted(),
    )


class Views:
    """Takes a new view when the last one is old enough and events were learned since."""

    def __init__(
        self,
        model: OnlineModel,
        items: ItemRows,
        counters: ItemCounters,
        transitions: ItemTransitions,
        period_s: float,
        *,
        share: float = SHARE,
    ) -> None:
        self._model, self._items, self._counters = model, items, counters
        self._transitions = transitions
        self._period_s, self._share = period_s, share
        self._due = 0.0
        self.current: View | None = None

    def refresh(self, watermark: int) -> View | None:
        """Return a new view if it is due; the rows hold exactly the events up to ``watermark``."""
        now = time.monotonic()
        if now < self._due or (self.current is not None and self.current.watermark == watermark):
            return None
        n = int(self._items.here.nonzero()[0].max(initial=-1)) + 1
        self.current = View(
            watermark,
            self._model.parameters(self._items.table.rows[:n]),
            {name: array.copy() for name, array in self._model.arrays().items()},
            self._counters.rows.copy(),
            self._transitions.counted(),
        )
        self._due = now + max(self._period_s, (time.monotonic() - now) / self._share)
        return self.current
