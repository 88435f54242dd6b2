"""Conversions of times: milliseconds since 1970 inside the service, RFC 3339 outside."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import Field

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A time in an answer."""

_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def rfc3339(time_ms: int) -> str:
    """Return a moment as text, to the millisecond.

    >>> rfc3339(1_794_960_000_250)
    '2026-11-18T00:00:00.250Z'
    """
    # whole numbers all the way: a float has too few digits for the ms of late years
    moment = _EPOCH + timedelta(milliseconds=time_ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def rfc3339_or_none(time_ms: int | None) -> str | None:
    """Return a moment as text; None for None."""
    return None if time_ms is None else rfc3339(time_ms)


def milliseconds(moment: datetime) -> int:
    """Return UTC milliseconds since 1970, rounded down."""
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000


def is_moment(moment: datetime) -> bool:
    """Return whether a time can be written in UTC; its offset may lead beyond the calendar."""
    return _FIRST <= moment <= _LAST
