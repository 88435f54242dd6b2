"""Writing and deleting feedback, as Gorse does it: an answer leaves once it is learned."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from service.api.feedback.deletions import delete_rating
from service.api.feedback.schemas import Feedback
from service.api.feedback.sender import Sender, idempotency_key
from service.api.gorse.call import Call, Refused, Success, id_of, success, text_of
from service.api.gorse.kinds import TypedFeedback, Types
from service.api.gorse.records import past_events
from service.api.gorse.times import read_time
from service.api.times import rfc3339
from service.api.waiting import learned
from service.errors import NotReady
from service.runtime.api import ApiRuntime
from service.store.partitions import partition_of
from service.store.progress import partition_progress


def types_of(call: Call) -> Types:
    """Return how feedback types become kinds here."""
    settings = call.runtime.settings
    return Types(settings.kinds, settings.gorse_kinds, call.runtime.namespace.scale)


async def add_feedback(call: Call) -> Success:
    """Add the values to what is there."""
    return await _write(call, replaces=False)


async def replace_feedback(call: Call) -> Success:
    """Replace what is there of the same types."""
    return await _write(call, replaces=True)


async def _write(call: Call, *, replaces: bool) -> Success:
    rows, types = await call.objects(), types_of(call)
    events: dict[tuple[str, str, str], TypedFeedback] = {}
    for row in rows:
        event = feedback_of(types, row, replaces=replaces)
        events.setdefault((text_of(row, "FeedbackType"), event.user, event.item), event)
    await send(call, events.values())
    return success(len(rows))


def feedback_of(
    types: Types, row: dict[str, Any], *, user: str = "", replaces: bool = False
) -> TypedFeedback:
    """Return a record of a request as an event; of ``user``, if one is given."""
    value, kind = _value(row), text_of(row, "FeedbackType")
    who = user or id_of(row, "UserId")
    event = types.event(who, id_of(row, "ItemId"), kind, value, replaces=replaces)
    if (time_ms := read_time(text_of(row, "Timestamp"))) is not None:
        event.timestamp = datetime.fromisoformat(rfc3339(time_ms))
    return event


async def send(call: Call, given: Iterable[Feedback]) -> None:
    """Append events, all or none, and wait until they are learned, within bounds."""
    events = [*given]
    for event in events:
        if (fault := call.intake.rules.fault(event)) is not None:
            raise Refused(f"feedback of {event.user} on {event.item}: {fault[1]}")
    scope = call.request.scope
    accepted = await call.intake.accept(events, Sender(scope, idempotency_key(scope)))
    timeout_ms = call.runtime.settings.wait_timeout_ms
    await learned(call.runtime.changes, accepted.sequences, timeout_ms)
    if accepted.rejected:
        raise Refused(accepted.rejected[0].detail)


async def delete_pair(call: Call) -> Success:
    """Delete the records of a user and an item, of all types."""
    return await _delete(call, None)


async def delete_one(call: Call) -> Success:
    """Delete the record of a type, a user and an item."""
    return await _delete(call, call.path["feedback-type"])


async def _delete(call: Call, kind: str | None) -> Success:
    runtime, user, item = call.runtime, call.user, call.item
    token = runtime.known.token
    [number] = await runtime.numbers.lookup([item])
    if number is None:
        return success(0)
    await _caught_up(runtime, user)
    past = await past_events(runtime, types_of(call), user, number)
    found = past.kinds() if kind is None else past.kinds() & {kind}
    if kind is None or found:
        keep = [] if kind is None else past.rows_besides(kind)
        await delete_rating(runtime, user, item, number, token, keep=keep)
    return success(len(found))


async def _caught_up(runtime: ApiRuntime, user: str) -> None:
    """Wait until what was acknowledged of a user is in their history; NotReady if too slow."""
    partition = partition_of(user, runtime.namespace.partitions)
    appended = (await partition_progress(runtime.redis, runtime.namespace.name, partition)).appended
    if not await learned(runtime.changes, {partition: appended}, runtime.settings.wait_timeout_ms):
        raise NotReady("earlier feedback is not learned yet: send the deletion again")


def _value(row: dict[str, Any]) -> float:
    value = row.get("value", 0)
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused("Value must be a number")
    try:
        return float(value)
    except OverflowError:
        raise Refused("Value must be a finite number") from None
