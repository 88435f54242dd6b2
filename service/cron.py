"""Cron expressions: five fields, in UTC."""

import re
from datetime import UTC, datetime

from croniter import CroniterBadDateError, croniter

_DRAWN = re.compile(r"\br\b", re.IGNORECASE)


def cron_problem(cron: str) -> str | None:
    """Return what is wrong with an expression and what it looks like; None for a good one."""
    # R is a moment drawn anew at each look: it would be due again and again
    if len(cron.split()) != 5 or _DRAWN.search(cron) or not croniter.is_valid(cron):
        return (
            f"{cron!r} is no cron expression: give five fields, minute hour day month weekday, "
            "as in '0 4 * * *', every day at four (UTC)"
        )
    try:
        moment_before(cron, int(datetime.now(UTC).timestamp() * 1000))
    except CroniterBadDateError:
        return f"no day is ever one of {cron!r}: give a day that its months have"
    return None


def moment_before(cron: str, now_ms: int) -> int:
    """Return the last moment of an expression, in ms."""
    moment = croniter(cron, datetime.fromtimestamp(now_ms / 1000, UTC)).get_prev(datetime)
    return int(moment.timestamp() * 1000)
