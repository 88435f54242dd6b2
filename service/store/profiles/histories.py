"""What a history means: pure functions on records, see ``codec.HISTORY``.

The learner, rebuild and readers must agree on every one of them; none looks at a clock.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.meaning import RATING
from core.online.tables import RECENT
from service.settings import Kind
from service.store.log.codec import sequences

Records = NDArray[Any]
Numbers = NDArray[np.uint32]


def live(history: Records, deleted: Mapping[int, int]) -> Records:
    """Leave out what was recorded before its item was deleted; ``deleted``: item -> sequence."""
    if not deleted or not history.size:
        return history
    kept: Records = history[is_live(history, deleted)]
    return kept


def is_live(history: Records, deleted: Mapping[int, int]) -> NDArray[np.bool_]:
    """Mark the records that were not recorded before their item was deleted."""
    if not deleted or not history.size:
        return np.ones(len(history), dtype=bool)
    # of the two the fewer: thousands of deletions should not make a short history long to read
    own = deleted if len(deleted) <= len(history) else np.unique(history["item"]).tolist()
    items = np.array(sorted(item for item in own if item in deleted), dtype=np.uint32)
    if not items.size:
        return np.ones(len(history), dtype=bool)
    deletion = np.array([deleted[item] for item in items.tolist()], dtype=np.int64)
    at = np.minimum(np.searchsorted(items, history["item"]), items.size - 1)
    gone = (items[at] == history["item"]) & (sequences(history) <= deletion[at])
    alive: NDArray[np.bool_] = ~gone
    return alive


def recent_ratings(history: Records, deleted: Mapping[int, int]) -> Records:
    """Return the ratings that the ring of the user's row holds, oldest first."""
    ratings: Records = history[history["kind"] == RATING]
    return live(ratings, deleted)[-RECENT:]


def without_pair(history: Records, item: int) -> Records:
    """Return the history without one item."""
    kept: Records = history[history["item"] != item]
    return kept


def merged(histories: Sequence[Records]) -> Records:
    """Return the records of several histories by sequence; each event once."""
    joined = np.concatenate(histories)
    _, first = np.unique(sequences(joined), return_index=True)
    records: Records = joined[first]
    return records


def rated_by_both(target: Records, source: Records) -> tuple[Records, Records]:
    """Return of each item that two users have rated the rating that stays when they are one: target's, source's.

    Of the last rating of each the later one by the events' own time, of one moment the target's: the sequences of two
    partitions say nothing of what came first.
    """
    ours, theirs = _last_ratings(target), _last_ratings(source)
    _, a, b = np.intersect1d(ours["item"], theirs["item"], assume_unique=True, return_indices=True)
    ours, theirs = ours[a], theirs[b]
    newer = theirs["time_ms"] > ours["time_ms"]
    return ours[~newer], theirs[newer]


def overruled(history: Records, stay: Records) -> NDArray[np.bool_]:
    """Mark the ratings that would count instead of those that ``stay``: of the same items, with later sequences."""
    stay = stay[np.argsort(stay["item"])]
    if not stay.size:
        return np.zeros(len(history), dtype=bool)
    at = np.minimum(np.searchsorted(stay["item"], history["item"]), stay.size - 1)
    same = (stay["item"][at] == history["item"]) & (history["kind"] == RATING)
    marked: NDArray[np.bool_] = same & (sequences(history) > sequences(stay)[at])
    return marked


def _last_ratings(history: Records) -> Records:
    """Return the last rating of each item, by item."""
    ratings = history[history["kind"] == RATING][::-1]
    _, first = np.unique(ratings["item"], return_index=True)
    last: Records = ratings[first]
    return last


def compact(history: Records, kinds: Mapping[str, Kind], limit: int) -> tuple[Records, Numbers]:
    """Shorten a history of more than ``limit`` records by an eighth of it at least.

    Superseded records of a pair go first, then the oldest of the weakest kind. Returns what is left, in
    order, and the items that no record names any more.
    """
    target = limit - limit // 8
    strength = _strength(history, kinds)
    kept = history[_counting(history, strength)]
    if len(kept) > target:
        # lexsort: last key first, so by strength and within it by age
        weakest = np.lexsort((np.arange(len(kept)), _strength(kept, kinds)))
        kept = kept[np.sort(weakest[len(kept) - target :])]
    return kept, np.setdiff1d(history["item"], kept["item"])


def _strength(history: Records, kinds: Mapping[str, Kind]) -> NDArray[np.float64]:
    """Return how much each record counts as evidence; ratings count most."""
    by_code = np.zeros(256)
    by_code[[kind.code for kind in kinds.values()]] = [kind.weight for kind in kinds.values()]
    by_code[RATING] = np.inf
    strength: NDArray[np.float64] = by_code[history["kind"]]
    return strength


def _counting(history: Records, strength: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark, of each pair, the latest rating and the latest of the strongest other kind."""
    is_rating = history["kind"] == RATING
    order = np.lexsort((np.arange(len(history)), strength, is_rating, history["item"]))
    item, rating = history["item"][order], is_rating[order]
    last = np.ones(len(history), dtype=bool)
    last[:-1] = (item[1:] != item[:-1]) | (rating[1:] != rating[:-1])
    marked = np.zeros(len(history), dtype=bool)
    marked[order[last]] = True
    return marked
