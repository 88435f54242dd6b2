"""Servers watched by Redis Sentinel: each connection asks the sentinels which one is the primary.

A connection to a server that is the primary no longer ends, and the next one leads to the new one.
Everything else is as with any server that was replaced: the identity that every write checks tells
what was lost.
"""

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import redis
import redis.asyncio
from redis import exceptions as redis_errors
from redis.asyncio import connection as async_connection
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

SCHEMES = {"redis+sentinel": "redis", "rediss+sentinel": "rediss"}
"""Schemes of URLs that name sentinels, and those of the servers that they watch."""
DEFAULT_PORT = 26_379
PATIENCE_S = 0.5
"""Seconds without an answer after which the next sentinel is asked."""
OF_SENTINELS = {"sentinel_username": "username", "sentinel_password": "password"}
"""Parts of a URL's query that are for the sentinels, and what redis-py calls them."""
NOT_THE_PRIMARY = "this server is not the primary any more; Sentinel says which one is"


class _Said(NamedTuple):
    """What a sentinel says of the primary."""

    epoch: int
    """The number of the failover that made it the primary."""
    address: tuple[str, int]
    is_down: bool


class Watched(NamedTuple):
    """The primary of a group of servers, by those who watch it."""

    sentinels: tuple[tuple[str, int], ...]
    """Host and port of each."""
    group: str
    """What the sentinels call it, ``mymaster`` for instance."""
    options: tuple[tuple[str, Any], ...] = ()
    """How to connect to a sentinel."""

    @classmethod
    def by(cls, url: str, client_name: str = "hedgerow") -> tuple[Self, str]:
        """Return what a URL names, and the URL of a server of the group but for its address.

        The sentinels are asked by TLS if the servers are, with the same files.

        >>> watched, url = Watched.by("redis+sentinel://me:secret@a,b:26380/shop/1")
        >>> watched.sentinels, watched.group, url
        ((('a', 26379), ('b', 26380)), 'shop', 'redis://me:secret@primary/1')
        """
        parts = urlsplit(url)
        who, at, addresses = parts.netloc.rpartition("@")
        group, _, database = parts.path.strip("/").partition("/")
        query = dict(parse_qsl(parts.query))
        login = {OF_SENTINELS[name]: query.pop(name) for name in OF_SENTINELS if name in query}
        sentinels = tuple(_address(one) for one in addresses.split(","))
        server = urlunsplit(
            (SCHEMES[parts.scheme], f"{who}{at}primary", f"/{database}", urlencode(query), "")
        )
        timeouts = dict.fromkeys(("socket_timeout", "socket_connect_timeout"), PATIENCE_S)
        options = {**timeouts, "client_name": client_name, **login, **_encryption(server)}
        return cls(sentinels, group, tuple(options.items())), server

    def primary(self) -> tuple[str, int]:
        """Ask all sentinels at once for host and port of the primary; the latest one counts."""
        with ThreadPoolExecutor(len(self.sentinels)) as asking:
            return self._latest([*asking.map(self._said_by, self.sentinels)])

    async def primary_async(self) -> tuple[str, int]:
        """Ask as ``primary`` does."""
        return self._latest(await asyncio.gather(*map(self._said_by_async, self.sentinels)))

    def _said_by(self, address: tuple[str, int]) -> _Said | str:
        """Return what a sentinel says, or why it says nothing."""
        host, port = address
        retry = Retry(NoBackoff(), 0)
        try:
            with redis.Redis(host, port, retry=retry, **dict(self.options)) as sentinel:
                at = sentinel.sentinel_get_master_addr_by_name(self.group)
                return _said(at, sentinel.sentinel_master(self.group))
        except (redis_errors.RedisError, OSError, LookupError) as error:
            return f"{host}:{port}: {error}"

    async def _said_by_async(self, address: tuple[str, int]) -> _Said | str:
        host, port = address
        retry = AsyncRetry(NoBackoff(), 0)
        options = dict(self.options)
        try:
            async with redis.asyncio.Redis(
                host=host, port=port, retry=retry, **options
            ) as sentinel:
                at = await sentinel.sentinel_get_master_addr_by_name(self.group)
                return _said(at, await sentinel.sentinel_master(self.group))
        except (redis_errors.RedisError, OSError, LookupError) as error:
            return f"{host}:{port}: {error}"

    def _latest(self, answers: Sequence[_Said | str]) -> tuple[str, int]:
        """Return what the sentinels know that heard of the last failover; others are cut off."""
        known = [one for one in answers if isinstance(one, _Said)]
        last = max((one.epoch for one in known), default=0)
        up = [one.address for one in known if one.epoch == last and not one.is_down]
        if up:
            return up[0]
        said = [one for one in answers if isinstance(one, str)]
        said += [f"{one.address[0]}:{one.address[1]} is down" for one in known]
        raise redis_errors.ConnectionError(self._nobody_knows(said))

    def _nobody_knows(self, said: list[str]) -> str:
        return f"no sentinel says which server is the primary of {self.group} ({'; '.join(said)})"


