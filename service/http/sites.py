"""Which web sites may use the service: ``Host`` and ``Origin`` are checked, browsers get headers.

A page in somebody's browser can reach what listens on loopback. By DNS rebinding its own name
points there, so that the browser takes the service for the page's own site: then ``Host`` has that
name. By a form or ``fetch`` it can write without reading the answer: then ``Origin`` has its name.
"""

from collections.abc import Iterable

from starlette.types import Scope

from service.errors import ServiceError
from service.http.auth import is_loopback

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
DEFAULT_PORTS = (b":80", b":443")
CSP = b"content-security-policy"

SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""Headers of every answer, for browsers."""
NO_CONTENT = (CSP, b"default-src 'none'; frame-ancestors 'none'")
"""The policy of answers that are no pages."""
_PAGE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


class UntrustedHost(ServiceError):
    """A request for another name than ours."""

    status, code = 421, "untrusted_host"


class ForeignOrigin(ServiceError):
    """A write from a page of another site."""

    status, code = 403, "foreign_origin"


class Sites:
    """The names of the service, and the sites whose pages may write."""

    def __init__(self, listens_on: str, hosts: Iterable[str], origins: Iterable[str]) -> None:
        named = frozenset(name.lower().encode() for name in hosts)
        ours = frozenset(name.lower().encode() for name in (*LOOPBACK, listens_on))
        self._any_host = b"*" in named or not (named or is_loopback(listens_on))
        self._hosts = named | ours
        self._origins = frozenset(origin.lower().encode() for origin in origins)

    def check(self, scope: Scope) -> None:
        """Raise UntrustedHost or ForeignOrigin."""
        host, origin = b"", None
        for name, value in scope["headers"]:
            if name == b"host":
                host = value.lower()
                self._check_host(host)
            elif name == b"origin":
                origin = value.lower()
        # a browser lets any page open a socket, and what comes through it is written
        if origin is not None and (scope["type"] == "websocket" or scope["method"] not in SAFE):
            self._check_origin(origin, host)

    def _check_host(self, host: bytes) -> None:
        if self._any_host or _without_port(host) in self._hosts:
            return
        raise UntrustedHost(
            "the header Host names none of this service's names: ask for `localhost`, or put the "
            "name into HEDGEROW_TRUSTED_HOSTS"
        )

    def _check_origin(self, origin: bytes, host: bytes) -> None:
        site = origin.partition(b"://")[2]
        if origin in self._origins or (site and _plain(site) == _plain(host)):
            return
        raise ForeignOrigin(
            "a page of another site may not write (header Origin): "
            "put the site into HEDGEROW_TRUSTED_ORIGINS if it should"
        )


def page_policy(script: str = "'none'", *, style: str = "'unsafe-inline'") -> dict[str, str]:
    """Return the header with the policy of a page that loads only what we serve.

    >>> page_policy()["content-security-policy"].split("; ")[:2]
    ["default-src 'none'", "script-src 'none'"]
    """
    loads = f"default-src 'none'; script-src {script}; style-src {style}"
    own = "img-src 'self' data:; connect-src 'self'"
    return {CSP.decode(): f"{loads}; {own}; {_PAGE}"}


def _without_port(host: bytes) -> bytes:
    """Return a host without its port.

    >>> _without_port(b"[::1]:8000"), _without_port(b"localhost")
    (b'[::1]', b'localhost')
    """
    if host.startswith(b"["):
        return host[: host.find(b"]") + 1]
    return host.partition(b":")[0]


def _plain(host: bytes) -> bytes:
    """Return a host without the default port of its scheme."""
    for port in DEFAULT_PORTS:
        host = host.removesuffix(port)
    return host
