"""The URLs of the given servers, with all that a connection needs: password and files of TLS.

They stand in settings of their own, so that secrets can be files. From here on a URL says it all.
"""

import ssl
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from service.errors import Misconfigured
from service.settings import PREFIX, Settings

URLS = ("redis_url", "jobs_redis_url")
"""Settings with URLs of servers."""
TLS_FILES = {
    "redis_ca_file": "ssl_ca_certs",
    "redis_cert_file": "ssl_certfile",
    "redis_key_file": "ssl_keyfile",
}
"""Settings with the names that redis-py gives them in a URL."""
ENCRYPTED = {"rediss", "rediss+sentinel"}
"""Schemes of URLs of servers that speak TLS."""


def with_whole_urls(settings: Settings) -> Settings:
    """Return settings whose URLs hold the password and the files of TLS, too.

    So everything that connects needs a URL and nothing else. Child processes do the same again.
    """
    _refuse_parts_without_url(settings)
    files = {name: path for name in TLS_FILES if (path := getattr(settings, name)) is not None}
    if files:
        _check_files(files)
    query = {TLS_FILES[name]: str(path.absolute()) for name, path in files.items()}
    whole = {
        name: _with_query(url, query)
        for name in URLS
        if (url := getattr(settings, name)) is not None
    }
    if settings.redis_password is not None:
        whole["redis_url"] = _with_password(whole["redis_url"], settings.redis_password)
    return settings.model_copy(update=whole)


def _refuse_parts_without_url(settings: Settings) -> None:
    """Raise Misconfigured if something is said of a connection that there is not."""
    if settings.redis_password is not None and settings.redis_url is None:
        raise Misconfigured(
            "HEDGEROW_REDIS_PASSWORD is set without HEDGEROW_REDIS_URL: the private server of "
            "`hedgerow serve` has no password, name the server that has one"
        )
    urls = [url for name in URLS if (url := getattr(settings, name)) is not None]
    if any(urlsplit(url).scheme in ENCRYPTED for url in urls):
        return
    for name in TLS_FILES:
        if getattr(settings, name) is not None:
            raise Misconfigured(
                f"{PREFIX}{name.upper()} is set, but the connection is not encrypted: let "
                "HEDGEROW_REDIS_URL begin with rediss://"
            )


def _check_files(files: Mapping[str, Path]) -> None:
    """Raise Misconfigured unless the certificates and the key can be read and fit."""
    # all of them first: OpenSSL does not say which of two files it cannot read
    for name, path in files.items():
        try:
            path.read_bytes()
        except OSError as error:
            raise Misconfigured(
                f"{PREFIX}{name.upper()} names {path}, which cannot be read: {error.strerror}"
            ) from error
    if "redis_key_file" in files and "redis_cert_file" not in files:
        raise Misconfigured(
            "HEDGEROW_REDIS_KEY_FILE is set without HEDGEROW_REDIS_CERT_FILE: set both"
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for name, path in files.items():
        try:
            if name == "redis_ca_file":
                context.load_verify_locations(path)
            elif name == "redis_cert_file":
                context.load_cert_chain(path, files.get("redis_key_file"))
        except ssl.SSLError as error:
            wants = "a certificate" if name == "redis_ca_file" else "a certificate and its key"
            raise Misconfigured(
                f"{PREFIX}{name.upper()} names {path}, in which {wants} in PEM form is expected: "
                f"{error}"
            ) from error


def _with_query(url: str, query: dict[str, str]) -> str:
    parts = urlsplit(url)
    if not query or parts.scheme not in ENCRYPTED:
        return url
    given = dict(parse_qsl(parts.query))
    return urlunsplit(parts._replace(query=urlencode(given | query, safe="/")))


def _with_password(url: str, password: str) -> str:
    """Return a URL with a password, Misconfigured if it has another one.

    >>> _with_password("rediss://hedgerow@host:6380/0", "p/w")
    'rediss://hedgerow:p%2Fw@host:6380/0'
    """
    parts = urlsplit(url)
    quoted = quote(password, safe="")
    # decoded, like redis-py does: not everybody encodes the same characters
    if parts.password and unquote(parts.password) != password:
        raise Misconfigured(
            "HEDGEROW_REDIS_URL has a password, and HEDGEROW_REDIS_PASSWORD has another one: "
            "set one of them"
        )
    address = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{parts.username or ''}:{quoted}@{address}"))


def without_given_password(url: str) -> str:
    """Return a URL as it was before it got the password of the settings.

    >>> without_given_password("rediss://hedgerow:p%2Fw@host:6380/0")
    'rediss://hedgerow@host:6380/0'
    >>> without_given_password("unix://:p%2Fw@/run/socket")
    'unix:///run/socket'
    """
    parts = urlsplit(url)
    address = parts.netloc.rpartition("@")[2]
    netloc = f"{parts.username}@{address}" if parts.username else address
    # not urlunsplit: it takes the slashes from unix:///run/socket
    return url.replace(f"//{parts.netloc}", f"//{netloc}", 1)
