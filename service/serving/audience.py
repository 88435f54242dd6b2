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

from core.errors import ConfigError
from core.features import of_item
from core.types import F32, F64
from service.errors import NotFound
from service.ranking.families import FAMILIES
from service.ranking.ranker import AudienceModel
from service.ranking.reasons import inactive
from service.serving.lineups import Lineups
from service.serving.users import Users
from service.store.catalogue.documents import Catalogue
from service.store.catalogue.numbers import ItemNumbers

MOST_CONSIDERED, PAGE = 10_000, 500
"""Users of one answer, and of one read."""
MOST_CHECKED, AT_ONCE = 2_000, 50
"""Histories that are looked at to leave out who has seen the item; those of one round."""
REASONS = 3
KEPT, FRESH_S = 2, 120.0
"""Rankings of a part that stay for the pages that follow, some megabytes each; and for how long."""

KnownBy = Literal["feedback", "features"]

_STRATEGY = next(name for name, family in FAMILIES.items() if family.finds_audience)


@dataclass(frozen=True)
class Member:
    """One user of an audience."""

    user: str
    score: float
    because: Sequence[tuple[str, float]]
    """Features that speak for the user more than for others, and how much."""


class AudiencePosition(Struct, array_like=True, frozen=True):
    """Where a page ended: users are considered slice by slice, in the order of their ids."""

    version: str
    """The version of the model."""
    after: str | None
    """The user before the slice; None: it is the first."""
    until: str | None = None
    """The last user of the slice; None: it has not been read."""
    score: float = 0.0
    """The score of the last user that was passed."""
    user: str = ""

    def is_behind(self, member: Member) -> bool:
        """Whether a member was passed; equal scores are in the order of the ids' bytes."""
        if self.until is None:
            return False
        if member.score != self.score:
            return member.score > self.score
        return member.user.encode() <= self.user.encode()


@dataclass(frozen=True)
class Found:
    """A page of an audience, the likeliest first."""

    members: Sequence[Member]
    considered: int
    position: AudiencePosition | None
    """Where it ended; None at the end of the list."""
    known_by: KnownBy | None
    model: AudienceModel | None
    reason: str | None
    """Why nobody was found."""


@dataclass(frozen=True)
class _Ranking:
    """A part, the likeliest users first."""

    made_at: float
    members: Sequence[Member]
    considered: int
    until: str | None
    """The last user that was looked at."""
    more: bool
    """Whether users may follow."""


@dataclass(frozen=True)
class _Item:
    factors: F32
    known_by: KnownBy
    number: int | None = None


