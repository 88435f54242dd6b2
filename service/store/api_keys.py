"""API keys, ``hr_<id>_<secret>``: a random secret that is shown once and stored as its SHA-256.

Async for the api, sync for the command line. A revoked key stays in the store, so that revoking
the last key never opens the service.
"""

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Literal, cast

import msgspec
import redis
import redis.asyncio

from service.errors import NotFound
from service.store.connection import store_errors
from service.store.keys import NamespaceKeys

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

    def __init__(self, client: redis.asyncio.Redis, namespace: str) -> None:
        self._client = client
        self._key = NamespaceKeys(namespace).api_keys

    async def ring(self) -> KeyRing:
        """Return all keys."""
        with store_errors():
            stored = await cast("Awaitable[dict[bytes, bytes]]", self._client.hgetall(self._key))
        return _ring(stored)

    async def create(self, role: Role, name: str) -> tuple[ApiKey, str]:
        """Create a key; its secret is returned here and never again."""
        key, secret = _mint(role, name)
        with store_errors():
            await self._client.hset(self._key, key.id, _packed(key))
        return key, secret

    async def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key; NotFound if no key has this id."""
        key = _revoked(await self.ring(), key_id)
        with store_errors():
            await self._client.hset(self._key, key.id, _packed(key))
        return key


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
