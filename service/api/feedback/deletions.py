"""Deletions as events in the log, so that nothing acknowledged earlier can come back."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from service.api.feedback.intake import settled
from service.api.schemas import Answer
from service.api.times import Time, rfc3339
from service.api.waiting import learned
from service.ids import sequence_token
from service.runtime.api import ApiRuntime
from service.store.erasures.records import deletion, order
from service.store.identity.known import Basis
from service.store.log.append_queue import Row
from service.store.log.codec import DELETE_ITEM, DELETE_RATING
from service.store.partitions import partition_of

What = Literal["rating", "item", "user"]


class Receipt(Answer):
    """The proof of a deletion: its position in the order of events."""

    deleted: What
    """What was deleted: all events of a user and an item, an item, or a user."""
    user: str | None
    """The user; null for an item."""
    item: str | None
    """The item; null for a user."""
    sequence: str
    """The place of the deletion in the order of events."""
    learned: bool
    """True: the deleted data no longer counts in any history or list. The items' rows and the
    trained models keep what they learned from the events until a rebuild and a retraining. False
    (202): the deletion is stored and will be learned soon."""
    erasure: str | None
    """For a user: `GET /v1/erasures/{erasure}` says when all traces are removed, also from links of
    other users and from the disk. Null for a rating or an item."""
    timestamp: Time
    """When the deletion was accepted."""


SAFE: dict[int | str, dict[str, Any]] = {
    202: {"model": Receipt, "description": "Stored, but not learned yet."}
}
"""Responses of a deletion besides 200."""


async def delete_rating(
    runtime: ApiRuntime,
    user: str,
    item: str,
    number: int,
    token: str,
    *,
    keep: Sequence[Row] = (),
) -> Receipt:
    """Delete every event of a pair; ``token`` is that of the store that gave the number.

    ``keep`` are events of the pair that are learned again right after the deletion.
    """
    partition = partition_of(user, runtime.namespace.partitions)
    rows = (_row(runtime, DELETE_RATING, user, number), *keep)
    return await _delete(runtime, "rating", rows, [partition], token, user=user, item=item)


async def delete_user(runtime: ApiRuntime, user: str) -> Receipt:
    """Delete a user's row, history and document, and order the erasure of all traces."""
    partition = partition_of(user, runtime.namespace.partitions)
    now, ordered = runtime.append_queue.clock(), order(user, partition)
    basis = Basis(runtime.known.token, in_time=True)
    appending = runtime.append_queue.submit_entry(partition, deletion(user, now), 1, basis, ordered)
    [sequence] = await settled([appending])
    receipt = await _receipt(runtime, "user", now, {partition: sequence}, user=user)
    return receipt.model_copy(update={"erasure": ordered.id})


async def delete_item(runtime: ApiRuntime, item: str, number: int, token: str) -> Receipt:
    """Delete an item's rows, its events in all histories, and its document.

    ``token`` is that of the store that gave the number.
    """
    partitions = range(runtime.namespace.partitions)
    row = _row(runtime, DELETE_ITEM, "", number)
    receipt = await _delete(runtime, "item", (row,), partitions, token, item=item)
    await runtime.catalogue.change_item(number, None, token=token)
    return receipt


def _row(runtime: ApiRuntime, kind: int, user: str, item: int) -> Row:
    now = runtime.append_queue.clock()
    return Row(user=user, item=item, value=0.0, time_ms=now, kind=kind, flags=0, digest=b"")


async def _delete(
    runtime: ApiRuntime,
    what: What,
    rows: Sequence[Row],
    partitions: Sequence[int],
    token: str,
    *,
    user: str | None = None,
    item: str | None = None,
) -> Receipt:
    appended = await settled(
        [
            runtime.append_queue.submit(partition, rows, Basis(token, in_time=True))
            for partition in partitions
        ]
    )
    sequences = dict(zip(partitions, appended, strict=True))
    return await _receipt(runtime, what, rows[0].time_ms, sequences, user=user, item=item)


async def _receipt(
    runtime: ApiRuntime,
    what: What,
    time_ms: int,
    sequences: Mapping[int, int],
    *,
    user: str | None = None,
    item: str | None = None,
) -> Receipt:
    """Return the proof of a deletion that is in the log, once it is learned or took too long."""
    return Receipt(
        deleted=what,
        user=user,
        item=item,
        sequence=sequence_token(sequences),
        learned=await learned(runtime.changes, sequences, runtime.settings.wait_timeout_ms),
        erasure=None,
        timestamp=rfc3339(time_ms),
    )
