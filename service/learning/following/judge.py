"""Judge the rankers by one positive: rank the items of a slate, and return the rank of its item.

Rankers, lists and their mixture are those of a slate (``service.ranking``), and so are the items:
those that may be shown now and that the user has not seen. Each ranker gets what an api process
could have known just before: the stored history, the online rows and the counters up to the commit
before the event. An event cannot test a model that was trained on it. It tests nothing if it
arrives long after it happened: rankers may then have learned later events of the user.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from core.batch.preferences import Preferences, preferences
from core.batch.takers import NOBODY, Takers
from core.kernels.count import TIME
from core.meaning import EventMeanings
from core.mixture import mixed
from core.mixture_weights import DEPTH, Weights
from core.online.model import OnlineModel
from core.online.tables import COUNT
from core.stack.arms import FUSION, STACK, Arms
from core.stack.choices import Choice as Candidate
from core.types import I32
from service.learning.following.inbox import Sighting
from service.learning.following.states import states_of
from service.learning.following.views import View, nothing_learned
from service.ranking.asker import Asker
from service.ranking.lineup import Lineup
from service.ranking.pool import Pool
from service.ranking.ranker import Listed, Ranker
from service.ranking.slates.choice import choose, feature_vectors, heard, weighed
from service.ranking.slates.wanted import Wanted
from service.ranking.stack import candidates_of, signal_names
from service.ranking.strategies import MIXTURE, Strategy
from service.ranking.trained.folded_items import FoldedItems
from service.ranking.untrained.state import rankers_of
from service.settings import Settings
from service.store.catalogue.columns import Catalogued
from service.store.clock import now_ms
from service.store.profiles.contexts import context_of
from service.store.profiles.histories import Numbers, Records
from service.store.profiles.history_record import columns

LATE_MS = 86_400_000
"""Largest age of a judged event, relative to the newest known event, in milliseconds."""


@dataclass(frozen=True)
class StoredUser:
    """The user of a sighting in the store, read at any time after the event."""

    records: Records
    """The history, except records of deleted items; events after the sighting are left out."""
    trimmed: Numbers
    """Items that count as seen, though no record names them any longer."""
    features: Mapping[str, Any] = field(default_factory=dict)
    """Features in the user's document."""


@dataclass(frozen=True)
class Verdict:
    """The rank of the item in each list, counted from 1; 0: not among the first ``DEPTH``.

    A ranker that does not know the user has no list.
    """

    ranks: Mapping[Strategy, int]
    mixed: int
    """Rank of the item in the list of a mixed slate."""
    n_known: int
    """Number of preferences of the user."""
    combined: Mapping[str, int] = field(default_factory=dict)
    """Rank of the item in the fusion of the lists, and in the stack if there is one."""
    candidate: Candidate | None = None
    """The event as a stack learns from it."""
    signals: Sequence[str] = ()
    """Names of the candidates' signals."""


