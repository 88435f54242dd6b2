"""When a request is sent again, and after which pause."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from hedgerow_client.errors import RateLimited, Unavailable, Unreachable
from hedgerow_client.requests import Request

Failure = Unreachable | RateLimited | Unavailable
NOTHING_WAS_DONE = {"not_ready", "overloaded", "too_many_connections"}
"""Codes of a 503 that the service gives before it begins with a request."""


@dataclass(frozen=True)
class Retries:
    """How long a request is repeated after a broken connection, a 429 or a 503.

    Pauses grow exponentially and are partly random, so that many clients do not come back at the
    same moment. An answer that says how long to wait is obeyed. ``patience_s=0`` never repeats.
    """

    patience_s: float = 60.0
    first_pause_s: float = 0.1
    longest_pause_s: float = 5.0


class Tries:
    """The tries of one request."""

    def __init__(
        self,
        request: Request,
        retries: Retries,
        *,
        now: Callable[[], float] = monotonic,
        chance: Callable[[], float] = random.random,  # noqa: S311 - it only spreads pauses
    ) -> None:
        self._request, self._retries = request, retries
        self._now, self._chance = now, chance
        self._end = now() + retries.patience_s
        self._next_s = retries.first_pause_s

    def pause_after(self, failure: Failure) -> float:
        """Return the seconds to wait before the next try; raise the failure if there is none."""
        pause_s = self._next_s * (0.5 + 0.5 * self._chance())
        self._next_s = min(2 * self._next_s, self._retries.longest_pause_s)
        told_s = None if isinstance(failure, Unreachable) else failure.retry_after_s
        if told_s is not None:
            # never sooner than told, and not all at the same moment
            pause_s = max(pause_s, told_s * (1 + 0.25 * self._chance()))
        if not self._may_repeat(failure) or self._now() + pause_s > self._end:
            raise failure
        return pause_s

    def _may_repeat(self, failure: Failure) -> bool:
        if self._request.repeatable or isinstance(failure, RateLimited):
            return True
        if isinstance(failure, Unreachable):
            return failure.nothing_was_sent
        return failure.code in NOTHING_WAS_DONE
