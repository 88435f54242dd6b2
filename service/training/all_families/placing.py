"""How well documents alone foresee what people take: the evidence for a family that places items.

The place of an item comes from other items, so an old item is as unknown as a new one would be.
"""

import numpy as np

from core.types import F64
from service.ranking.asker import Asker
from service.ranking.ranker import Ranker
from service.training.data.next_events import NextEvents

MOST_EVENTS = 1_000
"""Most events that are looked at: each needs the scores of all items."""


def foreseen(ranker: Ranker, events: NextEvents) -> F64:
    """Return for each user the share of other unseen items below the one taken, (users,).

    It is 0.5 by chance. Events of items without a place are left out.
    """
    n = len(events)
    chosen = np.random.default_rng(0).permutation(n)[:MOST_EVENTS].tolist()
    found = [(int(events.user_ix[at]), _below(ranker, events, at)) for at in sorted(chosen)]
    placed = [(user, share) for user, share in found if share is not None]
    if not placed:
        return np.empty(0)
    user, share = np.array(placed).T
    _, rows = np.unique(user, return_inverse=True)
    means: F64 = np.bincount(rows, share) / np.bincount(rows)
    return means


def _below(ranker: Ranker, events: NextEvents, at: int) -> float | None:
    asker, item = Asker(events.preferences(at)), int(events.item[at])
    if not ranker.knows(asker):
        return None
    scores = ranker.scores(asker)
    seen = asker.preferences.seen
    others = np.isfinite(scores)
    others[seen[seen < others.size]] = False
    if not others[item] or others.sum() < 2:
        return None
    others[item] = False
    below, equal = (np.mean(scores[others] < scores[item]), np.mean(scores[others] == scores[item]))
    return float(below + 0.5 * equal)
