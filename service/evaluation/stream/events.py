"""The events of a file in the order of time, numbered as the service would number them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from core.errors import ConfigError, DataError
from core.meaning import RATING
from core.scale import FIVE_STARS, Scale
from core.types import F32, F64, I64, U8
from service.evaluation.questions import Ties
from service.files.rating_cells import RatingChunk
from service.files.ratings import read_chunks
from service.settings import Kind
from service.settings_loading import nearest
from service.store.profiles.histories import Records
from service.store.profiles.history_record import records, sequences

OnShare = Callable[[float], None]
SHOWN = "impression"
"""The kind that histories do not hold: it tells what was shown, not what somebody did."""


@dataclass(frozen=True, eq=False)
class Events:
    """n events, oldest first; event e has the sequence e + 1. All arrays are (n,)."""

    user_ids: Sequence[str]
    item_ids: Sequence[str]
    """By item number: items are numbered in the order in which they first appear."""
    user: I64
    item: I64
    kind: U8
    value: F32
    time_ms: I64
    scale: Scale

    def __len__(self) -> int:
        return self.user.size

    def history(self, user: int, through: int) -> Records:
        """Return the records of a user up to a sequence, as the store would have them."""
        own = self.histories[self.user_ptr[user] : self.user_ptr[user + 1]]
        return own[: np.searchsorted(sequences(own), through, side="right")]

    def of(self, user: int) -> I64:
        """Return the numbers of a user's events, in order."""
        return self._by_user[self.user_ptr[user] : self.user_ptr[user + 1]]

    @cached_property
    def user_ptr(self) -> I64:
        """Return where the records of each user begin in ``histories``, (users + 1,)."""
        counts = np.bincount(self.user, minlength=len(self.user_ids))
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @cached_property
    def past(self) -> I64:
        """Return the number of earlier events of the same user, (n,)."""
        found = np.empty(len(self), np.int64)
        found[self._by_user] = np.arange(len(self)) - np.repeat(
            self.user_ptr[:-1], np.diff(self.user_ptr)
        )
        return found

    @cached_property
    def histories(self) -> Records:
        """Return the records of all users, one user after the other, (n,)."""
        at = self._by_user
        return records(self.item[at], self.value[at], self.time_ms[at], at + 1, self.kind[at])

    @cached_property
    def _by_user(self) -> I64:
        return np.argsort(self.user, kind="stable")


def read_events(
    path: Path,
    kinds: Mapping[str, Kind],
    *,
    scale: Scale | None = None,
    ties: Ties = "file",
    seed: int = 0,
    on_share: OnShare = lambda share: None,
) -> Events:
    """Return the events of a file; raise DataError or ConfigError if they make no stream."""
    table = _Table(kinds)
    for chunk in read_chunks(path, kinds=True):
        table.add(chunk)
        on_share(chunk.read)
    return table.events(scale, ties, np.random.default_rng([seed, 4]))


class _Table:
    """The rows of a file, chunk by chunk."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self._codes = {name: kind.code for name, kind in kinds.items()}
        self._users: dict[str, int] = {}
        self._items: dict[str, int] = {}
        self._parts: list[tuple[I64, I64, U8, F64, I64]] = []

    def add(self, chunk: RatingChunk) -> None:
        if chunk.timestamp_ms is None:
            raise DataError("no column timestamp: the stream is replayed in the order of time")
        user = [self._users.setdefault(user, len(self._users)) for user in chunk.users]
        item = [self._items.setdefault(item, len(self._items)) for item in chunk.items]
        kind = self._kinds(chunk)
        kept = kind != self._codes.get(SHOWN, -1)
        columns = (np.array(user), np.array(item), kind, chunk.rating, chunk.timestamp_ms)
        part = tuple(column[kept] for column in columns)
        self._parts.append(part)

    def events(self, scale: Scale | None, ties: Ties, rng: np.random.Generator) -> Events:
        user, item, kind, value, time_ms = (
            np.concatenate(column) for column in zip(*self._parts, strict=True)
        )
        rated = value[kind == RATING]
        given = scale or _scale(rated)
        _check_inside(rated, given)
        at = np.arange(user.size) if ties == "file" else rng.permutation(user.size)
        at = at[np.argsort(time_ms[at], kind="stable")]
        item_ids, item = _by_appearance([*self._items], item[at])
        return Events(
            user_ids=[*self._users],
            item_ids=item_ids,
            user=user[at].astype(np.int64),
            item=item,
            kind=kind[at],
            value=np.nan_to_num(value[at]).astype(np.float32),
            time_ms=time_ms[at],
            scale=given,
        )

    def _kinds(self, chunk: RatingChunk) -> U8:
        names = chunk.kinds or [""] * len(chunk.users)
        rows = zip(names, np.isnan(chunk.rating).tolist(), strict=True)
        for n, (name, unrated) in enumerate(rows, chunk.first_line):
            if bool(name) != unrated:
                said = "both a rating and a kind" if name else "neither a rating nor a kind"
                raise DataError(f"line {n}: it has {said}: give one of them")
            if name and name not in self._codes:
                raise DataError(
                    f"line {n}: there is no kind {name!r}{nearest(name, self._codes)}"
                    f" (all: {', '.join(sorted(self._codes))})"
                )
        return np.array([self._codes[name] if name else RATING for name in names], np.uint8)


def _by_appearance(ids: Sequence[str], item: I64) -> tuple[list[str], I64]:
    """Return the ids that appear, and the items numbered in the order of their appearance."""
    known, first, number = np.unique(item, return_index=True, return_inverse=True)
    order = np.argsort(first)
    new = np.empty(order.size, np.int64)
    new[order] = np.arange(order.size)
    return [ids[old] for old in known[order].tolist()], new[number]


def _scale(rating: F64) -> Scale:
    if not rating.size:
        return FIVE_STARS
    if rating.min() == rating.max():
        raise ConfigError(f"all ratings are {rating[0]:g}: give the scale, such as --scale 1:5")
    return Scale(float(rating.min()), float(rating.max()))


def _check_inside(rating: F64, scale: Scale) -> None:
    outside = rating[(rating < scale.low) | (rating > scale.high)]
    if outside.size:
        raise ConfigError(f"a rating is {outside[0]:g}: give a --scale that holds all ratings")
