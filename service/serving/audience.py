"""The audience of an item: users with known features, ranked for it by a label model."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from core.errors import ConfigError
from core.features import of_item
from core.types import F32, F64
from service.errors import NotFound
from service.ranking.families import FAMILIES
from service.ranking.ranker import AudienceModel
from service.ranking.reasons import inactive
from service.ranking.strategies import Strategy
from service.serving.sources import Sources

MOST_CONSIDERED, PAGE = 10_000, 500
"""Largest number of users that one answer considers; number of users in one read."""
MOST_CHECKED, AT_ONCE = 2_000, 50
"""Largest number of histories checked for the item; number of histories read at once."""
REASONS = 3
"""Largest number of features that explain a member."""
KEPT, FRESH_S = 2, 120.0
"""Number of cached rankings (some megabytes each) for the following pages; their age in seconds."""

KnownBy = Literal["feedback", "features"]

FIRST = next(name for name, family in FAMILIES.items() if family.finds_audience)
"""The first family that can: a reason suggests it, and a cursor that names none means it."""


@dataclass(frozen=True)
class Member:
    """One user of an audience."""

    user: str
    score: float
    because: Sequence[tuple[str, float]]
    """Features and their contributions to the score, above those of the average user."""


class AudiencePosition(Struct, array_like=True, frozen=True):
    """The position where a page ended. Users are ranked in slices, in the order of their ids."""

    version: str
    """The version of the model."""
    after: str | None
    """The last user before the slice; None for the first slice."""
    until: str | None = None
    """The last user of the slice; None while the slice is unread."""
    score: float = 0.0
    """The score of the last member on the page or passed over."""
    user: str = ""
    """The id of this member."""
    strategy: Strategy = FIRST
    """The strategy of the model."""

    def is_behind(self, member: Member) -> bool:
        """Whether a member comes before the position; ids decide between equal scores, as bytes."""
        if self.until is None:
            return False
        if member.score != self.score:
            return member.score > self.score
        return member.user.encode() <= self.user.encode()


@dataclass(frozen=True)
class AudiencePage:
    """A page of an audience, the likeliest users first."""

    members: Sequence[Member]
    considered: int
    position: AudiencePosition | None
    """Position where it ended; None at the end of the list."""
    known_by: KnownBy | None
    model: AudienceModel | None
    reason: str | None
    """Why nobody was found."""


@dataclass(frozen=True)
class _Ranking:
    """The ranked users of a slice, the likeliest first."""

    made_at: float
    members: Sequence[Member]
    considered: int
    until: str | None
    """The last user of the slice."""
    more: bool
    """Whether more users may follow the slice."""


@dataclass(frozen=True)
class _Item:
    factors: F32
    known_by: KnownBy
    number: int | None = None


class Audience:
    """Answers from the active label model and the users' documents."""

    def __init__(
        self,
        sources: Sources,
        *,
        most_considered: int = MOST_CONSIDERED,
        page: int = PAGE,
    ) -> None:
        self._lineups, self._users = sources.lineups, sources.users
        self._numbers, self._catalogue = sources.numbers, sources.catalogue
        self._most_considered, self._page_size = most_considered, page
        self._rankings: OrderedDict[Hashable, _Ranking] = OrderedDict()

    async def find(
        self,
        item: str | None,
        document: Mapping[str, Any],
        k: int,
        *,
        exclude_seen: bool,
        after: AudiencePosition | None,
    ) -> AudiencePage:
        """Return the k users who would most like an item, given by its id or by a document.

        Raises NotFound for an unknown id, and CursorExpired if the model of ``after`` is gone.
        """
        number = None if item is None else await self._number(item)
        model = self._model(after)
        if model is None:
            return _nobody(None, inactive(FIRST))
        wanted = await self._item(model, number, document)
        if wanted is None:
            return _nobody(
                model,
                "the model knows neither this item nor any of its features: "
                "describe it as others are",
            )
        at = after or AudiencePosition(model.version, None, strategy=model.strategy)
        ranking = await self._ranking(model, wanted, at, of=(item, msgspec.json.encode(document)))
        if not ranking.considered and after is None and not ranking.more:
            return _nobody(
                model, "no user has features that the model knows: write users' documents"
            )
        members = [member for member in ranking.members if not at.is_behind(member)]
        hidden = number if exclude_seen else None
        shown, passed = await self._page(members, hidden, k)
        position = None
        if passed < len(members):
            last = members[passed - 1]
            position = replace(at, until=ranking.until, score=last.score, user=last.user)
        elif ranking.more:
            position = AudiencePosition(model.version, ranking.until, strategy=model.strategy)
        documents = await self._catalogue.users([member.user for member in shown])
        # a user may have been deleted since the ranking was made
        shown = [
            m for m, document in zip(shown, documents, strict=True) if document.body is not None
        ]
        return AudiencePage(shown, ranking.considered, position, wanted.known_by, model, None)

    def _model(self, after: AudiencePosition | None) -> AudienceModel | None:
        """Return the model of a position; for the first page an active one, if there is any."""
        if after is None:
            return self._lineups.current(None).audience()
        lineup = self._lineups.of_versions(None, {after.strategy: after.version})
        return lineup.audience(after.strategy)

    async def _ranking(
        self, model: AudienceModel, item: _Item, at: AudiencePosition, of: Hashable
    ) -> _Ranking:
        """Return the ranking of the slice at a position, from the cache if it is still there."""
        cached = self._rankings.get((model.version, at.after, at.until, of))
        if cached is not None and at.until and time.monotonic() - cached.made_at < FRESH_S:
            return cached
        some = await self._users_with_features(model, at)
        members = await asyncio.to_thread(_ranked, model, item, some) if some.users else []
        ranking = _Ranking(time.monotonic(), members, len(some.users), some.until, some.more)
        self._rankings[model.version, at.after, some.until, of] = ranking
        while len(self._rankings) > KEPT:
            self._rankings.popitem(last=False)
        return ranking

    async def _number(self, item: str) -> int:
        [number] = await self._numbers.lookup([item])
        if number is None:
            raise NotFound("there is no such item: write its document or send feedback")
        [document] = await self._catalogue.items([number])
        if document.deleted:
            raise NotFound("this item was deleted: write its document to restore it")
        return number

    async def _item(
        self, model: AudienceModel, number: int | None, document: Mapping[str, Any]
    ) -> _Item | None:
        known = model.model.known
        if number is not None and number < known.size and known[number]:
            return _Item(model.model.space.label_factors[0][number], "feedback", number)
        if number is not None:
            [stored] = await self._catalogue.items([number])
            document = stored.body or {}
        row = model.items.transform([of_item(document)])
        if not row.nnz:
            return None
        try:
            [factors] = model.model.factors_of(row)
        except ConfigError:
            return None
        return _Item(factors, "features", number)

    async def _users_with_features(self, model: AudienceModel, at: AudiencePosition) -> "_Slice":
        """Return the users of a slice whose features the model knows."""
        users: list[str] = []
        rows: list[Any] = []
        last, end = at.after, None if at.until is None else at.until.encode()
        n_read = 0
        while end is not None or n_read < self._most_considered:
            page = await self._catalogue.user_ids(last, self._page_size)
            inside = [user for user in page if end is None or user.encode() <= end]
            documents = await self._catalogue.users(inside)
            features = [(document.body or {}).get("features", {}) for document in documents]
            encoded = model.users.transform(features)
            known = np.flatnonzero(np.diff(encoded.indptr))
            users += [inside[at] for at in known.tolist()]
            rows.append(encoded[known])
            n_read += len(inside)
            last = inside[-1] if inside else last
            if len(inside) < len(page):
                return _Slice(users, rows, last, more=True)
            if len(page) < self._page_size:
                return _Slice(users, rows, last, more=False)
        return _Slice(users, rows, last, more=True)

    async def _page(
        self, members: Sequence[Member], number: int | None, k: int
    ) -> tuple[list[Member], int]:
        """Return the first k members who have not seen the item, and the number of members read."""
        if number is None:
            return list(members[:k]), k
        shown: list[Member] = []
        passed = 0
        for first in range(0, min(len(members), MOST_CHECKED), AT_ONCE):
            some = members[first : first + AT_ONCE]
            states = await asyncio.gather(*(self._users.get(member.user) for member in some))
            for member, state in zip(some, states, strict=True):
                if len(shown) < k:
                    passed += 1
                    shown += [] if number in state.preferences.seen else [member]
            if len(shown) == k:
                break
        return shown, passed


