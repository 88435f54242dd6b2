"""Cron expressions: five fields, in UTC."""

import re
from datetime import UTC, datetime

from croniter import CroniterBadDateError, croniter

_DRAWN = re.compile(r"\br\b", re.IGNORECASE)


def cron_problem(cron: str) -> str | None:
    """Return an error message for an invalid expression, None for a valid one."""
    # croniter's R is a random time, drawn again at each call: it would be due repeatedly
    if len(cron.split()) != 5 or _DRAWN.search(cron) or not croniter.is_valid(cron):
        return (
            f"{cron!r} is not a cron expression: give five fields, minute hour day month weekday, "
            "as in '0 4 * * *', every day at four (UTC)"
        )
    try:
        moment_before(cron, int(datetime.now(UTC).timestamp() * 1000))
    except CroniterBadDateError:
        return f"{cron!r} matches no day: give a day that its months have"
    return None


def moment_before(cron: str, now_ms: int) -> int:
    """Return the latest moment before ``now_ms`` that matches an expression, in ms."""
    moment = croniter(cron, datetime.fromtimestamp(now_ms / 1000, UTC)).get_prev(datetime)
    return int(moment.timestamp() * 1000)
