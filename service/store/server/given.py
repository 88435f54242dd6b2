"""Checks of the given servers before anything starts: let in, closed to strangers, a primary.

Only whoever starts a service checks them. A process that is started again while it runs waits
instead: the server may be on its way back.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import redis
import redis.exceptions as redis_errors

from service.errors import Misconfigured, StoreUnavailable
from service.settings import PREFIX, Settings
from service.store.connection import connect, store_errors, without_password
from service.store.sentinel import address_of
from service.store_urls import URLS
from service.telemetry import logger

PAUSE_S = 0.1
"""Seconds between two questions whether a server has loaded its files."""
OURS = ("ssl_certfile", "ssl_keyfile", "username", "password")
"""Parts of a URL's query by which the server knows us."""


def check_given(settings: Settings, *, waits: bool = True) -> None:
    """Wait for the given servers to load their files, and check them; nothing if none is given.

    StoreUnavailable, which names the setting, if one does not answer or does not let us in; unless
    ``waits``, also if it still loads its files.
    Misconfigured if it lets in anybody, or is a replica.
    """
    for name in URLS:
        url = getattr(settings, name)
        if url is not None:
            with _naming(name, url), connect(url, role="start") as client:
                _until_loaded(client, waits=waits)
                if not settings.redis_without_password:
                    _refuse_open(url)
                _refuse_replica(client)


@contextmanager
def _naming(name: str, url: str) -> Iterator[None]:
    """Begin messages with the setting that they are about."""
    setting = f"{PREFIX}{name.upper()}={without_password(url)}"
    try:
        yield
    except StoreUnavailable as error:
        raise StoreUnavailable(f"{setting}: {error.detail}{_scheme(url, error)}") from error
    except Misconfigured as error:
        raise Misconfigured(f"{setting}: {error.detail}") from error


def _scheme(url: str, error: StoreUnavailable) -> str:
    """Return a hint at TLS if one side may speak it and the other not."""
    cause = error.__cause__
    if isinstance(cause, redis_errors.TimeoutError) and url.startswith("rediss"):
        return "; or does it speak no TLS at this port? then the URL begins with redis://"
    lost = "reset by peer" in error.detail or "closed by server" in error.detail
    if lost and url.startswith("redis://"):
        return "; or does it speak TLS at this port? then the URL begins with rediss://"
    return ""


def _until_loaded(client: redis.Redis, *, waits: bool) -> None:
    """Return once the server answers; raise what it says if that is no reason to wait."""
    pause, is_logged = threading.Event(), False
    while True:
        try:
            with store_errors():
                client.ping()
        except StoreUnavailable as error:
            if not waits or not isinstance(error.__cause__, redis_errors.BusyLoadingError):
                raise
            if not is_logged:
                logger().info("store_loading")
            is_logged = True
            pause.wait(PAUSE_S)
        else:
            return


def _refuse_open(url: str) -> None:
    """Raise Misconfigured if other machines reach the server, and it lets in anybody."""
    if not is_far(url):
        return
    try:
        with connect(_as_stranger(url), role="start") as stranger:
            stranger.ping()
    except redis_errors.RedisError:
        return
    raise Misconfigured(
        "this server lets in whoever reaches it, and whoever can write to it controls the service: "
        "give it a password (requirepass, or a user) and set HEDGEROW_REDIS_PASSWORD; or, if only "
        "Hedgerow reaches it, set HEDGEROW_REDIS_WITHOUT_PASSWORD=true"
    )


def is_far(url: str) -> bool:
    """Whether a server is not on a unix socket or on loopback."""
    if urlsplit(url).scheme == "unix":
        return False
    with store_errors():
        host, port = address_of(url)
    try:
        found = socket.getaddrinfo(host or "localhost", port, type=socket.SOCK_STREAM)
    except OSError:
        return True
    return not all(
        ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in found
    )


def _as_stranger(url: str) -> str:
    """Return a URL without what the server knows us by.

    >>> _as_stranger("rediss://me:secret@host:6380/0?ssl_ca_certs=ca&ssl_certfile=c&ssl_keyfile=k")
    'rediss://host:6380/0?ssl_ca_certs=ca'
    """
    parts = urlsplit(url)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name not in OURS]
    address = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=address, query=urlencode(query, safe="/")))


def _refuse_replica(client: redis.Redis) -> None:
    with store_errors():
        info: dict[str, Any] = client.info(section="replication")
    if info.get("role") != "slave":
        return
    primary = f"{info.get('master_host', 'unknown')}:{info.get('master_port', 'unknown')}"
    raise Misconfigured(
        f"this server is a replica of {primary}, where what is written here would be lost or "
        "refused: give the address of the primary"
    )
