"""A lease, held by the learner of a partition or by the trainer.

It only serves liveness: the epoch is what keeps two learners apart.
"""

import os
import secrets
import socket
import time
from collections.abc import Callable
from typing import cast

import redis

from service.store.connection import store_errors

# KEYS  lease.  ARGV  token it must hold, its new token, ms to live (0 deletes it).
_EXCHANGE = """
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[3] == '0' then redis.call('DEL', KEYS[1])
else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1
"""


class Lease:
    """A lease on one key; its token is ``host:process:random``."""

    def __init__(
        self,
        client: redis.Redis,
        key: str,
        lease_ms: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``clock`` gives the time in seconds that decides when to renew the lease."""
        self._client, self._key, self._lease_ms = client, key, lease_ms
        self._clock = clock
        self.token = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._renew_at = 0.0

    def acquire(self) -> bool:
        """Take the lease if it is free or its holder, a process of this machine, has ended.

        Return whether the lease is ours.
        """
        with store_errors():
            holder = cast("bytes | None", self._client.get(self._key))
        held = (holder or b"").decode()
        # ours, if the answer was lost when it was taken
        if held not in {"", self.token} and runs(held) is not False:
            return False
        return self._exchange(held, self._lease_ms)

    def seize(self) -> None:
        """Take the lease from any holder."""
        with store_errors():
            self._client.set(self._key, self.token, px=self._lease_ms)

    def keep(self) -> bool:
        """Renew the lease after a third of its life; return False if another process holds it."""
        if self._clock() < self._renew_at:
            return True
        # a lease that expired without a new holder is acquired again
        return self._exchange(self.token, self._lease_ms) or self.acquire()

    def release(self) -> None:
        """Give up the lease if it is ours."""
        self._exchange(self.token, 0)

    def _exchange(self, held: str, lease_ms: int) -> bool:
        with store_errors():
            done = self._client.eval(_EXCHANGE, 1, self._key, held, self.token, lease_ms)
        if done:
            self._renew_at = self._clock() + self._lease_ms / 3000
        return bool(done)


def runs(token: str) -> bool | None:
    """Return whether the process that a token names runs; None if it is not of this machine."""
    host, _, rest = token.partition(":")
    process = rest.partition(":")[0]
    if host != socket.gethostname() or not process.isdigit():
        return None
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
