"""API keys, ``hr_<id>_<secret>``: a random secret that is shown once and stored as its SHA-256.

Async for the api, sync for the command line. A revoked key stays in the store, so that revoking
the last key never opens the service. Nor does a store that has lost its keys: see ``http/auth``.
"""

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import resources
from typing import Any, Literal, cast

import msgspec
import redis
import redis.asyncio

from service.errors import Conflict, NotFound, StoreRolledBack
from service.store.clock import now_ms
from service.store.connection import store_errors
from service.store.identity.known import Known
from service.store.identity.scripts import checking
from service.store.keys import NamespaceKeys

_PUT, _ = checking(resources.files(__package__).joinpath("put_api_key.lua").read_text())

_REFUSALS = {
    b"no-admin": "no lasting admin key works here, and without one nobody could make keys: the "
    "first key must have the role `admin` and no end",
    b"last-admin": "this is the last lasting admin key, and without one nobody could make keys "
    "here: make another first, or run `hedgerow keys revoke` on the service's machine",
}
"""What the script may answer instead of a key."""

Role = Literal["read", "write", "admin"]
MOST_DAYS = 36_500
"""Longest life of a key that has an end: beyond the year 9999 no time can be shown."""


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
    expires_ms: int | None = None
    """UTC ms from when on it works no longer, None for a key that lasts."""

    def works(self, now_ms: int) -> bool:
        """Return whether it is neither revoked nor at its end."""
        return self.revoked is None and (self.expires_ms is None or now_ms < self.expires_ms)


@dataclass(frozen=True)
class KeyRing:
    """All keys at one moment, revoked ones included; false if no key was ever created."""

    keys: Mapping[str, ApiKey]
    version: str = ""
    """Changes with every change of the keys; empty before the first."""

    def __bool__(self) -> bool:
        return bool(self.keys)

    def without(self, revoked: Collection[str]) -> "KeyRing":
        """Return the keys with these, whose revocation the store may have lost, revoked."""
        lost = [key for key in self.keys.values() if key.id in revoked and key.revoked is None]
        revoked_now = {key.id: replace(key, revoked=_now()) for key in lost}
        return replace(self, keys={**self.keys, **revoked_now})

    @property
    def revoked(self) -> frozenset[str]:
        """The ids of the revoked keys."""
        return frozenset(key.id for key in self.keys.values() if key.revoked is not None)

    def authenticate(self, presented: bytes) -> ApiKey | None:
        """Return the presented key; None if it is unknown or wrong, or works no longer."""
        prefix, _, rest = presented.partition(b"_")
        key_id, _, secret = rest.partition(b"_")
        key = self.keys.get(key_id.decode("latin-1"))
        known = key.hash if key is not None and prefix == b"hr" else ""
        # compare even for an unknown id, so that response times reveal no ids
        matches = hmac.compare_digest(_digest(secret), known.rjust(64))
        return key if matches and key is not None and key.works(now_ms()) else None


