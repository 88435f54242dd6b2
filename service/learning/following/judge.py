"""Ranks for one positive all items that its user had not seen, with each ranker, and says where the item stood.

Every ranker gets what an api process could have known just before: the stored history, the online rows and the
counters up to the commit before the event. A model that was trained on the event judges nothing, and an event that
comes long after its time is no test: its user's future may be known.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core import popularity
from core.batch.preferences import Preferences, preferences
from core.kernels import scan
from core.kernels.count import TIME
from core.kernels.scan import Mask
from core.meaning import Reading
from core.mixture import List, combine
from core.mixture_weights import DEPTH
from core.online.model import OnlineModel
from core.online.tables import COUNT
from core.types import F32, I32
from service.learning.following.handover import Sighting
from service.learning.following.models import Model, empty, found
from service.learning.following.views import View
from service.settings import Settings
from service.store.log.codec import read_history, sequences
from service.store.profiles.histories import live

LATE_MS = 86_400_000
"""How far an event may lie before the newest that is known."""


@dataclass(frozen=True)
class Stored:
    """What the store has of the user of a sighting, read at any time after the event."""

    history: bytes
    trimmed: bytes
    deleted: Mapping[int, int]
    features: Mapping[str, Any] = field(default_factory=dict)
    """Of the user's document."""


@dataclass(frozen=True)
class Verdict:
    """The rank of the item in each list, counted from 1; 0: not among the first ``DEPTH``.

    Who knows nothing of the user has no list: a model, or the online model where the user has rated nothing.
    """

    ranks: dict[str, int]
    lists: dict[str, List]
    n_known: int
    """Preferences of the user."""


class Judge:
    """Keeps what it has made of the last view: the next sighting mostly comes with the same."""

    def __init__(self, settings: Settings, model: OnlineModel, reading: Reading) -> None:
        self._model = model
        self._reading = reading
        self._half_life_ms = settings.trending_half_life_h * 3_600_000
        self._view: View | None = None
        self._newest_ms = 0.0
        self._popular: List
        self._trending: List
        self._rated: Mask

    def judge(
        self, sighting: Sighting, stored: Stored, models: Mapping[str, Model]
    ) -> Verdict | None:
        """Return the ranks; None for a late event, a user without preferences, a seen item, a model that knows it."""
        if not sighting.view.watermark <= sighting.follows < sighting.sequence:
            raise ValueError("a sighting holds what came after its event")
        if any(model.trained_through >= sighting.sequence for model in models.values()):
            return None
        self._take(sighting.view)
        if sighting.time_ms < self._newest_ms - LATE_MS:
            return None
        known = self._before(sighting, stored)
        if known.item_ix.size == 0 or sighting.item in known.seen:
            return None
        lists = {
            name: own
            for name, model in models.items()
            if (own := model.ranked(known, stored.features)) is not None
        }
        if sighting.user_row[COUNT] > 0.0:
            lists["online"] = self._online(sighting, known.seen)
        lists["popular"] = _unseen(self._popular, known.seen)
        lists["trending"] = _unseen(self._trending, known.seen)
        ranks = {name: rank(ids, sighting.item) for name, (ids, _) in lists.items()}
        return Verdict(ranks, lists, known.item_ix.size)

    def _before(self, sighting: Sighting, stored: Stored) -> Preferences:
        """Return the preferences as of the commit before the event."""
        history = live(read_history(stored.history), stored.deleted)
        history = history[sequences(history) <= sighting.follows]
        read = preferences(
            history["item"],
            history["kind"],
            history["value"],
            sequences(history),
            self._reading,
        )
        trimmed = np.frombuffer(stored.trimmed, dtype="<u4")
        seen = np.union1d(read.seen, trimmed).astype(np.int32)
        return Preferences(read.item_ix, read.weight, read.target, seen)

    def _take(self, view: View) -> None:
        if view is not self._view:
            self._view = view
            self._model.load(view.state)
            self._popular = popularity.popular(view.counts)
            self._trending = popularity.trending(view.counts, self._half_life_ms)
            self._rated = view.items[:, COUNT] > 0.0
            times = view.counts[:, TIME]
            # one dated in the future would stop the judging until then
            self._newest_ms = times.max(initial=0.0, where=times <= time.time() * 1_000.0)

    def _online(self, sighting: Sighting, seen: I32) -> List:
        scores = self._model.scores(sighting.user_row, sighting.view.items).astype(np.float32)
        return _best(scores, seen, self._rated)


def rank(ids: I32, item: int) -> int:
    """Return the place of the item, from 1; 0 if it is not there."""
    places = np.flatnonzero(ids == item)
    return int(places[0]) + 1 if places.size else 0


def mixed_rank(verdict: Verdict, weights: Mapping[str, float], item: int) -> int:
    """Return the place of the item in all lists combined."""
    names = [name for name in verdict.lists if name in weights]
    ids, _ = combine([verdict.lists[n] for n in names], [weights[n] for n in names])
    return rank(ids[:DEPTH], item)


def _best(scores: F32, seen: I32, allowed: Mask) -> List:
    ids, best = empty(scores.size)
    if ids.size:
        scan.select(scores, seen, allowed, ids, best)
    return found(ids, best)


def _unseen(order: List, seen: I32) -> List:
    """Return the first of an order of all items that are not seen."""
    first = slice(0, DEPTH + seen.size)
    ids, scores = order[0][first], order[1][first]
    kept = np.flatnonzero(~np.isin(ids, seen))[:DEPTH]
    return ids[kept], scores[kept]
