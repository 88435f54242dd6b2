"""The model of the service: the log as a list, the histories as plain dictionaries."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.store.log.codec import DIGEST_BYTES, HAS_DIGEST, PRODUCER_BYTES, decode


@dataclass(frozen=True)
class Logged:
    """An event as the log has it."""

    user: str
    item: int
    value: float
    time_ms: int
    event_id: bytes
    """What stands for its id, whoever sent it; empty if it has none."""


Record = tuple[int, int, float, int]
"""sequence, item, value and time."""


def events_of(packed: bytes) -> list[Logged]:
    """Return the events of an entry."""
    entry = decode(packed)
    starts = range(0, len(entry.digests), DIGEST_BYTES)
    id_bytes = DIGEST_BYTES - PRODUCER_BYTES
    digests = iter(entry.digests[at : at + id_bytes] for at in starts)
    columns = (entry.user_ix, entry.item, entry.value, entry.time_ms, entry.flags)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [
        Logged(
            entry.users[user],
            item,
            value,
            time_ms,
            next(digests) if flags & HAS_DIGEST else b"",
        )
        for user, item, value, time_ms, flags in rows
    ]


def histories_of(log: Sequence[Logged]) -> dict[str, list[Record]]:
    """Return what the histories must be after the events of a log."""
    seen: set[bytes] = set()
    histories: dict[str, list[Record]] = {}
    for sequence, event in enumerate(log, 1):
        if event.event_id not in seen:
            record = (sequence, event.item, event.value, event.time_ms)
            histories.setdefault(event.user, []).append(record)
        seen |= {event.event_id} - {b""}
    return histories
