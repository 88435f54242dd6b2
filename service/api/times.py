"""Conversions of times: milliseconds since 1970 inside the service, RFC 3339 outside.

Out goes one format, in UTC to the millisecond. In comes RFC 3339 with an offset, or a number: Unix
seconds, or milliseconds from 1e11 on, as in files.
"""

from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Annotated, Any

import msgspec
from pydantic import Field

from service.http.faults import A_TIME

MILLISECONDS_FROM = 1e11
"""Numbers from here on are milliseconds: as seconds they would lie beyond the year 5000."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""A time in an answer."""

_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_FIRST_MS, _LAST_MS = ((moment - _EPOCH) // timedelta(milliseconds=1) for moment in (_FIRST, _LAST))
_Aware = Annotated[datetime, msgspec.Meta(tz=True)]


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


def milliseconds(moment: datetime | float) -> int:
    """Return UTC milliseconds since 1970, those of a text rounded down.

    >>> milliseconds(1_794_960_000.25), milliseconds(1_794_960_000_250.0)
    (1794960000250, 1794960000250)
    """
    if isinstance(moment, float):
        return round(moment if abs(moment) >= MILLISECONDS_FROM else moment * 1000.0)
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000


def is_moment(moment: datetime | float) -> bool:
    """Return whether a time can be written in UTC; its offset may lead beyond the calendar."""
    if isinstance(moment, float):
        return isfinite(moment) and _FIRST_MS <= milliseconds(moment) <= _LAST_MS
    return _FIRST <= moment <= _LAST


def read_ms(given: Any) -> int:
    """Return the milliseconds of a time as clients send it, a date being its midnight in UTC.

    Raises ValueError for anything else.
    """
    is_date = isinstance(given, str) and len(given) == len("2026-12-01")
    try:
        moment: datetime | float = msgspec.convert(
            f"{given}T00:00:00Z" if is_date else given, _Aware | float
        )
        if not is_moment(moment):
            raise OverflowError
    except (msgspec.ValidationError, OverflowError):
        raise ValueError(f"must be {A_TIME}, or a date, 2026-11-18 (midnight in UTC)") from None
    return milliseconds(moment)


def in_one_format(text: str) -> str:
    """Return a stored time in the format of all answers."""
    return rfc3339(read_ms(text))
