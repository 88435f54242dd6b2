"""Who would like an item: users whose features are known, ranked for one item by what a label model says of both."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from core.errors import ConfigError
from core.features import of_item
from core.types import F32, F64
from service.errors import NotFound
from service.serving.label_ranker import Labelled
from service.serving.lineup import Lineups
from service.serving.users import Users
from service.store.catalogue import Catalogue
from service.store.numbers import ItemNumbers

MOST_CONSIDERED, PAGE = 10_000, 500
"""Users of one answer, and of one read."""
MOST_CHECKED, AT_ONCE = 2_000, 50
"""Histories that are looked at to leave out who has seen the item; those of one round."""
REASONS = 3

Known = Literal["feedback", "features"]


@dataclass(frozen=True)
class Member:
    """One user of an audience."""

    user: str
    score: float
    because: Sequence[tuple[str, float]]
    """Features that speak for the user more than for others, and how much."""


@dataclass(frozen=True)
class Found:
    """An audience, the likeliest first."""

    members: Sequence[Member]
    considered: int
    after: str | None
    """The last user considered, if there are more."""
    known_by: Known | None
    model: Labelled | None
    reason: str | None
    """Why nobody was found."""


@dataclass(frozen=True)
class _Item:
    factors: F32
    known_by: Known
    number: int | None = None


class Audience:
    """Answers from the active label model and the users' documents."""

    def __init__(
        self, lineups: Lineups, users: Users, numbers: ItemNumbers, catalogue: Catalogue
    ) -> None:
        self._lineups, self._users = lineups, users
        self._numbers, self._catalogue = numbers, catalogue

    async def find(
        self,
        item: str | None,
        document: Mapping[str, Any],
        k: int,
        *,
        exclude_seen: bool,
        after: str | None,
    ) -> Found:
        """Return the k users who would like an item most: one by its id, or one that has this document.

        NotFound for an id that nobody has ever named.
        """
        number = None if item is None else await self._number(item)
        model = self._lineups.current(None).models.get("exmlds")
        if not isinstance(model, Labelled):
            return _nobody(
                None, "no model of the strategy exmlds is active: train one (POST /v1/retrain)"
            )
        wanted = await self._item(model, number, document)
        if wanted is None:
            return _nobody(
                model,
                "the model knows neither this item nor any of its features: describe it as others are",
            )
        users, rows, last = await self._described(model, after)
        if not users:
            return _nobody(
                model, "no user has features that the model knows: write users' documents"
            )
        members = await asyncio.to_thread(_ranked, model, wanted, users, rows)
        if exclude_seen and number is not None:
            members = await self._unseen(members, number, k)
        return Found(members[:k], len(users), last, wanted.known_by, model, None)

    async def _number(self, item: str) -> int:
        [number] = await self._numbers.lookup([item])
        if number is None:
            raise NotFound("there is no such item: nothing was ever said of it")
        return number

    async def _item(
        self, model: Labelled, number: int | None, document: Mapping[str, Any]
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

    async def _described(
        self, model: Labelled, after: str | None
    ) -> tuple[list[str], list[Any], str | None]:
        """Return users whose features the model knows and their rows, and the last one looked at if more follow."""
        users: list[str] = []
        rows: list[Any] = []
        for _ in range(0, MOST_CONSIDERED, PAGE):
            page = await self._catalogue.user_ids(after, PAGE)
            if not page:
                return users, rows, None
            documents = await self._catalogue.users(page)
            row = model.users.transform([(one.body or {}).get("features", {}) for one in documents])
            says = np.flatnonzero(np.diff(row.indptr))
            users += [page[at] for at in says.tolist()]
            rows.append(row[says])
            after = page[-1]
            if len(page) < PAGE:
                return users, rows, None
        return users, rows, after

    async def _unseen(self, members: Sequence[Member], number: int, k: int) -> list[Member]:
        kept: list[Member] = []
        for first in range(0, min(len(members), MOST_CHECKED), AT_ONCE):
            some = members[first : first + AT_ONCE]
            known = await asyncio.gather(*(self._users.get(member.user) for member in some))
            kept += [
                member
                for member, one in zip(some, known, strict=True)
                if number not in one.preferences.seen
            ]
            if len(kept) >= k:
                break
        return kept


def _ranked(
    model: Labelled, item: _Item, users: Sequence[str], rows: Sequence[Any]
) -> list[Member]:
    found = [model.model.audience(item.factors, row) for row in rows if row.shape[0]]
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
    place = {name: at for at, name in enumerate(own)}
    summed = np.zeros((parts.shape[0], len(own)))
    rows = np.repeat(np.arange(parts.shape[0]), np.diff(parts.indptr))
    columns = np.array([place[name] for name in names])[parts.indices]
    np.add.at(summed, (rows, columns), parts.data)
    return own, summed


def _heaviest(names: Sequence[str], parts: F64) -> list[tuple[str, float]]:
    best = np.argsort(-parts, kind="stable")[:REASONS]
    return [(names[at], float(parts[at])) for at in best.tolist() if parts[at] > 0.0]


def _nobody(model: Labelled | None, reason: str) -> Found:
    return Found([], 0, None, None, model, reason)
