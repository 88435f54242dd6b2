"""What a learner counts: the times of its batches and commits, and how fresh events become."""

from collections.abc import Sequence

from service.metrics.catalogue import COMMIT_SECONDS, FRESHNESS, LEARN_SECONDS
from service.metrics.meters import Meters
from service.store.clock import now_ms
from service.tracing import spans

Arrivals = Sequence[tuple[int, int]]
"""(time in ms, number) of events that arrived together."""


class LearnerMeters:
    """The meters of one partition."""

    def __init__(self, meters: Meters, partition: int) -> None:
        self._partition = partition
        label = str(partition)
        self._batch = meters.spread(LEARN_SECONDS, label)
        self._commit = meters.spread(COMMIT_SECONDS, label)
        self._freshness = meters.spread(FRESHNESS, label)

    def learned(self, n: int, seconds: float) -> None:
        """Note that a batch of so many events was learned."""
        self._batch.note(seconds)
        if (traced := spans()) is not None:
            traced.add("learn", seconds, {"partition": self._partition, "events": n})

    def committed(self, seconds: float, arrivals: Arrivals) -> None:
        """Note that a commit is done, which makes the events of these arrivals visible."""
        self._commit.note(seconds)
        if (traced := spans()) is not None:
            events = sum(n for _, n in arrivals)
            traced.add("commit", seconds, {"partition": self._partition, "events": events})
        now = now_ms()
        for arrived_ms, n in arrivals:
            # the clock of another machine may be ahead of ours
            self._freshness.note(max(now - arrived_ms, 0) / 1_000, n)
