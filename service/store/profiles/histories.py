"""The meaning of a history: pure functions on records, see ``history_record.HISTORY``.

The learner, a rebuild and all readers share these functions, so that they agree; none uses a clock.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.meaning import RATING
from core.online.tables import RECENT
from service.settings import Kind
from service.store.profiles.history_record import sequences

Records = NDArray[Any]
Numbers = NDArray[np.uint32]


def live(history: Records, deleted: Mapping[int, int]) -> Records:
    """Return the records made after their item was last deleted; ``deleted``: item -> sequence."""
    if not deleted or not history.size:
        return history
    kept: Records = history[is_live(history, deleted)]
    return kept


def is_live(history: Records, deleted: Mapping[int, int]) -> NDArray[np.bool_]:
    """Mark the records made after their item was last deleted; ``deleted``: item -> sequence."""
    if not deleted or not history.size:
        return np.ones(len(history), dtype=bool)
    # loop over the shorter one: thousands of deletions must not slow down a short history
    candidates = deleted if len(deleted) <= len(history) else np.unique(history["item"]).tolist()
    items = np.array(sorted(item for item in candidates if item in deleted), dtype=np.uint32)
    if not items.size:
        return np.ones(len(history), dtype=bool)
    deletion = np.array([deleted[item] for item in items.tolist()], dtype=np.int64)
    at = np.minimum(np.searchsorted(items, history["item"]), items.size - 1)
    gone = (items[at] == history["item"]) & (sequences(history) <= deletion[at])
    alive: NDArray[np.bool_] = ~gone
    return alive


def recent_ratings(history: Records, deleted: Mapping[int, int]) -> Records:
    """Return the ratings in the ring buffer of the user's row, oldest first."""
    ratings: Records = history[history["kind"] == RATING]
    return live(ratings, deleted)[-RECENT:]


def without_pair(history: Records, item: int) -> Records:
    """Return the history without one item."""
    kept: Records = history[history["item"] != item]
    return kept


def merged(histories: Sequence[Records]) -> Records:
    """Return the records of several histories ordered by sequence, each event once."""
    joined = np.concatenate(histories)
    _, first = np.unique(sequences(joined), return_index=True)
    records: Records = joined[first]
    return records


def rated_by_both(target: Records, source: Records) -> tuple[Records, Records]:
    """Return the ratings that stay when two users are merged, for the items that both have rated.

    The answer is (ratings of the target, ratings of the source). Of the two users' last ratings of
    an item, the later one by the events' own time stays, the target's if the times are equal:
    sequences of two partitions cannot be compared.
    """
    of_target, of_source = _last_ratings(target), _last_ratings(source)
    _, a, b = np.intersect1d(
        of_target["item"], of_source["item"], assume_unique=True, return_indices=True
    )
    of_target, of_source = of_target[a], of_source[b]
    newer = of_source["time_ms"] > of_target["time_ms"]
    return of_target[~newer], of_source[newer]


def overruled(history: Records, stay: Records) -> NDArray[np.bool_]:
    """Mark the ratings that would wrongly replace those that ``stay``.

    These are ratings of the same items with later sequences.
    """
    stay = stay[np.argsort(stay["item"])]
    if not stay.size:
        return np.zeros(len(history), dtype=bool)
    at = np.minimum(np.searchsorted(stay["item"], history["item"]), stay.size - 1)
    same = (stay["item"][at] == history["item"]) & (history["kind"] == RATING)
    marked: NDArray[np.bool_] = same & (sequences(history) > sequences(stay)[at])
    return marked


def _last_ratings(history: Records) -> Records:
    """Return the last rating of each item, ordered by item."""
    ratings = history[history["kind"] == RATING][::-1]
    _, first = np.unique(ratings["item"], return_index=True)
    last: Records = ratings[first]
    return last


def compact(history: Records, kinds: Mapping[str, Kind], limit: int) -> tuple[Records, Numbers]:
    """Shorten a history of more than ``limit`` records to at most seven eighths of the limit.

    Superseded records of a pair are removed first, then the oldest of the weakest kind. Return the
    remaining records, in order, and the items that no record names any longer.
    """
    target = limit - limit // 8
    strength = _strength(history, kinds)
    kept = history[_counting(history, strength)]
    if len(kept) > target:
        # lexsort sorts by the last key first: by strength, then by age
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
    """Mark the latest rating of each pair, and the latest record of its strongest other kind."""
    is_rating = history["kind"] == RATING
    order = np.lexsort((np.arange(len(history)), strength, is_rating, history["item"]))
    item, rating = history["item"][order], is_rating[order]
    last = np.ones(len(history), dtype=bool)
    last[:-1] = (item[1:] != item[:-1]) | (rating[1:] != rating[:-1])
    marked = np.zeros(len(history), dtype=bool)
    marked[order[last]] = True
    return marked