class Judge:
    """Judges sightings; it caches the rankers of the last view, as most sightings share a view."""

    def __init__(
        self, settings: Settings, model: OnlineModel, meanings: EventMeanings, partition: int
    ) -> None:
        self._model, self._partition = model, partition
        self._meanings = meanings
        self._half_life_ms = settings.trending_half_life_h * 3_600_000
        self._folded = FoldedItems()
        self._take(nothing_learned(model))

    @property
    def versions(self) -> Mapping[Strategy, str]:
        """Return the versions of the rankers without training; no event changes them."""
        return {ranker.strategy: ranker.version for ranker in self._untrained}

    def judge(
        self,
        sighting: Sighting,
        stored: StoredUser,
        trained: Iterable[Ranker],
        weights: Weights = Weights(),  # noqa: B008 - frozen
        arms: Arms = Arms(),  # noqa: B008 - frozen
        *,
        items: Catalogued,
        takers: Takers = NOBODY,
    ) -> Verdict | None:
        """Return the ranks; None if the event is not a test. ``takers`` are as of the view.

        An event is not a test if it is late, if the user has seen the item or has no preferences,
        if the item may not be shown, or if a model that is judged was trained on it.
        """
        if not sighting.view.watermark <= sighting.follows < sighting.sequence:
            raise ValueError("a sighting holds what came after its event")
        models = list(trained)
        judged = [model for model in models if model.family.judged]
        if any(self._through(model) >= sighting.sequence for model in judged):
            return None
        if sighting.view is not self._view:
            self._take(sighting.view)
        if sighting.time_ms < self._newest_ms - LATE_MS:
            return None
        known = preferences(
            columns(stored.records),
            self._meanings,
            trimmed=stored.trimmed,
            through=sighting.follows,
        )
        if known.item_ix.size == 0 or sighting.item in known.seen:
            return None
        self._folded = self._folded.refreshed(models, takers)
        models = [self._folded.with_folded(model) for model in models]
        lineup = Lineup([*models, *self._untrained], weights, arms)
        allowed = items.mask(now_ms(), max(lineup.n_items, sighting.item + 1))
        if not allowed[sighting.item]:
            return None  # no slate could have shown it
        asker = _asker(lineup, known, sighting, stored)
        return _verdict(lineup, asker, Pool(allowed, known.seen), sighting.item)

    def _through(self, model: Ranker) -> int:
        return model.trained_through.get(self._partition, 0)

    def _take(self, view: View) -> None:
        self._view = view
        states = states_of(view, self._model, self._partition, half_life_ms=self._half_life_ms)
        self._untrained = rankers_of(states, self._partition)
        times = view.counts[:, TIME]
        # ignore future times: otherwise all events would count as late until then
        self._newest_ms = times.max(initial=0.0, where=times <= now_ms())


def _verdict(lineup: Lineup, asker: Asker, pool: Pool, item: int) -> Verdict:
    every = [*lineup.mixed.values(), *lineup.everybodys.values()]
    able = [one for one in every if one.family.for_everybody or one.knows(asker)]
    lists = {one.strategy: one.mixing_list(asker, pool, DEPTH) for one in able}
    ranks = {strategy: rank(listed.items, item) for strategy, listed in lists.items()}
    found, n = candidates_of(every, lists, asker, pool), asker.preferences.item_ix.size
    choice = choose(lineup, asker, Wanted(k=DEPTH, model=MIXTURE))
    combined = {FUSION: rank(_fused(lineup, choice.able, lists, asker), item)}
    stack = lineup.stack(choice.able)
    if stack is not None and n:
        order = stack.order(found.of(every, stack.rankers, lists, asker, pool), n)
        combined[STACK] = rank(order[:DEPTH], item)
    return Verdict(
        ranks={one.strategy: ranks[one.strategy] for one in able if one.family.judged},
        mixed=(ranks | combined)[choice.arm],
        n_known=n,
        combined=combined,
        candidate=found.taken(item, n),
        signals=signal_names(every),
    )


def _fused(
    lineup: Lineup, able: Sequence[Ranker], lists: Mapping[Strategy, Listed], asker: Asker
) -> I32:
    rankers, weights = weighed(lineup, able, asker)
    return mixed([lists[one.strategy].ranked for one in rankers], weights, DEPTH)[0]


def rank(items: I32, item: int) -> int:
    """Return the position of an item in a list, from 1; 0 if it is not there."""
    at = np.flatnonzero(items == item)
    return int(at[0]) + 1 if at.size else 0


def _asker(lineup: Lineup, known: Preferences, sighting: Sighting, stored: StoredUser) -> Asker:
    has_rated = sighting.user_row[COUNT] > 0.0
    asker = Asker(
        preferences=known,
        row=sighting.user_row if has_rated else None,
        context=context_of(sighting.context.decode(errors="replace")),
    )
    readers = heard(lineup.feature_readers, asker) if stored.features else []
    if not readers:
        return asker
    return msgspec.structs.replace(asker, features=feature_vectors(readers, stored.features))
