"""Feedback that a list brings by being asked for (``write-back-type``), as Gorse's clients expect.

A page of another site could ask for a list in the name of its visitor, so that browsers may not.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from service.api.gorse.call import Call, Refused
from service.api.gorse.feedback import send, types_of
from service.errors import Forbidden

WRITE_BACK = "write-back-type"
"""The parameter that makes the request a write."""
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3_600.0}
_MOST_S = 2**63 / 1e9
"""The longest duration of Go, 292 years."""
_OWN = {"", "none", "same-origin"}


async def show(call: Call, items: Sequence[str]) -> None:
    """Store feedback for the items of a list, if the request says so."""
    kind = call.value(WRITE_BACK)
    if not kind or not items:
        return
    if call.header("sec-fetch-site") not in _OWN:
        raise Forbidden("a page of another site may not write: leave out write-back-type")
    moment = datetime.now(UTC) + timedelta(seconds=duration(call.value("write-back-delay")))
    types = types_of(call)
    events = [types.event(call.user, item, kind, 0.0) for item in items]
    for event in events:
        event.timestamp = moment
    await send(call, events)


def duration(text: str) -> float:
    """Return the seconds of a duration in the words of Go; Refused if it is none.

    >>> duration("1h30m"), duration("10s"), duration("")
    (5400.0, 10.0, 0.0)
    """
    parts = _PART.findall(text)
    if "".join(number + unit for number, unit in parts) != text and text != "0":
        raise Refused(f"write-back-delay is {text[:50]!r}: write 10s, 5m or 1h30m")
    seconds = sum((float(number) * _SECONDS[unit] for number, unit in parts), 0.0)
    if seconds > _MOST_S:
        raise Refused(f"write-back-delay is {text[:50]!r}: it can be at most 2562047h")
    return seconds
