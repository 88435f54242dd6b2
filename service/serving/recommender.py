"""Answers for askers: gathers what a slate is made of, has it made, gives the items their ids back.

Reading never changes anything. Where histories, vectors and ids are at hand an answer waits for nothing.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from core.batch.preferences import Preferences
from core.types import F32, I32
from service.ids import sequence_token
from service.ingest import now_ms
from service.rec_ids import Strategy
from service.serving.lineup import Lineups
from service.serving.rankers import NOTHING, Asker, Pool
from service.serving.slates import Slate, Wanted, slate
from service.serving.users import HistoryReading, Known, Users
from service.store.changes import ChangeFollower
from service.store.namespace import Namespace, partition_of
from service.store.numbers import ItemNumbers
from service.store.user_histories import HistoryAnswer

INLINE = 1 << 22
"""Elements of item factors that are scanned in the event loop; a larger scan gets a thread."""


_NONE: F32 = np.empty(0, np.float32)
NOBODY = Known(Preferences(NOTHING, _NONE, _NONE, NOTHING), 0, 0)
"""Somebody of whom nothing is known."""


@dataclass(frozen=True)
class Place:
    """Where a page ended."""

    strategy: Strategy
    versions: Mapping[str, str]
    """Of the models that rank, by strategy."""
    cut: int
    """The last event of the user that counts for the order."""
    shown: I32
    """Item numbers, rising."""


@dataclass(frozen=True)
class Asked:
    """One request for a slate."""

    wanted: Wanted
    user: str | None = None
    history: HistoryAnswer | None = None
    """Of somebody who is no user; nothing of it is kept."""
    exclude: Sequence[str] = ()
    candidates: Sequence[str] | None = None
    exclude_seen: bool = True
    after: Place | None = None


@dataclass(frozen=True)
class Answer:
    """A slate with the ids of its items."""

    slate: Slate
    ids: Sequence[str]
    seen_through: str
    time_ms: int
    place: Place | None
    """Where it ended; None at the end of the list."""


class Recommender:
    """Recommends from what this process follows: models, popularity, catalogue, histories."""

    def __init__(
        self,
        namespace: Namespace,
        *,
        lineups: Lineups,
        users: Users,
        reading: HistoryReading,
        numbers: ItemNumbers,
        changes: ChangeFollower,
    ) -> None:
        self._partitions = namespace.partitions
        self._lineups, self._users, self._reading = lineups, users, reading
        self._numbers, self._changes = numbers, changes

    async def recommend(self, asked: Asked) -> Answer:
        """Answer; an unknown user or item is never an error."""
        after, wanted = asked.after, asked.wanted
        lineup = self._lineups.current
        if after is not None:
            lineup = self._lineups.of_versions(after.versions)
            wanted = replace(wanted, model=after.strategy)
        now = await self._known(asked)
        known = now if after is None else await self._as_of(asked, now, after.cut)
        asker = Asker(known.preferences, known.vectors)
        pool = await self._pool(asked, now)
        if lineup.effort > INLINE:
            made = await asyncio.to_thread(slate, lineup, asker, pool, wanted)
        else:
            made = slate(lineup, asker, pool, wanted)
        if asked.user is not None:
            for version, vector in asker.made.items():
                self._users.remember(asked.user, known, version, vector)
        return Answer(
            made,
            await self._numbers.ids([pick.item for pick in made.picks]),
            self._seen_through(asked, now),
            now_ms(),
            _place(made, known.newest, after) if made.more else None,
        )

    async def _known(self, asked: Asked) -> Known:
        if asked.user is not None:
            return await self._users.get(asked.user)
        return self._reading.known(asked.history) if asked.history is not None else NOBODY

    async def _as_of(self, asked: Asked, now: Known, cut: int) -> Known:
        if asked.user is None or now.newest <= cut:
            return now
        return await self._users.as_of(asked.user, cut)

    async def _pool(self, asked: Asked, known: Known) -> Pool:
        left_out = [known.preferences.seen] if asked.exclude_seen else []
        if asked.exclude:
            left_out.append(await self._found(asked.exclude))
        if asked.after is not None:
            left_out.append(asked.after.shown)
        excluded = left_out[0] if len(left_out) == 1 else reduce(np.union1d, left_out, NOTHING)
        candidates = None
        if asked.candidates is not None:
            candidates = await self._found(asked.candidates)
        return Pool(excluded, candidates=candidates)

    async def _found(self, items: Sequence[str]) -> I32:
        """Return the numbers of the items that have one, rising."""
        numbers = await self._numbers.lookup(items)
        return np.unique(np.array([n for n in numbers if n is not None], np.int32))

    def _seen_through(self, asked: Asked, known: Known) -> str:
        if asked.user is None:
            concerned: Iterable[int] = range(self._partitions)
        else:
            concerned = (partition_of(asked.user, self._partitions),)
        # what is kept was not changed by anything that the feed has told
        return sequence_token(
            {p: max(known.watermark, self._changes.watermark(p)) for p in concerned}
        )


def _place(made: Slate, newest: int, after: Place | None) -> Place:
    shown = np.array([*made.skipped, *(pick.item for pick in made.picks)], np.int32)
    if after is not None:
        shown = np.concatenate([after.shown, shown])
    cut = newest if after is None else after.cut
    return Place(made.strategy, made.versions, cut, np.unique(shown))
