"""What the schedule counts from: the last training, and the orders that came to nothing since."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import redis

from service.store.clock import now_ms
from service.store.connection import store_errors

LEAST_DOUBLED_MS, MOST_DOUBLINGS = 60_000, 7
"""Least pause that is doubled after repeated failures, and the most doublings.

Ten minutes grow to about a day. A pause of 0 is doubled as if it were a minute.
"""
FIRST_PAUSE_MS = 10_000
"""Pause after the first order that came to nothing where nothing was ever trained, and the part of
the later pauses that is doubled: whoever waits for a first list should not wait for a restart."""


@dataclass(frozen=True)
class LastRetrain:
    """The start of the counts: the last successful training of the schedule's model."""

    at_ms: int = 0
    """Begin of the training, in UTC ms; 0 before the first."""
    watermarks: Sequence[int] = ()
    """Watermark of each partition at that time."""
    trainer_ms: int = 0
    """Start of the current trainer."""
    first_ms: int = 0
    """Start of the first trainer."""
    tried_ms: int = 0
    """Time of the schedule's last order."""
    tried_events: int = 0
    """Number of events learned at that time."""
    tries: int = 0
    """Number of the schedule's orders since the last success."""

    @property
    def events(self) -> int:
        """Return the number of events learned at that time."""
        return sum(self.watermarks)

    def not_before_ms(self, usual_ms: int, *, is_first: bool) -> int:
        """Return the end of the pause; ``is_first``: nothing was trained, and nothing serves.

        Then there is none, unless an order came to nothing.
        """
        if is_first:
            pauses = [(self.tried_ms, self._after_first_tries(usual_ms))]
        else:
            began = max(self.at_ms, self.trainer_ms)
            pauses = [(began, usual_ms), (self.tried_ms, self._after_tries(usual_ms))]
        return max(since + pause if since else 0 for since, pause in pauses)

    def _after_tries(self, usual_ms: int) -> int:
        if self.tries <= 1:
            return usual_ms
        return max(usual_ms, LEAST_DOUBLED_MS) * (1 << min(self.tries - 1, MOST_DOUBLINGS))

    def _after_first_tries(self, usual_ms: int) -> int:
        if self.tries <= 1:
            return min(FIRST_PAUSE_MS, usual_ms)
        most = max(usual_ms, LEAST_DOUBLED_MS) << MOST_DOUBLINGS
        return min(FIRST_PAUSE_MS << min(self.tries - 1, 30), most)


class LastRetrains:
    """The stored hash of a namespace."""

    def __init__(self, client: redis.Redis, key: str, n_partitions: int) -> None:
        self._client, self._key, self._n_partitions = client, key, n_partitions

    def read(self) -> LastRetrain:
        """Return what is stored; fields are zero before their first event."""
        with store_errors():
            stored = cast("Mapping[bytes, bytes]", self._client.hgetall(self._key))
        found = {name.decode(): int(value) for name, value in stored.items()}
        names = ("at_ms", "trainer_ms", "first_ms", "tried_ms", "tried_events", "tries")
        return LastRetrain(
            watermarks=[found.get(f"watermark.{p}", 0) for p in range(self._n_partitions)],
            **{name: found.get(name, 0) for name in names},
        )

    def trainer_came(self) -> None:
        """Note that a trainer starts: the schedule pauses before its first order."""
        now = now_ms()
        with store_errors():
            self._client.hset(self._key, "trainer_ms", now)
            self._client.hsetnx(self._key, "first_ms", now)

    def ordered(self, events: int) -> None:
        """Note that the schedule orders a training; the pause grows with the orders that fail."""
        with store_errors(), self._client.pipeline(transaction=True) as pipe:
            pipe.hset(self._key, mapping={"tried_ms": now_ms(), "tried_events": events})
            pipe.hincrby(self._key, "tries", 1)
            pipe.execute()

    def trained(self, began_ms: int, watermarks: Sequence[int]) -> None:
        """Note a successful training, from whose beginning the conditions count."""
        now: dict[Any, Any] = {"at_ms": began_ms, "tries": 0}
        for partition, watermark in enumerate(watermarks):
            now[f"watermark.{partition}"] = watermark
        with store_errors():
            self._client.hset(self._key, mapping=now)
