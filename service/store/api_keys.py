"""API keys, ``hr_<id>_<secret>``: a random secret that is shown once and stored as its SHA-256.

Async for the api, sync for the command line. A revoked key stays in the store, so that revoking
the last key never opens the service. Nor does a store that has lost its keys: see ``http/auth``.
"""

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, cast

import msgspec
import redis
import redis.asyncio

from service.errors import Conflict, NotFound, StoreRolledBack
from service.store.connection import store_errors
from service.store.identity.known import Known
from service.store.identity.scripts import checking
from service.store.keys import NamespaceKeys

# KEYS  keys, namespace.  ARGV  id, key, the store that the caller knows
_PUT, _ = checking("""
if not is_known(KEYS[2], ARGV[3]) then return OTHER_STORE end
return redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
""")

Role = Literal["read", "write", "admin"]


@dataclass(frozen=True)
class ApiKey:
    """A key as it is stored."""

    id: str
    name: str
    role: Role
    hash: str
    created: str
    revoked: str | None = None
    """Time of the revocation, None for a key in use."""


@dataclass(frozen=True)
class KeyRing:
    """All keys at one moment, revoked ones included; false if no key was ever created."""

    keys: Mapping[str, ApiKey]

    def __bool__(self) -> bool:
        return bool(self.keys)

    def without(self, revoked: Collection[str]) -> "KeyRing":
        """Return the keys with these, whose revocation the store may have lost, revoked."""
        lost = [key for key in self.keys.values() if key.id in revoked and key.revoked is None]
        return KeyRing({**self.keys, **{key.id: replace(key, revoked=_now()) for key in lost}})

    @property
    def revoked(self) -> frozenset[str]:
        """The ids of the revoked keys."""
        return frozenset(key.id for key in self.keys.values() if key.revoked is not None)

    @property
    def admins(self) -> frozenset[str]:
        """The ids of the admin keys that work."""
        keys = self.keys.values()
        return frozenset(k.id for k in keys if k.role == "admin" and k.revoked is None)

    def authenticate(self, presented: bytes) -> Role | None:
        """Return the role of the presented key, None if it is unknown, wrong or revoked."""
        prefix, _, rest = presented.partition(b"_")
        key_id, _, secret = rest.partition(b"_")
        key = self.keys.get(key_id.decode("latin-1"))
        known = key.hash if key is not None and prefix == b"hr" else ""
        # compare even for an unknown id, so that response times reveal no ids
        matches = hmac.compare_digest(_digest(secret), known.rjust(64))
        return key.role if matches and key is not None and key.revoked is None else None


class ApiKeys:
    """The keys of a namespace, for the api."""

    def __init__(
        self, client: redis.asyncio.Redis, namespace: str, *, known: Known | None = None
    ) -> None:
        """``known``: which store the keys are in; any store without it."""
        self._client, self._known = client, known or Known()
        self._keys = NamespaceKeys(namespace)

    async def ring(self) -> KeyRing:
        """Return all keys; StoreRolledBack if they are those of another store."""
        with store_errors():
            pipe = self._client.pipeline(transaction=True)
            pipe.hgetall(self._keys.api_keys)
            pipe.hget(self._keys.settings, "identity")
            stored, identity = await cast("Awaitable[list[Any]]", pipe.execute())
        known = self._known.identity
        if known is not None and identity != str(known).encode():
            raise StoreRolledBack("the store is another one, or went back: its keys are not known")
        self._known.had_keys = self._known.had_keys or bool(stored)
        return _ring(stored)

    async def create(self, role: Role, name: str) -> tuple[ApiKey, str]:
        """Create a key; its secret is returned here and never again."""
        key, secret = _mint(role, name)
        await self._put(key)
        return key, secret

    async def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key; NotFound if no key has this id, Conflict if no other admin key works."""
        ring = await self.ring()
        key = _revoked(ring, key_id)
        if key_id in ring.admins and len(ring.admins) == 1:
            raise Conflict(
                "this is the last admin key that works, and without one nobody could make keys "
                "here: make another first, or run `hedgerow keys revoke` on the service's machine"
            )
        await self._put(key)
        return key

    async def _put(self, key: ApiKey) -> None:
        keys, token = self._keys, self._known.token
        send: Callable[..., Awaitable[Any]] = self._client.execute_command
        with store_errors():
            await send("EVAL", _PUT, 2, keys.api_keys, keys.settings, key.id, _packed(key), token)


def read_ring(client: redis.Redis, namespace: str) -> KeyRing:
    """Return all keys."""
    with store_errors():
        stored = cast("dict[bytes, bytes]", client.hgetall(NamespaceKeys(namespace).api_keys))
    return _ring(stored)


def create_key(client: redis.Redis, namespace: str, role: Role, name: str) -> tuple[ApiKey, str]:
    """Create a key; its secret is returned here and never again."""
    key, secret = _mint(role, name)
    with store_errors():
        client.hset(NamespaceKeys(namespace).api_keys, key.id, _packed(key))
    return key, secret


def revoke_key(client: redis.Redis, namespace: str, key_id: str) -> ApiKey:
    """Revoke a key; NotFound if no key has this id."""
    key = _revoked(read_ring(client, namespace), key_id)
    with store_errors():
        client.hset(NamespaceKeys(namespace).api_keys, key.id, _packed(key))
    return key


def _ring(stored: Mapping[bytes, bytes]) -> KeyRing:
    keys = (msgspec.json.decode(packed, type=ApiKey) for packed in stored.values())
    return KeyRing({key.id: key for key in keys})


def _mint(role: Role, name: str) -> tuple[ApiKey, str]:
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    key = ApiKey(id=key_id, name=name, role=role, hash=_digest(secret.encode()), created=_now())
    return key, f"hr_{key_id}_{secret}"


def _revoked(ring: KeyRing, key_id: str) -> ApiKey:
    if key_id not in ring.keys:
        raise NotFound(f"there is no key with the id {key_id!r}: list the keys")
    key = ring.keys[key_id]
    return key if key.revoked else replace(key, revoked=_now())


def _packed(key: ApiKey) -> bytes:
    return msgspec.json.encode(asdict(key))


def _digest(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