class Audience:
    """Answers from the active label model and the users' documents."""

    def __init__(
        self,
        lineups: Lineups,
        users: Users,
        numbers: ItemNumbers,
        catalogue: Catalogue,
        *,
        most_considered: int = MOST_CONSIDERED,
        page: int = PAGE,
    ) -> None:
        self._lineups, self._users = lineups, users
        self._numbers, self._catalogue = numbers, catalogue
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
    ) -> Found:
        """Return the k users who would like an item most, given by its id or by a document.

        Raises NotFound for an unknown id, CursorExpired if the model of ``after`` is gone.
        """
        number = None if item is None else await self._number(item)
        lineup = (
            self._lineups.of_versions(None, {_STRATEGY: after.version})
            if after
            else self._lineups.current(None)
        )
        model = lineup.audience
        if model is None:
            return _nobody(None, inactive(_STRATEGY))
        wanted = await self._item(model, number, document)
        if wanted is None:
            return _nobody(
                model,
                "the model knows neither this item nor any of its features: "
                "describe it as others are",
            )
        at = after or AudiencePosition(model.version, None)
        part = await self._ranking(model, wanted, at, of=(item, msgspec.json.encode(document)))
        if not part.considered and after is None and not part.more:
            return _nobody(
                model, "no user has features that the model knows: write users' documents"
            )
        members = [member for member in part.members if not at.is_behind(member)]
        hidden = number if exclude_seen else None
        shown, passed = await self._page(members, hidden, k)
        position = None
        if passed < len(members):
            last = members[passed - 1]
            position = AudiencePosition(model.version, at.after, part.until, last.score, last.user)
        elif part.more:
            position = AudiencePosition(model.version, part.until)
        here = await self._catalogue.users([member.user for member in shown])
        # the ranking may be older than a deletion
        shown = [member for member, one in zip(shown, here, strict=True) if one.body is not None]
        return Found(shown, part.considered, position, wanted.known_by, model, None)

    async def _ranking(
        self, model: AudienceModel, item: _Item, at: AudiencePosition, of: Hashable
    ) -> _Ranking:
        """Return the slice at a position, the cached one of the last page if it is still there."""
        kept = self._rankings.get((model.version, at.after, at.until, of))
        if kept is not None and at.until and time.monotonic() - kept.made_at < FRESH_S:
            return kept
        part = await self._described_users(model, at)
        members = await asyncio.to_thread(_ranked, model, item, part) if part.users else []
        made = _Ranking(time.monotonic(), members, len(part.users), part.until, part.more)
        self._rankings[model.version, at.after, part.until, of] = made
        while len(self._rankings) > KEPT:
            self._rankings.popitem(last=False)
        return made

    async def _number(self, item: str) -> int:
        [number] = await self._numbers.lookup([item])
        if number is None:
            raise NotFound("there is no such item: nothing was ever said of it")
        [document] = await self._catalogue.items([number])
        if document.deleted:
            raise NotFound("there is no such item any more: it was deleted")
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

    async def _described_users(self, model: AudienceModel, at: AudiencePosition) -> "_Slice":
        """Return the users of a slice whose features the model knows."""
        users: list[str] = []
        rows: list[Any] = []
        last, end = at.after, None if at.until is None else at.until.encode()
        looked = 0
        while end is not None or looked < self._most_considered:
            page = await self._catalogue.user_ids(last, self._page_size)
            own = [user for user in page if end is None or user.encode() <= end]
            documents = await self._catalogue.users(own)
            row = model.users.transform([(one.body or {}).get("features", {}) for one in documents])
            says = np.flatnonzero(np.diff(row.indptr))
            users += [own[at] for at in says.tolist()]
            rows.append(row[says])
            looked += len(own)
            last = own[-1] if own else last
            if len(own) < len(page):
                return _Slice(users, rows, last, more=True)
            if len(page) < self._page_size:
                return _Slice(users, rows, last, more=False)
        return _Slice(users, rows, last, more=True)

    async def _page(
        self, members: Sequence[Member], number: int | None, k: int
    ) -> tuple[list[Member], int]:
        """Return the first k members who have not seen the item, and how many were passed."""
        if number is None:
            return list(members[:k]), k
        shown: list[Member] = []
        passed = 0
        for first in range(0, min(len(members), MOST_CHECKED), AT_ONCE):
            some = members[first : first + AT_ONCE]
            known = await asyncio.gather(*(self._users.get(member.user) for member in some))
            for member, one in zip(some, known, strict=True):
                if len(shown) < k:
                    passed += 1
                    shown += [] if number in one.preferences.seen else [member]
            if len(shown) == k:
                break
        return shown, passed


@dataclass(frozen=True)
class _Slice:
    users: Sequence[str]
    rows: Sequence[Any]
    until: str | None
    """The last user that was looked at."""
    more: bool
    """Whether users may follow."""


def _ranked(model: AudienceModel, item: _Item, part: _Slice) -> list[Member]:
    users = part.users
    found = [model.model.audience(item.factors, row) for row in part.rows if row.shape[0]]
    scores = np.concatenate([score for score, _ in found])
    names = model.users.names
    sums = [_by_name(parts, names) for _, parts in found]
    parts: F64 = np.concatenate([part for _, part in sums])
    # what everybody has says nothing of anybody
    parts -= parts.mean(axis=0)
    order = np.lexsort((np.arange(scores.size), -scores))
    return [
        Member(users[at], float(scores[at]), _heaviest(sums[0][0], parts[at]))
        for at in order.tolist()
    ]


def _by_name(parts: Any, names: Sequence[str]) -> tuple[list[str], F64]:
    """Return the features' names and the parts of each, (users, names)."""
    own = sorted(set(names))
    column_of = {name: at for at, name in enumerate(own)}
    summed = np.zeros((parts.shape[0], len(own)))
    rows = np.repeat(np.arange(parts.shape[0]), np.diff(parts.indptr))
    columns = np.array([column_of[name] for name in names])[parts.indices]
    np.add.at(summed, (rows, columns), parts.data)
    return own, summed


def _heaviest(names: Sequence[str], parts: F64) -> list[tuple[str, float]]:
    best = np.argsort(-parts, kind="stable")[:REASONS]
    return [(names[at], float(parts[at])) for at in best.tolist() if parts[at] > 0.0]


def _nobody(model: AudienceModel | None, reason: str) -> Found:
    return Found([], 0, None, None, model, reason)
