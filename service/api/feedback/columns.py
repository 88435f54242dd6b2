"""Many events at once: whether all are good, and the columns of the log entry that holds them."""

from collections.abc import Sequence

import numpy as np
from msgspec import UNSET

from core.meaning import RATING
from core.types import F32, I64, U8
from service.api.feedback.schemas import Feedback, Rules, placed
from service.api.feedback.sender import IDENTIFIED, Sender
from service.api.times import milliseconds
from service.ids import is_id
from service.rec_ids import source_of
from service.store.clock import now_ms
from service.store.log.codec import (
    HAS_CONTEXT,
    HAS_SOURCE,
    Entry,
)


def good(rules: Rules, events: list[Feedback]) -> bool:
    """Return whether no event has a fault; quick for plain ratings, *same as* checking each."""
    n = len(events)
    if (
        [event.kind for event in events].count(UNSET) < n
        or [event.event_id for event in events].count(UNSET) < n
        or [event.rec_id for event in events].count(UNSET) < n
        or [event.context for event in events].count(UNSET) < n
        or UNSET in (ratings := [event.rating for event in events])
    ):
        return all(rules.fault(event) is None for event in events)
    values, times = np.array(ratings, dtype=np.float64), [event.timestamp for event in events]
    return bool(
        n
        and (times.count(UNSET) == n or rules.are_dated(times))
        and rules.scale.low <= values.min()
        and values.max() <= rules.scale.high
        and all(map(is_id, {event.user for event in events}))
        and all(map(is_id, {event.item for event in events}))
    )


def entry(
    rules: Rules,
    indexes: Sequence[int],
    events: list[Feedback],
    numbers: dict[str, int],
    sender: Sender,
) -> Entry:
    """Return good events as the columns of a log entry; *same as* ``Rules.row`` of each."""
    n, now = len(events), now_ms()
    users = [event.user for event in events]
    index = {user: ix for ix, user in enumerate(dict.fromkeys(users))}
    flags, digests = _digests(indexes, events, sender)
    sourced, sources = _sources(events)
    placed, contexts = _contexts(events)
    return Entry(
        users=tuple(index),
        user_ix=np.fromiter(map(index.__getitem__, users), np.uint32, n),
        item=np.fromiter([numbers[event.item] for event in events], np.uint32, n),
        value=_values(events),
        time_ms=_times(events, now),
        kind=_kinds(rules, events),
        flags=flags | sourced | placed,
        digests=digests,
        appended_ms=now,
        sources=sources,
        contexts=contexts,
    )


def _values(events: list[Feedback]) -> F32:
    ratings = [event.rating for event in events]
    if UNSET in ratings:
        ratings = [0.0 if rating is UNSET else rating for rating in ratings]
    return np.array(ratings, dtype=np.float32)


def _kinds(rules: Rules, events: list[Feedback]) -> U8:
    kinds = [event.kind for event in events]
    if kinds.count(UNSET) == len(events):
        return np.full(len(events), RATING, dtype=np.uint8)
    codes = [RATING if kind is UNSET else rules.kinds[kind] for kind in kinds]
    return np.array(codes, dtype=np.uint8)


def _times(events: list[Feedback], now: int) -> I64:
    stamps = [event.timestamp for event in events]
    if stamps.count(UNSET) == len(events):
        return np.full(len(events), now, dtype=np.int64)
    return np.array([now if t is UNSET else milliseconds(t) for t in stamps], dtype=np.int64)


def _sources(events: list[Feedback]) -> tuple[U8, bytes]:
    if [event.rec_id for event in events].count(UNSET) == len(events):
        return np.zeros(len(events), dtype=np.uint8), b""
    found = [b"" if e.rec_id is UNSET else source_of(e.rec_id, e.user) for e in events]
    return np.array([HAS_SOURCE if one else 0 for one in found], dtype=np.uint8), b"".join(found)


def _contexts(events: list[Feedback]) -> tuple[U8, tuple[bytes, ...]]:
    n = len(events)
    of_lists = [event.rec_id for event in events].count(UNSET) < n
    if not of_lists and [event.context for event in events].count(UNSET) == n:
        return np.zeros(n, dtype=np.uint8), ()
    found = [placed(event) for event in events]
    flags = np.array([HAS_CONTEXT if one else 0 for one in found], dtype=np.uint8)
    return flags, tuple(filter(None, found))


def _digests(indexes: Sequence[int], events: list[Feedback], sender: Sender) -> tuple[U8, bytes]:
    if sender.key is None and [event.event_id for event in events].count(UNSET) == len(events):
        return np.zeros(len(events), dtype=np.uint8), b""
    rows = zip(indexes, events, strict=True)
    named = [sender.digest(event.user, event.event_id, index) for index, event in rows]
    return np.array([IDENTIFIED if one else 0 for one in named], np.uint8), b"".join(named)
