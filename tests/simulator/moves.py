"""Merges across partitions: each event is in one place, and no merge is half done."""

from collections.abc import Sequence

from service.api.feedback.sender import digest
from service.store.log.codec import DIGEST_BYTES, MERGE_USER, MOVE_USER, PRODUCER_BYTES
from service.store.partitions import partition_of
from tests.simulator.lane import Lane
from tests.simulator.ledger import Broken, Ledger
from tests.simulator.model import Logged, Model, Record

Source = tuple[str, int]
"""An event by its user and its number in the log."""


def check_moves(lanes: Sequence[Lane], ledger: Ledger) -> None:
    """Raise Broken if a copy has no move, a move no copies, or something was moved twice."""
    if len(lanes) == 1:
        return
    copies = [event for lane in lanes for event in lane.log if event.is_copy]
    ledger.occurred["copied"] += len(copies)
    sources, given = _sources(lanes, ledger), dict[Source, str]()
    for event in copies:
        source = sources.get((event.user, event.event_id))
        if source is None:
            raise Broken(f"{event} is a copy, but its source keeps the event")
        if given.setdefault(source, event.user) != event.user and source[0] not in _unmoved(lanes):
            raise Broken(f"the event {source} was given to {given[source]} and to {event.user}")
    for lane in lanes:
        for user, record in Model(lane.log, lane.dead).moved:
            targets = {one.target for one in ledger.changes if one.user == user and one.target}
            others = [event for other in lanes if other is not lane for event in other.log]
            if not any(_stands_for(event, record) for event in others if event.user in targets):
                raise Broken(f"{record} of {user} was moved, and nobody has it")


def _sources(lanes: Sequence[Lane], ledger: Ledger) -> dict[tuple[str, bytes], Source]:
    """Return by user and id of a copy what it may be a copy of, as far as that was moved."""
    through: dict[str, int] = {}
    for lane in lanes:
        for event in lane.log:
            if event.kind == MOVE_USER:
                through[event.user] = max(through.get(event.user, 0), event.time_ms)
    size = DIGEST_BYTES - PRODUCER_BYTES
    return {
        (one.target, digest(one.target, f"\0{one.user}\0{number}")[:size]): (one.user, number)
        for one in ledger.changes
        if one.kind == MERGE_USER and one.user in through
        if partition_of(one.user, len(lanes)) != partition_of(one.target, len(lanes))
        for number in range(1, through[one.user] + 1)
    }


def _unmoved(lanes: Sequence[Lane]) -> set[str]:
    """Return the users whose move was damaged: they have kept what was sent to others."""
    return {
        event.user
        for lane in lanes
        for number, event in enumerate(lane.log, 1)
        if event.kind == MOVE_USER and number in lane.dead
    }


def _stands_for(event: Logged, record: Record) -> bool:
    """Whether it is a copy of the record, or a rating that overrules it."""
    _, item, _, time_ms = record
    return not event.is_change and event.item == item and event.time_ms >= time_ms
