"""Times as Gorse reads and writes them: in comes nearly any date, out goes RFC 3339 to the second.

"Never" is the first second of year 1, as in Go.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from service.api.gorse.call import Refused
from service.api.times import is_moment, milliseconds, read_ms, rfc3339

NEVER = "0001-01-01T00:00:00Z"

_FORMATS = (
    *("%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%m/%d/%Y", "%m/%d/%Y %H:%M:%S"),
    *("%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%d-%b-%Y", "%B %d %Y", "%b %d %Y"),
    *("%a %b %d %H:%M:%S %Y", "%Y-%m", "%Y.%m.%d", "%Y%m%d%H%M%S"),
    *("%B %d, %Y %I:%M:%S %p", "%b %d, %Y %I:%M:%S %p", "%B %d, %Y %I:%M %p", "%b %d, %Y %I:%M %p"),
    *("%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %I:%M %p", "%Y-%m-%d %I:%M:%S %p"),
)
"""What is read beside RFC 3339 and its relatives, RFC 2822 and unix times; all in UTC."""
_TWELVE_HOURS = re.compile(r"[\d\s][ap]\.?m\b", re.IGNORECASE)
"""The half of a day, which the standard library's reader of RFC 2822 ignores."""
_GO = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) ([+-]\d{4})(?: [+-]?\w+)?(?: m=\S+)?")
"""A time as Go prints it: with the offset, the name of the zone, perhaps the process's clock."""
_UNIX_DIGITS = range(9, 14)
"""Digits of unix seconds and milliseconds; fewer are a year, or a date without separators."""


def read_time(text: str) -> int | None:
    """Return the milliseconds since 1970 of a time, None for "never"; Refused for no time.

    >>> read_time("2022-02-24"), read_time("May 8, 2009"), read_time("1384216367")
    (1645660800000, 1241740800000, 1384216367000)
    """
    text = text.strip()
    if not text:
        return None
    if text.isdecimal() and len(text) in _UNIX_DIGITS:
        return read_ms(float(text))
    for moment in _readings(text):
        known = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        with suppress(OverflowError):
            known = known.astimezone(UTC)
        if known.year == 1:
            return None
        if is_moment(known):
            return milliseconds(known)
    raise Refused(
        f"{text[:100]!r} is no time: send RFC 3339, such as 2026-11-18T12:00:00Z, or a date"
    )


def written(time_ms: int | None) -> str:
    """Return a time as Gorse writes it: a fraction only if it is not zero.

    >>> written(1_794_960_000_250), written(1_794_960_000_000), written(None)
    ('2026-11-18T00:00:00.25Z', '2026-11-18T00:00:00Z', '0001-01-01T00:00:00Z')
    """
    if time_ms is None:
        return NEVER
    whole, _, fraction = rfc3339(time_ms).removesuffix("Z").partition(".")
    digits = fraction.rstrip("0")
    return f"{whole}.{digits}Z" if digits else f"{whole}Z"


def _readings(text: str) -> Iterator[datetime]:
    """Yield each way to read a text as a time."""
    for read in _readers():
        with suppress(ValueError, TypeError, IndexError, OverflowError):
            yield read(text)


def _readers() -> Iterator[Callable[[str], datetime]]:
    yield datetime.fromisoformat
    yield _of_go
    for form in _FORMATS:
        yield lambda text, form=form: datetime.strptime(text, form)  # type: ignore[misc]  # noqa: DTZ007
    yield _of_mail


def _of_go(text: str) -> datetime:
    match = _GO.fullmatch(text)
    if match is None:
        raise ValueError
    return datetime.fromisoformat(match[1] + match[2])


def _of_mail(text: str) -> datetime:
    if _TWELVE_HOURS.search(text):
        raise ValueError
    return parsedate_to_datetime(text)
