"""Topics of the catalogue, and the share of each in what a user likes.

They are made of the item vectors of one active model, in a thread, when the first request after its
activation asks; requests that come meanwhile wait for the same task.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.topics.grouping import Topics, topics_of
from core.topics.naming import typical_terms
from core.types import F32, I32
from service.ids import sequence_token
from service.ranking.lineup import Lineup
from service.ranking.ranker import Ranker
from service.ranking.reasons import INDIFFERENT, NO_TOPICS, UNKNOWN
from service.serving.sources import Sources
from service.store.clock import now_ms
from service.store.partitions import partition_of

LISTED = 20
"""Most items that are listed for a topic."""
OWN = 5
"""Most items of a user that are listed for a topic."""
FRESH_S = 60.0
"""Age in seconds after which names and lists are made again, although no document changed."""


@dataclass(frozen=True)
class Topic:
    """One topic as it may be shown now."""

    number: int
    terms: Sequence[str]
    """What is typical of it by its documents; empty where they say nothing."""
    share: float
    """Its share in what people took."""
    n_items: int
    items: Sequence[tuple[str, float]]
    """Its most typical items that may be shown, and how typical they are."""


@dataclass(frozen=True)
class UserTopic:
    """The share of one topic in what a user likes."""

    topic: Topic
    share: float
    items: Sequence[str]
    """Items of the user in it, those with the largest weight first."""


@dataclass(frozen=True)
class Found:
    """Topics, and the model that they are made of; without a model there are none."""

    topics: Sequence[Topic] = ()
    model: Ranker | None = None
    reason: str | None = NO_TOPICS


@dataclass(frozen=True)
class OfUser:
    """The topics of a user, those with the largest share first."""

    topics: Sequence[UserTopic]
    model: Ranker | None
    seen_through: str
    reason: str | None


@dataclass(frozen=True, eq=False)
class _Made:
    """The topics of one model, with lists and names as of one version of the catalogue."""

    model: Ranker
    topics: Topics
    catalogue: int
    """The newest change of the catalogue that lists and names reflect."""
    made_at: float
    listed: Sequence[Topic]


class CatalogueTopics:
    """Makes the topics of the current model, and keeps them until model or documents change."""

    def __init__(self, sources: Sources) -> None:
        self._lineups, self._users, self._numbers = sources.lineups, sources.users, sources.numbers
        self._view, self._catalogue = sources.view, sources.catalogue
        self._popularity, self._changes = sources.popularity, sources.changes
        self._partitions = sources.namespace.partitions
        self._made: _Made | None = None
        self._making: asyncio.Task[_Made] | None = None

    async def all(self) -> Found:
        """Return the topics, the one that most people like first."""
        made = await self._current(self._lineups.current(None))
        return Found() if made is None else Found(made.listed, made.model, None)

    async def of_user(self, user: str) -> OfUser:
        """Return the topics of a user; none for a user about whom nothing is known."""
        partition = partition_of(user, self._partitions)
        state = await self._users.get(user)
        through = max(state.watermark, self._changes.watermark(partition))
        seen = sequence_token({partition: through})
        made = await self._current(self._lineups.current(partition))
        if made is None:
            return OfUser((), None, seen, NO_TOPICS)
        liked = state.preferences.target > 0.0
        items, weight = state.preferences.item_ix[liked], state.preferences.weight[liked]
        shares, placed = made.topics.shares(items, weight)
        if not placed.size:
            known = state.preferences.seen.size and not items.size
            return OfUser((), made.model, seen, INDIFFERENT if known else UNKNOWN)
        # heaviest first; among equals the most typical
        strength = made.topics.strength[placed]
        order = np.lexsort((placed, -strength, -weight[np.isin(items, placed)]))
        own = await self._own(made.topics, placed[order])
        found = [
            UserTopic(topic, float(shares[topic.number]), own[topic.number])
            for topic in made.listed
            if shares[topic.number] > 0.0
        ]
        return OfUser(sorted(found, key=lambda one: -one.share), made.model, seen, None)

    async def close(self) -> None:
        """Stop the background task."""
        if self._making is not None:
            self._making.cancel()
            await asyncio.wait([self._making])

    async def _own(self, topics: Topics, items: I32) -> Mapping[int, Sequence[str]]:
        of = topics.topic[items]
        first = [items[of == number][:OWN] for number in range(len(topics.members))]
        names = iter(await self._numbers.ids(np.concatenate(first).tolist()))
        return {number: [next(names) for _ in own] for number, own in enumerate(first)}

    async def _current(self, lineup: Lineup) -> _Made | None:
        model = _model_of(lineup)
        if model is None:
            return None
        while not self._holds(model):
            if self._making is None or self._making.done():
                self._making = asyncio.create_task(self._make(model))
            # a caller may be cancelled; the task continues for the others
            self._made = await asyncio.shield(self._making)
            if self._made.model.version == model.version:
                break
        return self._made

    def _holds(self, model: Ranker) -> bool:
        made = self._made
        return (
            made is not None
            and made.model.version == model.version
            and made.catalogue == self._view.current.version
            and time.monotonic() - made.made_at < FRESH_S
        )

    async def _make(self, model: Ranker) -> _Made:
        made, version = self._made, self._view.current.version
        if made is None or made.model.version != model.version:
            taken = await self._taken(len(model.item_vectors))
            topics = await asyncio.to_thread(_grouped, model.item_vectors, taken)
        else:
            topics = made.topics
        shown = self._view.current.mask(now_ms(), len(topics.topic))
        members = [items[shown[items]] for items in topics.members]
        listed = [items[:LISTED].tolist() for items in members]
        numbers = [number for items in listed for number in items]
        ids = dict(zip(numbers, await self._numbers.ids(numbers), strict=True))
        terms = await self._terms(listed)
        found = [
            Topic(
                number=number,
                terms=terms[number],
                share=float(topics.share[number]),
                n_items=members[number].size,
                items=[(ids[item], float(topics.strength[item])) for item in items],
            )
            for number, items in enumerate(listed)
        ]
        return _Made(model, topics, version, time.monotonic(), found)

    async def _taken(self, n_items: int) -> F32:
        if not self._popularity.current.seen_through:
            await self._popularity.refresh()
        items, weight = self._popularity.current.popular
        taken = np.zeros(n_items, np.float32)
        taken[items[items < n_items]] = weight[items < n_items]
        return taken

    async def _terms(self, listed: Sequence[Sequence[int]]) -> list[list[str]]:
        numbers = [number for items in listed for number in items]
        documents = iter(await self._catalogue.items(numbers))
        groups: list[list[Mapping[str, Any]]] = [
            [next(documents).body or {} for _ in items] for items in listed
        ]
        # in a thread: long texts take a moment
        return await asyncio.to_thread(typical_terms, groups)


def _grouped(vectors: F32, taken: F32) -> Topics:
    """Return the topics of items, their members sorted: that too takes long for many items."""
    topics = topics_of(vectors, taken)
    _ = topics.members
    return topics


def _model_of(lineup: Lineup) -> Ranker | None:
    """Return the model whose vectors say best what the same people like: the first by number."""
    return next(
        (one for one in lineup.trained if one.family.reads_history and one.item_vectors.size), None
    )
