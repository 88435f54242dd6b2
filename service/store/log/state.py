"""The state of a partition: how far it has learned, and the epoch of its only writer."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import cast

import redis

from service.errors import Misconfigured
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.keys import PartitionKeys


@dataclass(frozen=True)
class PartitionState:
    """A partition's ``state``; all zero before its first learner."""

    epoch: int = 0
    """Raised by every learner that takes over."""
    watermark: int = 0
    """Sequence of the last event that was learned."""
    generation: int = 0
    """Raised by every rebuild."""
    reserved: int = 0
    """Highest generation that a rebuild has begun."""
    fingerprint: str = ""
    """Fingerprint of the set of experts that the rows belong to, in hex."""
    machine: str = ""
    """Machine of the last learner: replays give the same bits on the same machine."""
    learned: int = 0
    """Number of ratings that the experts have learned."""
    duplicates: int = 0
    """Number of events dropped because their id was a repeat."""
    others: int = 0
    """Number of events other than ratings: they enter the history (impressions the side stream)."""
    deletions: int = 0
    moves: int = 0
    """Number of merges, and of users whose events were sent to another partition."""
    trimmed_records: int = 0
    """Number of history records removed because of the bound on histories."""
    dead_letters: int = 0
    """Number of events in log entries that could not be learned and were set aside."""
    newest_ms: int = 0
    """Time by the api's clock when it appended the newest learned event."""
    identity: str = ""
    """The identity of the namespace (``store/identity``)."""

    @property
    def rewrites(self) -> int:
        """Return how often earlier events were removed or moved: counts of them are wrong then."""
        return self.deletions + self.moves

    def lag_ms(self, appended: int) -> int:
        """Return the time since the newest learned event was accepted.

        It is 0 if none waits, and before the first was learned.
        """
        if appended <= self.watermark or not self.newest_ms:
            return 0
        return max(now_ms() - self.newest_ms, 0)

    @staticmethod
    def of(stored: Mapping[bytes, bytes]) -> "PartitionState":
        """Read the stored hash; missing fields are zero."""
        values: dict[str, int | str] = {}
        for item in fields(PartitionState):
            text = stored.get(item.name.encode())
            if text is not None:
                values[item.name] = text.decode() if item.type in {"str", str} else int(text)
        return PartitionState(**values)  # type: ignore[arg-type]  # each by its field's type


def read_state(client: redis.Redis, keys: PartitionKeys) -> PartitionState:
    """Return the current state of a partition."""
    with store_errors():
        answer = client.hgetall(keys.state)
    return PartitionState.of(cast("dict[bytes, bytes]", answer))


def check_rows(state: PartitionState, fingerprint: bytes, *, has_users: bool) -> None:
    """Raise Misconfigured if a learner with this set of experts cannot continue."""
    if not state.epoch and has_users:
        raise Misconfigured(
            "the online state is missing, but there are histories: run `hedgerow rebuild`"
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
