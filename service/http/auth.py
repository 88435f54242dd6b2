"""Authorisation: the role of each caller, looked up by the API key.

Everything is open while the store holds no key and the service listens on loopback. The keys are
read again when they are older than ``FRESH_S``, which bounds how long a key that another process
has revoked goes on working. They are also read again before an unknown key is refused, and before
anything but a read is let in without a key: the first key may have been made a moment ago.

What a store loses never opens anything: once there was a key, nothing is open again, and a key that
was revoked stays so. While the store is another one, the keys of the known one go on working.
"""

import asyncio
import ipaddress
import time
from collections.abc import Mapping
from typing import Literal, Protocol

from starlette.types import Scope

from service.errors import Forbidden, StoreRolledBack, Unauthorised
from service.store.api_keys import ApiKey, KeyRing, Role
from service.store.identity.survey import Survey

Need = Role | Literal["open"]

Roles = Mapping[tuple[str, str], Need]
"""The least role that each (method, path) needs."""

_RANK: dict[Need, int] = {"open": 0, "read": 1, "write": 2, "admin": 3}
FRESH_S = 0.2
"""Seconds after which the keys are read again."""
LOST = (
    "the store has lost its API keys, and nothing is open without one: put the store's backup in "
    "place, or make a key with `hedgerow keys create`"
)
_PAUSE_S = 0.1
"""Seconds between two reads: requests with unknown keys may wait that long for their refusal."""


class KeySource(Protocol):
    """The source from which ``KeyCheck`` reads the keys."""

    async def ring(self) -> KeyRing:
        """Return the current keys."""


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def caller(scope: Scope) -> str:
    """Return the caller's name for audit records: the id of the accepted key, else ``local``."""
    key_id = _authorization(scope).partition(b" ")[2].strip().split(b"_")[1:2]
    return "key " + key_id[0].decode("latin-1")[:64] if key_id else "local"


class KeyCheck:
    """Checks that the caller of a route has the role that it needs."""

    def __init__(
        self, keys: KeySource, host: str, *, had_keys: bool = False, fresh_s: float = FRESH_S
    ) -> None:
        """``had_keys``: there were keys before this process, whatever the store holds now."""
        self._keys, self._fresh_s = keys, fresh_s
        self.had_keys = had_keys
        """Whether there ever was a key; nothing is open then."""
        self._revoked: frozenset[str] = frozenset()
        self._loopback = is_loopback(host)
        self._ring = KeyRing({})
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()
        self._ranks: dict[bytes, int] = {}

    async def check(self, scope: Scope, need: Need) -> None:
        """Raise Unauthorised or Forbidden unless the caller's role is at least ``need``."""
        if need == "open":
            return
        now = time.monotonic()
        if now - self._read_at > self._fresh_s:
            await self._read_since(now - self._fresh_s)
        if self._is_open and (need == "read" or await self._is_open_now()):
            return
        header = _authorization(scope)
        rank = self._rank(header)
        if rank == 0 and _is_bearer(header):
            # another process may have created it a moment ago
            await self._read_since(now, pause_s=_PAUSE_S)
            rank = self._rank(header)
        if rank == 0:
            is_lost = self.had_keys and not self._ring
            raise Unauthorised(LOST if is_lost else _refusal(header))
        if rank < _RANK[need]:
            raise Forbidden(f"this route needs a key with the role `{need}`")

    def note(self, key: ApiKey) -> None:
        """Let a key that was made or revoked here act from now on, whether or not it can be read.

        A read that began before may miss it; that opens nothing, and revives no revoked key.
        """
        self._take_over(KeyRing({**self._ring.keys, key.id: key}))

    def forget(self, now: Survey, *, went_back: bool) -> None:
        """Read the keys anew: they are those of another store, or of an earlier time."""
        self._ring, self._read_at = KeyRing({}), float("-inf")
        self._ranks.clear()

    def hold(self, now: Survey) -> None:
        """Keep the keys: ``ApiKeys`` does not read those of another store."""

    @property
    def _is_open(self) -> bool:
        return self._loopback and not self._ring and not self.had_keys

    async def _is_open_now(self) -> bool:
        await self._read_since(time.monotonic())
        return self._is_open

    def _rank(self, header: bytes) -> int:
        rank = self._ranks.get(header)
        return self._look_up(header) if rank is None else rank

    def _look_up(self, header: bytes) -> int:
        secret = header.partition(b" ")[2]
        role = self._ring.authenticate(secret.strip()) if _is_bearer(header) else None
        if role is None:
            return 0
        self._ranks[header] = _RANK[role]
        return _RANK[role]

    async def _read_since(self, moment: float, pause_s: float = 0.0) -> None:
        """Read the keys unless they have been read since ``moment``; all who wait share a read.

        ``pause_s``: seconds from the last read to this one, at least.
        """
        async with self._reading:
            if self._read_at >= moment:
                return
            await asyncio.sleep(max(0.0, self._read_at + pause_s - time.monotonic()))
            asked = time.monotonic()
            try:
                self._take_over(await self._keys.ring())
            except StoreRolledBack:
                # what was known of the right store holds: its keys, or that there were none
                if self._read_at == float("-inf"):
                    raise
            self._read_at = asked

    def _take_over(self, ring: KeyRing) -> None:
        if not ring and self._ring:
            # keys never go away, they are revoked: this store has lost them
            return
        self._revoked |= ring.revoked
        self._ring = ring.without(self._revoked)
        self.had_keys = self.had_keys or bool(ring)
        self._ranks.clear()


def _authorization(scope: Scope) -> bytes:
    return next((value for name, value in scope["headers"] if name == b"authorization"), b"")


def _is_bearer(header: bytes) -> bool:
    scheme, _, secret = header.partition(b" ")
    return scheme.lower() == b"bearer" and bool(secret.strip())


def _refusal(header: bytes) -> str:
    """Return an error message for a header without a valid key."""
    if not header:
        return "no API key was sent: send one as `Authorization: Bearer hr_...`"
    if not _is_bearer(header):
        return (
            "the header Authorization is not `Bearer` and a key: "
            "send `Authorization: Bearer hr_...`"
        )
    return (
        "this API key is unknown or revoked: send another, "
        "`hedgerow keys create` and POST /v1/admin/keys make one"
    )
