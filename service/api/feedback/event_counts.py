"""Counts the events that were stored, and by error code those that were not."""

from collections.abc import Iterator
from contextlib import contextmanager

from service.errors import ServiceError
from service.metrics.catalogue import EVENTS_ACCEPTED, EVENTS_REFUSED
from service.metrics.meters import Meters


class EventCounts:
    """What became of the events that clients sent, as they were told."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters
        self.accepted = meters.count(EVENTS_ACCEPTED).add

    def refused(self, code: str, n: int = 1) -> None:
        """Count events that were refused."""
        self._meters.count(EVENTS_REFUSED, code).add(n)

    @contextmanager
    def all_or_none(self, n: int) -> Iterator[None]:
        """Count ``n`` events as refused if the block raises an error of ours."""
        try:
            yield
        except ServiceError as error:
            self.refused(error.code, n)
            raise
