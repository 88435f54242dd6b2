"""Merging an anonymous user into another one by events in the log, so that nothing is lost.

In one partition a merge is a single event. Across two partitions, the source's events are sent to
the target's partition, except ratings of items that the target rated later. In the same step the
source's partition is told how far they were sent. Their event ids make it harmless to send them
again.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from fastapi import APIRouter, Body, Response

from core.meaning import RATING
from service.api.feedback.intake import settled
from service.api.feedback.sender import digest
from service.api.routing import Route, Runtime, UserId
from service.api.schemas import Answer, Id, Request
from service.api.times import Time, rfc3339
from service.api.waiting import learned
from service.errors import Conflict, NotReady
from service.http.documentation import problems
from service.ids import sequence_token
from service.runtime.api import ApiRuntime
from service.store.identity.known import Basis
from service.store.log.append_queue import Row, entry_of
from service.store.log.codec import (
    HAS_CONTEXT,
    HAS_DIGEST,
    MERGE_USER,
    MOVE_USER,
    MOVED,
    Entry,
    PackedEntry,
    encode,
    packed_context,
)
from service.store.log.last_move import LastMove, MergeMarks, last_move
from service.store.partitions import partition_of
from service.store.profiles.contexts import Contexts
from service.store.profiles.histories import Records, rated_by_both
from service.store.profiles.history_record import sequences
from service.store.progress import partition_progress

router = APIRouter(route_class=Route, tags=["users"])


UNKNOWN = "nothing was known of the source: it was merged before, or its id is another one"


class Merge(Request):
    """The user whose events are taken over."""

    source: Id
    """Ends with the merge: history, online row and document."""


class Merged(Answer):
    """The proof of a merge: its position in the order of events."""

    user: str
    """The user who has the events now."""
    source: str
    """The user whose events were moved, and who no longer exists."""
    sequence: str
    """The place of the merge in the order of events."""
    learned: bool
    """True: the user has the events. False (202): the merge is stored and will be learned soon."""
    timestamp: Time
    """When the merge was accepted."""
    reason: str | None
    """Why there may be nothing to take over."""


Input = Annotated[Merge, Body(openapi_examples={"login": {"value": {"source": "visitor-8f31"}}})]


@router.post(
    "/v1/users/{user:id}/merge",
    summary="Merge two users",
    responses={
        202: {"model": Merged, "description": "Stored, but not learned yet."},
        **problems("conflict", "version_conflict", "not_ready", "backlogged"),
    },
)
async def merge_users(runtime: Runtime, user: UserId, body: Input, response: Response) -> Merged:
    """Move the source's events to the user, each once, and delete the source, as at a log-in.

    The online row with more ratings is kept. The user's document stays as it is. It is harmless to
    send the same merge again.
    """
    if user == body.source:
        raise Conflict("a user cannot be merged into itself: name another source")
    time_ms, until = runtime.append_queue.clock(), _now() + runtime.settings.wait_timeout_ms / 1000
    pair = _Pair.of(body.source, user, runtime.namespace.partitions)
    appended, reason = await _append(runtime, pair, time_ms, until)
    await runtime.catalogue.change_user(pair.source, None)
    done = await learned(runtime.changes, appended, _left_ms(until))
    response.status_code = 200 if done else 202
    return Merged(
        user=user,
        source=body.source,
        sequence=sequence_token(appended),
        learned=done,
        timestamp=rfc3339(time_ms),
        reason=reason,
    )


@dataclass(frozen=True)
class _Pair:
    """Two users and their partitions: ``theirs`` is the source's, ``ours`` the user's."""

    source: str
    theirs: int
    user: str
    ours: int

    @classmethod
    def of(cls, source: str, user: str, partitions: int) -> Self:
        theirs, ours = partition_of(source, partitions), partition_of(user, partitions)
        return cls(source=source, theirs=theirs, user=user, ours=ours)


async def _append(
    runtime: ApiRuntime, pair: _Pair, time_ms: int, until: float
) -> tuple[dict[int, int], str | None]:
    """Append the merge; return {partition: sequence}, and why there may be nothing to take over."""
    # first of all: what is read later has all merges up to it
    before = await last_move(runtime.redis, runtime.namespace.name, pair.theirs, pair.source)
    is_known, is_learned = await _is_known(runtime, pair.source), True
    if pair.ours != pair.theirs or not is_known:
        # what was acknowledged before the merge belongs to it
        is_learned = await _all_learned(runtime, {pair.ours, pair.theirs}, until)
        is_known = is_known or await _is_known(runtime, pair.source)
    reason = None if is_known or not is_learned else UNKNOWN
    if pair.ours == pair.theirs:
        return await _join(runtime, pair, time_ms), reason
    if not is_learned:
        raise NotReady(
            "not everything of the two users is learned yet: send the merge again, "
            "once /readyz says `learning`"
        )
    return await _move(runtime, pair, before), reason


async def _join(runtime: ApiRuntime, pair: _Pair, time_ms: int) -> dict[int, int]:
    """Merge two users of the same partition by a single event."""
    queue = runtime.append_queue
    merged = encode(_entry((pair.source, pair.user), 1, MERGE_USER, time_ms, queue.clock()))
    marks = MergeMarks.of(runtime.namespace.name, pair.ours, (pair.source, pair.user))
    basis = Basis(in_time=True)
    [sequence] = await settled([queue.submit_entry(pair.ours, merged, 1, basis, marks)])
    return {pair.ours: sequence}


async def _move(runtime: ApiRuntime, pair: _Pair, before: LastMove) -> dict[int, int]:
    """Send the source's events to the user's partition, and tell its own how far they were sent."""
    token = runtime.known.token
    history, contexts = await runtime.profiles.placed_history(pair.source)
    own = await runtime.profiles.history(pair.user)
    if not history.size:
        return {pair.ours: runtime.changes.watermark(pair.ours)}
    through = int(sequences(history)[-1])
    stay, _ = rated_by_both(own, history)
    copied = history[(history["kind"] != RATING) | ~np.isin(history["item"], stay["item"])]
    rows = _rows(copied, contexts, pair.source, pair.user)
    queue = runtime.append_queue
    now = queue.clock()
    moved = encode(_entry((pair.source,), 0, MOVE_USER, through, now))
    entries = [PackedEntry(pair.theirs, moved, 1)]
    if rows:
        entries.insert(0, PackedEntry(pair.ours, encode(entry_of(rows, now)), len(rows)))
    ends = await queue.append_together(entries, before, Basis(token))
    partitions = [one.partition for one in entries]
    known = {pair.ours: runtime.changes.watermark(pair.ours)}
    return known | dict(zip(partitions, ends, strict=True))


async def _is_known(runtime: ApiRuntime, user: str) -> bool:
    """Whether there is anything to take over as far as it is learned: a document or a history."""
    [document] = await runtime.catalogue.users([user])
    return document.body is not None or await runtime.profiles.known(user)


async def _all_learned(runtime: ApiRuntime, partitions: Collection[int], until: float) -> bool:
    """Wait until all acknowledged events are in the histories; False if that takes too long."""
    name = runtime.namespace.name
    found = [await partition_progress(runtime.redis, name, one) for one in partitions]
    appended = {one.partition: one.appended for one in found}
    return await learned(runtime.changes, appended, _left_ms(until))


def _left_ms(until: float) -> int:
    """Return how long a request may still wait: both of its waits share the time."""
    return max(int(1000 * (until - _now())), 0)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _rows(history: Records, contexts: Contexts, source: str, user: str) -> list[Row]:
    """Return the records as events of the user, with ids that no client can choose."""
    columns = (history["item"], history["value"], history["time_ms"], history["kind"])
    rows = zip(*(column.tolist() for column in columns), sequences(history).tolist(), strict=True)
    return [
        Row(
            user=user,
            item=item,
            value=value,
            time_ms=time_ms,
            kind=kind,
            flags=HAS_DIGEST | MOVED | (HAS_CONTEXT if number in contexts else 0),
            digest=digest(user, f"\0{source}\0{number}"),
            context=packed_context(contexts.get(number, {})),
        )
        for item, value, time_ms, kind, number in rows
    ]


def _entry(users: tuple[str, ...], item: int, kind: int, time_ms: int, appended_ms: int) -> Entry:
    """Return an entry of a single event of the first user."""
    return Entry(
        users=users,
        user_ix=np.zeros(1, dtype=np.uint32),
        item=np.array([item], dtype=np.uint32),
        value=np.zeros(1, dtype=np.float32),
        time_ms=np.array([time_ms], dtype=np.int64),
        kind=np.array([kind], dtype=np.uint8),
        flags=np.zeros(1, dtype=np.uint8),
        digests=b"",
        appended_ms=appended_ms,
    )
