"""Answer requests for slates: gather the input, make the slate, translate numbers back to ids.

An answer changes nothing in the store. If history, vectors and ids are cached, it waits for
nothing.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from core.meaning import EventMeanings
from core.types import F32, I32
from service.errors import NotFound, StoreUnavailable
from service.ids import sequence_token
from service.ranking.asker import NOBODY as NOBODY_ASKS
from service.ranking.asker import Asker
from service.ranking.lineup import Lineup
from service.ranking.pool import NOTHING, Pool
from service.ranking.ranker import Ranker
from service.ranking.reasons import UNCATEGORIZED, UNKNOWN, and_, uncompared, unknown
from service.ranking.slates.choice import feature_vectors, heard
from service.ranking.slates.slate import Slate, similar, slate
from service.ranking.slates.wanted import Wanted
from service.ranking.strategies import Strategy
from service.serving.asked import Answer, Asked, position_after
from service.serving.empty_answers import empty, no_category
from service.serving.neighbours import Neighbours
from service.serving.sources import Sources
from service.serving.standing import Standing
from service.serving.turns import INLINE, let_others_run
from service.serving.user_state import UserState, state_of
from service.serving.warm_up import rank_once
from service.store.clock import now_ms
from service.store.partitions import partition_of

NOBODY = UserState(NOBODY_ASKS.preferences, 0, 0)
"""The state of an asker about whom nothing is known."""


class LikeUsers(NamedTuple):
    """Users with similar vectors, the most similar first."""

    model: Ranker | None
    users: Sequence[tuple[str, float]]
    seen_through: str
    reason: str | None = None
    """Why there are no such users."""


class Recommender:
    """Recommends from the copies in memory: models, popularity, catalogue, histories."""

    def __init__(self, sources: Sources, meanings: EventMeanings) -> None:
        self._partitions, self._meanings = sources.namespace.partitions, meanings
        self._lineups, self._users, self._changes = sources.lineups, sources.users, sources.changes
        self._numbers, self._catalogue = sources.numbers, sources.catalogue
        self._view, self._new_items = sources.view, sources.new_items
        self._neighbours = Neighbours(sources.users)
        self._warm = asyncio.Event()

    @property
    def warm(self) -> bool:
        """Whether the kernels are compiled."""
        return self._warm.is_set()

    async def warm_up(self) -> None:
        """Compile the kernels, or load them from numba's cache, in a thread."""
        await asyncio.to_thread(rank_once)
        self._warm.set()

    async def recommend(self, asked: Asked) -> Answer:
        """Recommend items to an asker; an unknown user or item is never an error."""
        await self._warm.wait()
        after, wanted = asked.after, asked.wanted
        lineup = self._lineup(asked)
        if after is not None:
            wanted = replace(wanted, resumed=after.strategy)
        now = await self._known(asked)
        seen_through = self._seen_through(asked, now)
        known = now if after is None else await self._as_of(asked, now, after.seen_through)
        # the pool excludes what was seen up to now; results for an earlier moment are not cached
        cacheable = known is now and asked.user is not None and asked.exclude_seen
        heads = known.heads if cacheable and self._users.keeps else None
        asker = Asker(
            preferences=known.preferences,
            vectors=known.vectors,
            heads=heads,
            warmed=known.warmed,
            row=now.row,
            context=asked.context,
        )
        readers = heard(lineup.feature_readers, asker, wanted.model)
        if readers:
            asker = replace(asker, features=await self._feature_vectors(asked, readers))
        named = None if wanted.model is None else lineup.models.get(wanted.model)
        able = [*lineup.models.values()] if named is None else [named]
        if (lineup.trained or named is not None) and not any(r.knows(asker) for r in able):
            asker = replace(asker, unknown=await self._unknown(asked, known, named))
        categories = self._view.current.categories
        new = self._new_items.exploration(asked.user, now_ms())
        made = await self._made(
            asked,
            now,
            lineup,
            lambda pool: slate(lineup, asker, pool, wanted, categories, exploration=new),
            n_items=0 if new is None else new.n_items,
        )
        if asked.user is not None and self._users.keeps and made.slate.made:
            self._users.remember(asked.user, known, made.slate.made)
        answer = await self._answer(asked, made, seen_through, known)
        # features may change without an event
        if heads is None or readers or not asked.plain:
            return answer
        placed = new is not None and new.explores(asked.wanted, made.chosen.pool)
        standing = Standing.of(made.slate, made.chosen.edition, new, placed=placed)
        return replace(answer, state=known, standing=standing)

    async def similar(self, item: str, asked: Asked) -> Answer:
        """Return the items similar to an item; raise NotFound if it is unknown or deleted."""
        await self._warm.wait()
        [number] = await self._numbers.lookup([item])
        if number is None:
            raise NotFound("there is no such item: write its document or send feedback")
        if await self._is_deleted(number):
            raise NotFound("this item was deleted: write its document to restore it")
        lineup = self._lineup(asked)
        known = await self._known(asked)
        seen_through = self._seen_through(asked, known)
        asked = replace(asked, item=item)
        made = await self._made(
            asked, known, lineup, lambda pool: similar(lineup, number, pool, asked.wanted)
        )
        return await self._answer(asked, made, seen_through, known)

    async def similar_users(self, user: str, k: int, model: Strategy | None) -> LikeUsers:
        """Return the users most similar to a user; none if no model knows the user."""
        await self._warm.wait()
        asked = Asked(Wanted(k, model=model), user=user)
        known = await self._known(asked)
        asker, seen = Asker(known.preferences, known.vectors), self._seen_through(asked, known)
        rankers = [
            ranker
            for ranker in self._lineup(asked).models.values()
            if ranker.family.compares_users and model in {None, ranker.strategy}
        ]
        for ranker in rankers:
            if ranker.knows(asker):
                nearest = await self._neighbours.nearest(ranker, user, asker, k)
                return LikeUsers(ranker, nearest, seen)
        return LikeUsers(None, [], seen, UNKNOWN if rankers else uncompared(model))

    async def close(self) -> None:
        """Stop the background tasks."""
        await self._neighbours.close()

    def _lineup(self, asked: Asked) -> Lineup:
        partition = None if asked.user is None else partition_of(asked.user, self._partitions)
        if asked.after is None:
            return self._lineups.current(partition)
        return self._lineups.of_versions(partition, asked.after.versions)

    async def _made(
        self,
        asked: Asked,
        known: UserState,
        lineup: Lineup,
        make: Callable[[Pool], Slate],
        *,
        n_items: int = 0,
    ) -> "_SlateAndPool":
        wanted, n_preferences = asked.wanted, known.preferences.item_ix.size
        in_thread = max(lineup.effort, wanted.effort(n_preferences)) > INLINE
        n_items = max(n_items, lineup.n_items)
        while True:
            chosen = await self._pool(asked, known, n_items)
            if asked.candidates is not None:
                await let_others_run(len(asked.candidates))
            pool = chosen.pool
            made = await asyncio.to_thread(make, pool) if in_thread else make(pool)
            if made.more or asked.candidates is not None:
                return _SlateAndPool(made, chosen)
            # there may be newer items that no ranker knows yet
            n_items, before = max(n_items, await self._count()), n_items
            if n_items == before:
                return _SlateAndPool(made, chosen)

    async def _answer(
        self, asked: Asked, made: "_SlateAndPool", seen_through: str, known: UserState
    ) -> Answer:
        slate, chosen = made.slate, made.chosen
        if not slate.picks and asked.after is None:
            items = self._view.current
            why = empty(asked, slate, chosen.pool, known.preferences.seen, items)
            if asked.category is not None and items.has_categories:
                # in a thread: the names of a large catalogue take a moment
                why = and_(why, await asyncio.to_thread(no_category, items, asked.category))
            slate = replace(slate, reason=and_(slate.reason, why))
        by_category = asked.category is not None or asked.wanted.max_per_category is not None
        if by_category and not self._view.current.has_categories:
            slate = replace(slate, reason=and_(slate.reason, UNCATEGORIZED))
        await let_others_run(len(slate.picks))
        return Answer(
            slate=slate,
            ids=await self._numbers.ids([pick.item for pick in slate.picks]),
            seen_through=seen_through,
            time_ms=chosen.pool.time_ms,
            removed=chosen.removed,
            unknown=chosen.unknown,
            position=position_after(slate, known.newest, asked.after) if slate.more else None,
            because=None if slate.because is None else await self._named(slate.because),
        )

    async def _named(
        self, because: Sequence[Sequence[tuple[int, float]]]
    ) -> list[list[tuple[str, float]]]:
        numbers = sorted({item for reasons in because for item, _ in reasons})
        ids = dict(zip(numbers, await self._numbers.ids(numbers), strict=True))
        return [[(ids[item], share) for item, share in reasons] for reasons in because]

    async def _known(self, asked: Asked) -> UserState:
        if asked.user is not None:
            return await self._users.get(asked.user)
        return state_of(asked.history, self._meanings) if asked.history is not None else NOBODY

    async def _as_of(self, asked: Asked, now: UserState, seen_through: int) -> UserState:
        if asked.user is None or now.newest <= seen_through:
            return now
        return await self._users.as_of(asked.user, seen_through)

    async def _feature_vectors(self, asked: Asked, models: Sequence[Ranker]) -> dict[str, F32]:
        """Return the asker's feature vectors by version, for models for which features matter."""
        features = await self._features(asked)
        return feature_vectors(models, features) if features else {}

    async def _features(self, asked: Asked) -> Mapping[str, Any] | None:
        if asked.features is not None or asked.user is None:
            return asked.features
        try:
            [document] = await self._catalogue.users([asked.user])
        except StoreUnavailable:
            return None
        features: Mapping[str, Any] | None = (document.body or {}).get("features")
        return features

    # what the store would add to what is in memory; while it is away, memory must do

    async def _count(self) -> int:
        try:
            return await self._numbers.count()
        except StoreUnavailable:
            # items that no ranker knows yet may be listed as far as they can be named
            return self._numbers.held

    async def _is_deleted(self, number: int) -> bool:
        try:
            [document] = await self._catalogue.items([number])
        except StoreUnavailable:
            return False
        return document.deleted

    async def _unknown(self, asked: Asked, known: UserState, named: Ranker | None) -> str:
        features = bool(await self._features(asked))
        return unknown(
            named,
            known.preferences,
            features=features,
            posted=asked.history is not None,
            anonymous=asked.user is None,
            feature_readers=self._lineup(asked).feature_readers,
        )

    async def _pool(self, asked: Asked, known: UserState, n_items: int) -> "_Choice":
        left_out = [known.preferences.seen] if asked.exclude_seen else []
        exclude = asked.exclude if asked.item is None else [*asked.exclude, asked.item]
        unknown: dict[str, Sequence[str]] = {"history": asked.unknown}
        if exclude:
            numbers, unknown["exclude"] = await self._numbers_of(exclude)
            left_out.append(numbers)
        if asked.after is not None:
            left_out.append(np.array(asked.after.shown, np.int32))
        excluded = left_out[0] if len(left_out) == 1 else reduce(np.union1d, left_out, NOTHING)
        candidates = None
        if asked.candidates is not None:
            candidates, unknown["candidates"] = await self._numbers_of(asked.candidates)
            n_items = max(n_items, int(candidates.max(initial=-1)) + 1)
        items = self._view.current
        if asked.filter is not None:
            items = await self._view.covering(asked.filter)
        time_ms = now_ms()
        allowed, edition, reopened = items.shown(time_ms, n_items)
        narrowed = asked.category is not None or asked.filter is not None
        if asked.category is not None:
            allowed = allowed & items.category(asked.category, n_items)
        before = Pool(allowed, excluded, candidates, None if narrowed else reopened, time_ms)
        if asked.filter is None:
            return _Choice(before, edition, 0, unknown)
        pool = replace(before, allowed=allowed & items.filter(asked.filter, n_items))
        return _Choice(pool, edition, before.size - pool.size, unknown)

    async def _numbers_of(self, items: Sequence[str]) -> tuple[I32, Sequence[str]]:
        """Return the numbers of the items that have one, ascending, and the other items."""
        numbers = await self._numbers.lookup(items)
        known = np.unique(np.array([n for n in numbers if n is not None], np.int32))
        pairs = zip(items, numbers, strict=True) if None in numbers else ()
        return known, list(dict.fromkeys(item for item, number in pairs if number is None))

    def _seen_through(self, asked: Asked, known: UserState) -> str:
        """Return the token of the events that the answer takes into account.

        Call it before anything is awaited: only then is a cached user as new as the watermark.
        """
        if asked.user is None:
            return sequence_token({p: self._changes.watermark(p) for p in range(self._partitions)})
        partition, through = partition_of(asked.user, self._partitions), known.watermark
        if self._users.holds(asked.user, known):
            through = max(through, self._changes.watermark(partition))
        return sequence_token({partition: through})


class _Choice(NamedTuple):
    """The items to choose from."""

    pool: Pool
    edition: int
    """Of the items that are shown."""
    removed: int
    """Number of items that the filter left out."""
    unknown: Mapping[str, Sequence[str]]
    """Ids without a number, by the part of the request that names them."""


class _SlateAndPool(NamedTuple):
    """A slate, and the items from which it was chosen."""

    slate: Slate
    chosen: _Choice
