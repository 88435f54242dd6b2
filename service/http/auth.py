"""Authorisation: the role of each caller, looked up by the API key.

Everything is open while the store holds no key and the service listens on loopback. The ``Pulse``
brings the keys many times a second, which is enough for reads. Before an unknown key is refused,
and before anything but a read is let in, one more beat is awaited: a key may have been made or
revoked a moment ago. Feedback need not wait, because the script that appends it compares the
version of the keys with that by which its sender was let in; if it has changed, ``renew`` asks
anew. While the store does not answer, the keys that are known are kept for a bounded time.

What a store loses never opens anything: once there was a key, nothing is open again, and a key that
was revoked stays so. While the store is another one, the keys of the known one go on working.
"""

import ipaddress
import time
from collections.abc import Mapping
from typing import Literal

from starlette.types import Scope

from service.errors import Forbidden, StoreUnavailable, Unauthorised
from service.store.api_keys import ApiKey, KeyRing, Role
from service.store.clock import now_ms
from service.store.identity.survey import Survey
from service.store.pulse import Pulse

Need = Role | Literal["open"]

Roles = Mapping[tuple[str, str], Need]
"""The least role that each (method, path) needs."""

_RANK: dict[Need, int] = {"open": 0, "read": 1, "write": 2, "admin": 3}
FRESH_S = 0.2
"""Largest age of the keys while the store answers, in seconds."""
DECIDED_BY = "hedgerow.keys"
"""Where a request notes the version of the keys by which it was let in."""
ACCEPTED = "hedgerow.accepted_key"
"""Where a request notes the id of the key that was accepted, None if none was needed: a key that
was only sent says nothing of who sent it."""
LOCAL = "local"
"""The caller without a key."""
LOST = (
    "the store has lost its API keys, and nothing is open without one: put the store's backup in "
    "place, or make a key with `hedgerow keys create`"
)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def caller(scope: Scope) -> str:
    """Return the caller's name for audit records: the id of the accepted key, else ``LOCAL``."""
    key_id = scope.get(ACCEPTED)
    return LOCAL if key_id is None else f"key {key_id}"


class KeyCheck:
    """Checks that the caller of a route has the role that it needs."""

    def __init__(
        self,
        pulse: Pulse,
        host: str,
        *,
        had_keys: bool = False,
        kept_s: float = 300.0,
        fresh_s: float = FRESH_S,
    ) -> None:
        """``had_keys``: there were keys before this process, whatever the store holds now.

        The keys are kept for ``kept_s`` seconds while the store does not answer.
        """
        self._pulse, self._fresh_s, self._kept_s = pulse, fresh_s, kept_s
        self.had_keys = had_keys
        """Whether there ever was a key; nothing is open then."""
        self._revoked: frozenset[str] = frozenset()
        self._loopback = is_loopback(host)
        self._ring = KeyRing({})
        self._taken: KeyRing | None = None
        """The keys that were last taken over from the pulse."""
        self._version = ""
        """Their version; keys that are noted here do not change it, so that a write asks anew."""
        self._accepted: dict[bytes, ApiKey] = {}
        """The keys that came lately, by header."""

    async def check(self, scope: Scope, need: Need, *, appends: bool = False) -> str | None:
        """Raise Unauthorised or Forbidden unless the caller's role is at least ``need``.

        Returns the id of the accepted key, None if none was needed. A request that ``appends`` has
        to pass on what is then noted as ``DECIDED_BY``.
        """
        if need == "open":
            return None
        key = await self._decide(scope, need, is_lax=appends or need == "read")
        scope[ACCEPTED] = key
        if appends:
            scope[DECIDED_BY] = self._version
        return key

    async def renew(self, scope: Scope) -> None:
        """Check the sender of feedback again, by the keys as they are now."""
        await self._pulse.since(time.monotonic())
        await self.check(scope, "write", appends=True)

    async def _decide(self, scope: Scope, need: Need, *, is_lax: bool) -> str | None:
        now = time.monotonic()
        await self._follow(now if is_lax else now + self._fresh_s)
        if self._is_open and (is_lax or await self._is_open_now(now)):
            return None
        header = _authorization(scope)
        rank = self._rank(header)
        if rank == 0 and _is_bearer(header):
            # another process may have created it a moment ago; guessing costs the store nothing
            await self._pulse.since(now, hurry=False)
            await self._follow(now)
            rank = self._rank(header)
        if rank == 0:
            is_lost = self.had_keys and not self._ring
            raise Unauthorised(LOST if is_lost else _refusal(header))
        if rank < _RANK[need]:
            raise Forbidden(f"this route needs a key with the role `{need}`")
        return _key_id(header)

    def note(self, key: ApiKey) -> None:
        """Let a key that was made or revoked here act from now on, whether or not it can be read.

        A read that began before may miss it; that opens nothing, and revives no revoked key.
        """
        self._take_over(KeyRing({**self._ring.keys, key.id: key}))

    def forget(self, now: Survey, *, went_back: bool) -> None:
        """Read the keys anew: they are those of another store, or of an earlier time."""
        self._pulse.forget()
        self._ring, self._taken = KeyRing({}), None
        self._accepted.clear()

    def hold(self, now: Survey) -> None:
        """Keep the keys: ``ApiKeys`` does not read those of another store."""

    async def _follow(self, now: float) -> None:
        """Take over the keys of the pulse, ``fresh_s`` old by ``now`` if the store answers."""
        pulse = self._pulse
        if now - pulse.asked_at > self._fresh_s:
            try:
                await pulse.since(now - self._fresh_s)
            except StoreUnavailable as error:
                if pulse.ring is None or now - pulse.answered_at > self._kept_s:
                    raise StoreUnavailable(f"API keys cannot be checked: {error.detail}") from error
        if pulse.ring is not None and pulse.ring is not self._taken:
            self._taken, self._version = pulse.ring, pulse.ring.version
            self._take_over(pulse.ring)

    @property
    def _is_open(self) -> bool:
        return self._loopback and not self._ring and not self.had_keys

    async def _is_open_now(self, now: float) -> bool:
        await self._pulse.since(now)
        await self._follow(now)
        return self._is_open

    def _rank(self, header: bytes) -> int:
        key = self._accepted.get(header) or self._look_up(header)
        return _RANK[key.role] if key is not None and key.works(now_ms()) else 0

    def _look_up(self, header: bytes) -> ApiKey | None:
        secret = header.partition(b" ")[2]
        key = self._ring.authenticate(secret.strip()) if _is_bearer(header) else None
        if key is not None:
            self._accepted[header] = key
        return key

    def _take_over(self, ring: KeyRing) -> None:
        if not ring and self._ring:
            # keys never go away, they are revoked: this store has lost them
            return
        self._revoked |= ring.revoked
        self._ring = ring.without(self._revoked)
        self.had_keys = self.had_keys or bool(ring)
        self._accepted.clear()


def _authorization(scope: Scope) -> bytes:
    return next((value for name, value in scope["headers"] if name == b"authorization"), b"")


def _key_id(header: bytes) -> str:
    """Return the id in a header with a key of ours."""
    return header.split(b"_", 2)[1].decode("latin-1")


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
        "this API key is unknown, revoked or expired: send another, "
        "`hedgerow keys create` and POST /v1/admin/keys make one"
    )
