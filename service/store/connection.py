"""Connections to Redis: a sync and an asyncio factory; every command is sent at most once.

By default redis-py repeats a command after a lost reply. Our clients never do: only the caller
knows whether a repeat is harmless.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote_plus, urlsplit

import redis
import redis.asyncio
from redis import exceptions as redis_errors
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from service.errors import StoreRefuses, StoreRolledBack, StoreUnavailable
from service.store.gate import AsyncGuardedPool, Gate, GuardedPool, obey
from service.store.sentinel import is_watched, pool_options

Client = redis.Redis
AsyncClient = redis.asyncio.Redis
"""Types for code that holds a connection without importing redis."""

SOCKET_TIMEOUT_S = 5.0
"""Seconds after which a reply counts as lost; longer than any BLOCK that we send."""

NOT_NOW = ("MISCONF ", "UNBLOCKED ")
"""Beginnings of passing errors without a class in redis-py: full disk, failover."""
NO_PERMISSION = "NOPERM "
"""Beginning of the error for a user of the server without the right to a command."""
NO_ROOM = "NOREPLICAS "
"""Beginning of the error of a private server with a disk that is nearly full (``server/room``)."""
OTHER_STORE = "OTHERSTORE "
"""Beginning of the error of our scripts for a caller that knew another store (``identity``)."""

_LOGIN = (
    "check the user in HEDGEROW_REDIS_URL, and the password there or in HEDGEROW_REDIS_PASSWORD"
)
_NAME = "its certificate does not name the host in HEDGEROW_REDIS_URL; use a name that it has"
_AUTHORITY = "name the file of the authority that signed its certificate in HEDGEROW_REDIS_CA_FILE"
_OWN = (
    "it may want a certificate of Hedgerow, or another one: set HEDGEROW_REDIS_CERT_FILE and "
    "HEDGEROW_REDIS_KEY_FILE"
)
REMEDIES = {
    "username-password pair": _LOGIN,
    "Authentication required": _LOGIN,
    "without any password configured": f"it has no password; {_LOGIN}",
    "Hostname mismatch": _NAME,
    "IP address mismatch": _NAME,
    "certificate has expired": "give the server a new certificate",
    "CERTIFICATE_VERIFY_FAILED": _AUTHORITY,
    "_ssl.c": _OWN,
}
"""Part of what Redis or OpenSSL says to a connection, and what to do; the first that fits counts.
"""

_COMMAND = re.compile(r"^Command # \d+ \(.*\) of pipeline caused error: (\(')?", re.DOTALL)
"""What redis-py puts before an error within a pipeline; the asyncio client quotes the error."""


def connect(
    url: str, *, role: str, timeout_s: float = SOCKET_TIMEOUT_S, gate: Gate | None = None
) -> redis.Redis:
    """Return a client that connects when first used, with connections named ``hedgerow-<role>``."""
    options = {
        "client_name": f"hedgerow-{role}",
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
    }
    pool: GuardedPool
    if is_watched(url):
        pool = GuardedPool(**pool_options(url, options, is_async=False))
    else:
        pool = GuardedPool.from_url(url, **options)
    obey(pool, gate)
    return redis.Redis.from_pool(pool)


def connect_async(
    url: str,
    *,
    role: str,
    max_connections: int = 32,
    timeout_s: float = SOCKET_TIMEOUT_S,
    gate: Gate | None = None,
) -> redis.asyncio.Redis:
    """Return an asyncio client; a caller waits for a connection while all of them are in use."""
    options = {
        "client_name": f"hedgerow-{role}",
        "protocol": 2,
        "retry": AsyncRetry(NoBackoff(), 0),
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        "max_connections": max_connections,
        "timeout": timeout_s,
    }
    pool: AsyncGuardedPool
    if is_watched(url):
        pool = AsyncGuardedPool(**pool_options(url, options, is_async=True))
    else:
        pool = AsyncGuardedPool.from_url(url, **options)
    obey(pool, gate)
    return redis.asyncio.Redis.from_pool(pool)


def without_password(url: str) -> str:
    """Return a url without its passwords, for messages; redis-py takes them in the query, too.

    >>> without_password("redis://me:secret@host:6379/0?ssl_password=secret&db=1")
    'redis://me:***@host:6379/0?ssl_password=***&db=1'
    """
    parts = urlsplit(url)
    # not urlunsplit: it takes the slashes from unix:///run/socket
    address, mark, query = url.partition("?")
    if parts.password is not None:
        masked = f"{parts.username}:***@{parts.netloc.rpartition('@')[2]}"
        address = address.replace(parts.netloc, masked, 1)
    return address + mark + "&".join(_masked(part) for part in query.split("&"))


def _masked(part: str) -> str:
    """Return one part of a query, ``name=value``, without the value if it is a password."""
    name = part.partition("=")[0]
    return f"{name}=***" if unquote_plus(name).endswith("password") else part


def said(error: BaseException) -> str:
    """Return what Redis said, without the command, which may hold what others stored.

    >>> said(ValueError("Command # 1 (SET a b) of pipeline caused error: MISCONF disk is full"))
    'MISCONF disk is full'
    """
    text = _COMMAND.sub("", str(error))
    return text.removesuffix("',)").partition(", script:")[0]


def away(reason: str) -> str:
    """Return the message that Redis does not answer, or refuses to be reached like this."""
    for sign, remedy in REMEDIES.items():
        if sign in reason:
            return f"Redis refuses the connection, or is not to be trusted ({reason}): {remedy}"
    return (
        f"Redis does not answer ({reason}): is it running? "
        "`hedgerow serve` starts its own again by itself"
    )


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn passing errors of Redis into StoreUnavailable; programming errors pass through.

    The refusal of a script whose caller knew another store becomes StoreRolledBack.
    """
    try:
        yield
    except redis_errors.BusyLoadingError as error:
        raise StoreUnavailable("Redis is still loading its files: try again soon") from error
    except (redis_errors.ConnectionError, redis_errors.TimeoutError) as error:
        raise StoreUnavailable(away(said(error))) from error
    except (redis_errors.OutOfMemoryError, redis_errors.ExecAbortError) as error:
        raise StoreRefuses(
            f"Redis refuses to write ({said(error)}): give it more memory (maxmemory)"
        ) from error
    except redis_errors.ReadOnlyError as error:
        raise StoreRefuses("Redis is a read-only replica: give the primary's address") from error
    except redis_errors.ResponseError as error:
        if OTHER_STORE in str(error):
            raise StoreRolledBack(
                "the store was restarted or went back meanwhile, nothing was written: send it again"
            ) from error
        if isinstance(error, redis_errors.NoPermissionError) or NO_PERMISSION in said(error):
            raise StoreRefuses(
                f"Redis lacks a permission for Hedgerow's user ({said(error)}): grant what "
                "docs/how-to/run-for-real.md lists"
            ) from error
        if said(error).startswith(NO_ROOM):
            raise StoreRefuses(
                "the store takes no writes: the disk of the private server is nearly full "
                "(HEDGEROW_DISK_RESERVE_MB), or replicas of a given one are away"
            ) from error
        if not said(error).startswith(NOT_NOW):
            raise
        raise StoreRefuses(f"Redis refuses for now ({said(error)}): see its log") from error
