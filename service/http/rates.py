"""How many requests a caller may send in a time: a bucket for each API key, and for each address.

A bucket holds ``at_once`` tokens and gets ``per_s`` new ones a second; a request takes one. A
request without an accepted key, or to a route that needs none, takes it from the bucket of its
address. A key is counted after it was accepted, so that nobody can empty the bucket of another.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from starlette.types import Scope

from service.errors import ServiceError
from service.http.addresses import Networks
from service.limits import Limits

MOST_BUCKETS = 65_536
"""Buckets that are kept; beyond it, the one that was used longest ago is forgotten: it is full."""
_NAME = "HEDGEROW_LIMITS__"


class TooManyRequests(ServiceError):
    status, code = 429, "rate_limited"

    def __init__(self, detail: str, retry_after_s: int) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class Left(NamedTuple):
    """What a bucket holds after a request."""

    at_once: int
    tokens: float
    """Below zero: the request must wait."""
    full_in_s: float

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers that tell a client how many requests it has left."""
        return [
            (b"ratelimit-limit", b"%d" % self.at_once),
            (b"ratelimit-remaining", b"%d" % max(self.tokens, 0)),
            (b"ratelimit-reset", b"%d" % math.ceil(self.full_in_s)),
        ]


class Buckets:
    """A bucket for each of many callers, all of one size."""

    def __init__(self, per_s: float, at_once: int) -> None:
        self.per_s, self.at_once = per_s, at_once
        # one number says how full a bucket is; a caller that is not here has a full one
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def take(self, caller: str, now: float) -> Left:
        """Take a token if there is one; return what is left."""
        full_at = max(self._full_at.get(caller, now), now) + 1 / self.per_s
        # times have few digits for short spans: unrounded, the last token may seem to be missing
        tokens = round(self.at_once - (full_at - now) * self.per_s, 3)
        left = Left(self.at_once, tokens, full_at - now)
        if left.tokens < 0:
            return left
        self._full_at[caller] = full_at
        self._full_at.move_to_end(caller)
        if len(self._full_at) > MOST_BUCKETS:
            self._full_at.popitem(last=False)
        return left


class Rates:
    """Counts the requests of an api process."""

    def __init__(
        self,
        limits: Limits,
        exempt: Iterable[str] = (),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """``exempt``: networks of proxies, whose own requests are not counted."""
        self._networks = Networks(exempt, count_loopback=limits.count_loopback)
        self._now = now
        self._keys = _buckets(limits.key_requests_per_s, limits.key_requests_at_once)
        self._addresses = _buckets(limits.unknown_requests_per_s, limits.unknown_requests_at_once)

    def count_key(self, scope: Scope, key_id: str) -> None:
        """Count a request with an accepted key; raise TooManyRequests if there were too many."""
        if self._keys is not None:
            self._take(scope, self._keys, key_id, ("of this key", "KEY_REQUESTS"))

    def count_address(self, scope: Scope) -> None:
        """Count a request of which only the address is known, as ``count_key`` does."""
        if self._addresses is None or scope.get("client") is None:
            return
        network = self._networks.counted(scope["client"][0])
        if network:
            where = f"from {network} without an accepted key"
            self._take(scope, self._addresses, network, (where, "UNKNOWN_REQUESTS"))

    def _take(self, scope: Scope, buckets: Buckets, caller: str, told: tuple[str, str]) -> None:
        left = buckets.take(caller, self._now())
        scope["more_headers"] += left.headers()
        if left.tokens < 0:
            whose, setting = told
            raise TooManyRequests(
                f"{buckets.at_once} requests {whose} may come at once ({_NAME}{setting}_AT_ONCE), "
                f"{buckets.per_s:g} a second on average ({_NAME}{setting}_PER_S): wait, or send "
                "many events and ask for many lists in one request",
                math.ceil(-left.tokens / buckets.per_s),
            )


def _buckets(per_s: float, at_once: int) -> Buckets | None:
    return Buckets(per_s, at_once) if per_s else None
