"""The small hash that says how far a partition has learned, and who may write on."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import cast

import redis

from service.errors import Misconfigured
from service.store.connection import store_errors
from service.store.keys import PartitionKeys


@dataclass(frozen=True)
class PartitionState:
    """A partition's ``state``; all zero before its first learner."""

    epoch: int = 0
    """Raised by every learner that takes over."""
    watermark: int = 0
    """Sequence of the last event that counts."""
    generation: int = 0
    """Raised by every rebuild."""
    reserved: int = 0
    """The highest generation that a rebuild ever began."""
    fingerprint: str = ""
    """Of the set of experts that the rows belong to, in hex."""
    machine: str = ""
    """What the last learner ran on: replays give the same bits on the same one."""
    learned: int = 0
    """Ratings that taught the experts."""
    duplicates: int = 0
    """Events dropped because their id had come before."""
    others: int = 0
    """Events that are no ratings: they enter the history (impressions the side stream)."""
    deletions: int = 0
    trimmed_records: int = 0
    """History records that went because of the bound."""
    newest_ms: int = 0
    """The api's clock when it appended the newest event that counts."""

    @staticmethod
    def of(stored: Mapping[bytes, bytes]) -> "PartitionState":
        """Read the stored hash; what is missing is zero."""
        values: dict[str, int | str] = {}
        for item in fields(PartitionState):
            text = stored.get(item.name.encode())
            if text is not None:
                values[item.name] = text.decode() if item.type in {"str", str} else int(text)
        return PartitionState(**values)  # type: ignore[arg-type]  # each by its field's type


def read_state(client: redis.Redis, keys: PartitionKeys) -> PartitionState:
    """Return a partition's state of this moment."""
    with store_errors():
        answer = client.hgetall(keys.state)
    return PartitionState.of(cast("dict[bytes, bytes]", answer))


def check_rows(state: PartitionState, fingerprint: bytes, *, has_users: bool) -> None:
    """Misconfigured where a learner with this set of experts cannot go on."""
    if not state.epoch and has_users:
        raise Misconfigured(
            "the online state is gone, the histories are there: run `hedgerow rebuild`"
        )
    if state.epoch and state.fingerprint != fingerprint.hex():
        raise Misconfigured(
            "the stored rows belong to another set of experts: run `hedgerow rebuild` with these "
            "settings, or set HEDGEROW_EXPERTS and HEDGEROW_AGGREGATOR back"
        )


def read_deleted_items(client: redis.Redis, keys: PartitionKeys) -> dict[int, int]:
    """Return item number -> sequence of its deletion."""
    with store_errors():
        stored = cast("dict[bytes, bytes]", client.hgetall(keys.deleted_items))
    return {int(number): int(sequence) for number, sequence in stored.items()}