def is_watched(url: str) -> bool:
    """Whether a URL names sentinels."""
    return urlsplit(url).scheme in SCHEMES


def address_of(url: str) -> tuple[str | None, int | None]:
    """Return host and port of a server by its URL; of the primary, if the URL names sentinels."""
    if is_watched(url):
        return Watched.by(url)[0].primary()
    parts = urlsplit(url)
    return parts.hostname, parts.port


def pool_options(url: str, options: Mapping[str, Any], *, is_async: bool) -> dict[str, Any]:
    """Return the options of a pool whose connections lead to the primary.

    ``options`` are those of every pool.
    """
    watched, server = Watched.by(url, options["client_name"])
    module = async_connection if is_async else redis.connection
    given = dict(module.parse_url(server))
    is_encrypted = given.pop("connection_class", None) is not None
    kinds = _ASYNC if is_async else _BLOCKING
    return {**options, **given, "connection_class": kinds[is_encrypted], "watched": watched}


class _ToPrimary:
    """A blocking connection that looks for the primary whenever it connects."""

    def __init__(self, *, watched: Watched, **options: Any) -> None:
        super().__init__(**options)
        self._watched = watched

    def _connect(self) -> Any:
        self.host, self.port = self._watched.primary()
        return super()._connect()  # type: ignore[misc]

    def on_connect_check_health(self, *args: Any, **options: Any) -> None:
        super().on_connect_check_health(*args, **options)  # type: ignore[misc]
        self.send_command("INFO", "replication")  # type: ignore[attr-defined]
        _refuse_other(self.read_response())

    def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return super().read_response(*args, **options)  # type: ignore[misc]
        except redis_errors.ReadOnlyError as error:
            self.disconnect()  # type: ignore[attr-defined]
            raise redis_errors.ConnectionError(NOT_THE_PRIMARY) from error


class _ToPrimaryAsync:
    """The same for an event loop."""

    def __init__(self, *, watched: Watched, **options: Any) -> None:
        super().__init__(**options)
        self._watched = watched

    async def _connect(self) -> None:
        self.host, self.port = await self._watched.primary_async()
        await super()._connect()  # type: ignore[misc]

    async def on_connect_check_health(self, *args: Any, **options: Any) -> None:
        await super().on_connect_check_health(*args, **options)  # type: ignore[misc]
        await self.send_command("INFO", "replication")  # type: ignore[attr-defined]
        _refuse_other(await self.read_response())

    async def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return await super().read_response(*args, **options)  # type: ignore[misc]
        except redis_errors.ReadOnlyError as error:
            await self.disconnect()  # type: ignore[attr-defined]
            raise redis_errors.ConnectionError(NOT_THE_PRIMARY) from error


class _Plain(_ToPrimary, redis.Connection):
    """A blocking connection."""


class _Encrypted(_ToPrimary, redis.SSLConnection):
    """A blocking connection by TLS."""


class _PlainAsync(_ToPrimaryAsync, async_connection.Connection):
    """A connection of an event loop."""


class _EncryptedAsync(_ToPrimaryAsync, async_connection.SSLConnection):
    """A connection of an event loop by TLS."""


_BLOCKING = {False: _Plain, True: _Encrypted}
_ASYNC = {False: _PlainAsync, True: _EncryptedAsync}


def _encryption(server: str) -> dict[str, Any]:
    """Return the options for TLS that the URL of a server has; none if it speaks none.

    >>> _encryption("rediss://host?ssl_ca_certs=ca&db=1"), _encryption("redis://host")
    ({'ssl': True, 'ssl_ca_certs': 'ca'}, {})
    """
    if not server.startswith("rediss://"):
        return {}
    given = dict(redis.connection.parse_url(server))  # type: ignore[no-untyped-call]
    return {"ssl": True} | {name: given[name] for name in given if name.startswith("ssl_")}


def _refuse_other(info: bytes) -> None:
    """Raise ConnectionError for what a server says of its replication if it is not a primary."""
    # not ROLE: that is a right which Hedgerow's user need not have
    if b"role:master" not in info:
        raise redis_errors.ConnectionError(NOT_THE_PRIMARY)


def _said(address: Any, state: Any) -> _Said:
    if address is None:
        raise LookupError("knows no such group")
    host, port = address
    found = (host.decode() if isinstance(host, bytes) else str(host)), int(port)
    # while a failover ends, the address is already that of the new one
    is_same = found == (state["ip"], state["port"])
    return _Said(state["config-epoch"], found, is_same and (state["is_sdown"] or state["is_odown"]))


def _address(text: str) -> tuple[str, int]:
    """Return host and port.

    >>> _address("[::1]:5000"), _address("sentinel.internal")
    (('::1', 5000), ('sentinel.internal', 26379))
    """
    parts = urlsplit(f"//{text}")
    return parts.hostname or "localhost", parts.port or DEFAULT_PORT
