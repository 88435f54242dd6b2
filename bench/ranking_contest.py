"""The common ground of all ranking models: one split of one data set, scored alike for everyone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from bench.attempts import Attempt
from core import ranking_metrics
from core.batch.ranker import rank
from core.interactions import Interactions

KS = (10, 20)
THREADS = numba.get_num_threads()
Clock = Callable[[], float]


@dataclass(frozen=True)
class Contest:
    """One split of one data set, with the clock for the reported seconds."""

    data: str
    split: int
    train: Interactions
    test: Interactions
    clock: Clock
    """Source of the seconds that are reported."""

    def scores(self, users: Any, items: Any) -> dict[str, float]:
        """Return the metrics for all users with a test item, their training items excluded."""
        asked = np.flatnonzero(self.test.user_counts)
        vectors = np.ascontiguousarray(np.asarray(users, np.float32)[asked])
        seen = self.train.rows(asked)
        ids, _ = rank(vectors, np.ascontiguousarray(items, np.float32), seen, max(KS))
        return ranking_metrics.means(ranking_metrics.hits(ids, self.test.rows(asked)), KS)

    def attempt(
        self, model: str, settings: dict[str, Any], users: Any, items: Any, seconds: float
    ) -> Attempt:
        return Attempt(self.data, self.split, model, settings, self.scores(users, items), seconds)
