"""Who sends events, and the ids of these events.

A producer is the client to which the window of ids gives a share of its own: an API key, or
without keys a program by its name in `User-Agent`. A client without a key can name itself as it
likes; but then only this machine can reach the service.
"""

from functools import cached_property, lru_cache
from hashlib import blake2b

from msgspec import UNSET, UnsetType
from starlette.types import Scope

from service.errors import InvalidEvent
from service.http.auth import DECIDED_BY, LOCAL, caller
from service.http.request_ids import FOLLOWED
from service.ids import is_id
from service.store.log.codec import DIGEST_BYTES, HAS_DIGEST, HAS_PRODUCER, PRODUCER_BYTES

IDENTIFIED = HAS_DIGEST | HAS_PRODUCER
"""Flags of a row with a digest of a ``Sender``."""

MAX_KEY_LENGTH = 200
"""Leaves room for ``#`` and the number of a row within the length of an event id."""


class Sender:
    """The producer of a request, and its `Idempotency-Key`."""

    def __init__(self, scope: Scope, key: str | None) -> None:
        self._scope, self.key = scope, key

    @cached_property
    def producer(self) -> bytes:
        """The bytes that stand for the producer."""
        return _named(caller(self._scope), _program(self._scope))

    @property
    def keys(self) -> str:
        """The version of the API keys by which the request was let in."""
        version: str = self._scope[DECIDED_BY]
        return version

    @property
    def request(self) -> str:
        """The id of the request, if it is followed through the logs."""
        followed: str = self._scope.get(FOLLOWED, "")
        return followed

    async def renew(self) -> None:
        """Ask again whether it may write; Unauthorised or Forbidden if not any more."""
        await self._scope["app"].state.key_check.renew(self._scope)

    def digest(self, user: str, event_id: str | UnsetType, index: int) -> bytes:
        """Return what stands for the event of a row, b"" for one without an id."""
        if event_id is UNSET:
            if self.key is None:
                return b""
            event_id = f"{self.key}#{index}"
        return digest(user, event_id)[:-PRODUCER_BYTES] + self.producer


def idempotency_key(scope: Scope) -> str | None:
    """Return the key of a write, if it has one; InvalidEvent for one that cannot be used."""
    for name, value in scope["headers"]:
        if name == b"idempotency-key":
            key: str = value.decode("latin-1")
            if not is_id(key) or len(key) > MAX_KEY_LENGTH:
                limits = f"1 to {MAX_KEY_LENGTH} characters, none of them a control character"
                detail = f"Idempotency-Key: {limits}"
                raise InvalidEvent(detail, code="invalid_id")
            return key
    return None


def digest(user: str, event_id: str) -> bytes:
    """Return the 16 bytes that stand for (user, event id); no id holds the separator."""
    return blake2b(f"{user}\0{event_id}".encode(), digest_size=DIGEST_BYTES).digest()


def _program(scope: Scope) -> bytes:
    return next((value for name, value in scope["headers"] if name == b"user-agent"), b"")


@lru_cache(maxsize=1_024)
def _named(caller: str, program: bytes) -> bytes:
    name = b"program " + program if caller == LOCAL else caller.encode()
    return blake2b(name, digest_size=PRODUCER_BYTES).digest()