@dataclass(frozen=True)
class _Slice:
    """Users with features that the model knows, and these features in sparse rows."""

    users: Sequence[str]
    rows: Sequence[Any]
    until: str | None
    """The last user that was read."""
    more: bool
    """Whether more users may follow."""


def _ranked(model: AudienceModel, item: _Item, some: _Slice) -> list[Member]:
    users = some.users
    pages = [model.model.audience(item.factors, row) for row in some.rows if row.shape[0]]
    scores = np.concatenate([score for score, _ in pages])
    names = model.users.names
    sums = [_by_name(contributions, names) for _, contributions in pages]
    contributions: F64 = np.concatenate([summed for _, summed in sums])
    # a feature that all users share explains nothing
    contributions -= contributions.mean(axis=0)
    order = np.lexsort((np.arange(scores.size), -scores))
    return [
        Member(users[at], float(scores[at]), _largest(sums[0][0], contributions[at]))
        for at in order.tolist()
    ]


def _by_name(contributions: Any, names: Sequence[str]) -> tuple[list[str], F64]:
    """Return the names of the features, and the sum of contributions by name, (users, names)."""
    distinct = sorted(set(names))
    column_of = {name: at for at, name in enumerate(distinct)}
    summed = np.zeros((contributions.shape[0], len(distinct)))
    rows = np.repeat(np.arange(contributions.shape[0]), np.diff(contributions.indptr))
    columns = np.array([column_of[name] for name in names])[contributions.indices]
    np.add.at(summed, (rows, columns), contributions.data)
    return distinct, summed


def _largest(names: Sequence[str], contributions: F64) -> list[tuple[str, float]]:
    best = np.argsort(-contributions, kind="stable")[:REASONS]
    return [
        (names[at], float(contributions[at])) for at in best.tolist() if contributions[at] > 0.0
    ]


def _nobody(model: AudienceModel | None, reason: str) -> AudiencePage:
    return AudiencePage([], 0, None, None, model, reason)