class ApiKeys:
    """The keys of a namespace, for the api."""

    def __init__(
        self, client: redis.asyncio.Redis, namespace: str, *, known: Known | None = None
    ) -> None:
        """``known``: which store the keys are in; any store without it."""
        self._client, self._known = client, known or Known()
        self._keys = NamespaceKeys(namespace)
        self._latest: KeyRing | None = None
        """The keys when they were last read."""

    async def latest(self) -> KeyRing:
        """*Same as* ``ring``, but reads the keys only if their version has changed."""
        with store_errors():
            version = await cast(
                "Awaitable[bytes | None]", self._client.get(self._keys.api_keys_version)
            )
        if self._latest is None or self._latest.version != (version or b"").decode():
            return await self.ring()
        return self._latest

    def forget(self) -> None:
        """Read the keys again, whatever their version is."""
        self._latest = None

    async def ring(self) -> KeyRing:
        """Return all keys; StoreRolledBack if they are those of another store."""
        with store_errors():
            pipe = self._client.pipeline(transaction=True)
            pipe.hgetall(self._keys.api_keys)
            pipe.hget(self._keys.settings, "identity")
            pipe.get(self._keys.api_keys_version)
            stored, identity, version = await cast("Awaitable[list[Any]]", pipe.execute())
        known = self._known.identity
        if known is not None and identity != str(known).encode():
            raise StoreRolledBack("the store is another one, or went back: its keys are not known")
        self._known.had_keys = self._known.had_keys or bool(stored)
        self._latest = replace(_ring(stored), version=(version or b"").decode())
        return self._latest

    async def create(
        self, role: Role, name: str, expires_ms: int | None = None
    ) -> tuple[ApiKey, str]:
        """Create a key; its secret is returned here and never again.

        Conflict if no lasting admin key works and this is not one: the first key is such a key.
        """
        key, secret = _mint(role, name, expires_ms)
        return await self._changed(_to_put(key)), secret

    async def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key; NotFound if no key has this id, Conflict if no other admin key works."""
        return await self._changed(_to_revoke(key_id))

    async def _changed(self, change: tuple[str, ...]) -> ApiKey:
        keys, token = self._keys, self._known.token
        send: Callable[..., Awaitable[Any]] = self._client.execute_command
        with store_errors():
            answer = await send("EVAL", _PUT, *_named(keys), token, *change)
        return _stored_key(answer, change)


def read_ring(client: redis.Redis, namespace: str) -> KeyRing:
    """Return all keys."""
    with store_errors():
        stored = cast("dict[bytes, bytes]", client.hgetall(NamespaceKeys(namespace).api_keys))
    return _ring(stored)


def create_key(
    client: redis.Redis, namespace: str, role: Role, name: str, expires_ms: int | None = None
) -> tuple[ApiKey, str]:
    """*Same as* ``ApiKeys.create``, for the command line."""
    key, secret = _mint(role, name, expires_ms)
    return _change(client, namespace, _to_put(key)), secret


def revoke_key(client: redis.Redis, namespace: str, key_id: str) -> ApiKey:
    """Revoke a key, be it the last admin key; NotFound if no key has this id."""
    return _change(client, namespace, _to_revoke(key_id, even_the_last_admin=True))


def _change(client: redis.Redis, namespace: str, change: tuple[str, ...]) -> ApiKey:
    keys, any_store = NamespaceKeys(namespace), ""
    with store_errors():
        answer = client.eval(_PUT, *_named(keys), any_store, *change)
    return _stored_key(cast("bytes", answer), change)


def _named(keys: NamespaceKeys) -> tuple[int, str, str, str]:
    """Return the keys of the script."""
    return 3, keys.api_keys, keys.settings, keys.api_keys_version


def _to_put(key: ApiKey) -> tuple[str, ...]:
    """Return what the script needs to store a new key."""
    return key.id, msgspec.json.encode(key).decode(), "", secrets.token_hex(4)


def _to_revoke(key_id: str, *, even_the_last_admin: bool = False) -> tuple[str, ...]:
    """Return what the script needs to revoke a key."""
    version = secrets.token_hex(4)
    return key_id, "", _now(), version, "any" if even_the_last_admin else ""


def _stored_key(answer: bytes, change: tuple[str, ...]) -> ApiKey:
    """Return the key that the script has stored, or raise what it says."""
    if answer == b"unknown":
        raise NotFound(
            f"there is no key with the id {change[0]!r}: `hedgerow keys list` and "
            "GET /v1/admin/keys list them"
        )
    if answer in _REFUSALS:
        raise Conflict(_REFUSALS[answer])
    return msgspec.json.decode(answer, type=ApiKey)


def _ring(stored: Mapping[bytes, bytes]) -> KeyRing:
    keys = (msgspec.json.decode(packed, type=ApiKey) for packed in stored.values())
    return KeyRing({key.id: key for key in keys})


def ends_after(days: float | None) -> int | None:
    """Return the UTC ms so many days from now; None for a key that lasts."""
    return None if days is None else now_ms() + int(days * 86_400_000)


def _mint(role: Role, name: str, expires_ms: int | None) -> tuple[ApiKey, str]:
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    key = ApiKey(
        id=key_id,
        name=name,
        role=role,
        hash=_digest(secret.encode()),
        created=_now(),
        expires_ms=expires_ms,
    )
    return key, f"hr_{key_id}_{secret}"


def _digest(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
