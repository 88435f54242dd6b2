"""Posts to the addresses of webhooks: no redirects, no proxies, no private addresses.

A name is looked up here and the connection goes to the address that was checked, so that a name
server cannot say one thing to the check and another to the connection.
"""

import asyncio
import ipaddress
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from time import time
from typing import Any, NamedTuple

import httpx

from service.errors import InvalidWebhook
from service.serving.webhooks.signing import signed
from service.store.webhooks.records import MOST, Delivery, Webhook

TIMEOUT_S = 10.0
"""Time that a receiver has for its answer, from the look-up of its name on."""
AGENT = f"hedgerow/{version('hedgerow')}"
TO_PRIVATE = "HEDGEROW_WEBHOOKS_TO_PRIVATE=true"
_PORTS = {"http": 80, "https": 443}
_IN_IPV6 = ipaddress.IPv6Network("64:ff9b::/96")
"""IPv4 addresses behind a translator stand in the last four bytes of these."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Outcome(NamedTuple):
    """How a try went."""

    status: int | None
    """None: there was no answer."""
    error: str
    """Empty if the receiver has it."""
    after_s: float = 0.0
    """How long the receiver asks to wait."""

    @property
    def is_refused_for_ever(self) -> bool:
        """Whether the receiver wants nothing any longer."""
        return self.status == httpx.codes.GONE


def check_url(url: str, *, to_private: bool) -> None:
    """Raise InvalidWebhook if nothing can be sent there. Names are looked up later."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidWebhook(f"`url` cannot be read: {error}") from error
    if parsed.scheme not in _PORTS or not parsed.host:
        raise InvalidWebhook("`url` must begin with https:// and the name of a host")
    if not 0 < (parsed.port or _PORTS[parsed.scheme]) < 1 << 16:
        raise InvalidWebhook("`url` must have a port of 1 to 65535, or none")
    if parsed.scheme == "http" and not to_private:
        raise InvalidWebhook(f"`url` must begin with https://; http:// needs {TO_PRIVATE}")
    if parsed.userinfo or parsed.fragment:
        raise InvalidWebhook("`url` must have neither a password nor a fragment (#...)")
    address = _literal(parsed.host)
    if address is not None and not to_private and not is_public(address):
        raise InvalidWebhook(f"{parsed.host} is a private address: that needs {TO_PRIVATE}")


def is_public(address: Address) -> bool:
    """Return whether an address is one of the Internet, also behind a translation to IPv6.

    >>> [is_public(ipaddress.ip_address(one)) for one in ("8.8.8.8", "10.0.0.1", "::ffff:10.0.0.1")]
    [True, False, False]
    """
    if isinstance(address, ipaddress.IPv6Address):
        behind = address.ipv4_mapped or address.sixtofour
        if address in _IN_IPV6:
            behind = ipaddress.IPv4Address(address.packed[-4:])
        if behind is not None:
            return is_public(behind)
        if address.is_site_local:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


class Receivers:
    """Posts deliveries, each with a connection of its own."""

    def __init__(self, *, to_private: bool, timeout_s: float = TIMEOUT_S) -> None:
        self._to_private, self._timeout_s = to_private, timeout_s
        self._client: httpx.AsyncClient | None = None
        # look-ups that take long keep nothing else of this process waiting
        self._names = ThreadPoolExecutor(MOST, "receiver-names")

    async def post(self, webhook: Webhook, delivery: Delivery) -> Outcome:
        """Send a delivery once and return how it went."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._post(webhook, delivery)
        except (TimeoutError, httpx.TimeoutException):
            return Outcome(None, f"no answer within {self._timeout_s:g} seconds")
        except InvalidWebhook as error:
            return Outcome(None, error.detail)
        except socket.gaierror as error:
            return Outcome(None, f"the name of the host is not known: {error.strerror}")
        except httpx.ConnectError as error:
            return Outcome(None, f"no connection: {error}")
        except (httpx.HTTPError, OSError, ValueError) as error:
            # its words may hold the address, which may be secret
            return Outcome(None, f"the connection broke: {type(error).__name__}")

    async def close(self) -> None:
        """Close what is open."""
        self._names.shutdown(wait=False, cancel_futures=True)
        if self._client is not None:
            await self._client.aclose()

    async def _post(self, webhook: Webhook, delivery: Delivery) -> Outcome:
        check_url(webhook.url, to_private=self._to_private)
        url = httpx.URL(webhook.url)
        addresses = await self._addresses(url)
        body = delivery.body.encode()
        headers = signed(webhook.secret, delivery.id, int(time()), body)
        headers |= {"content-type": "application/json", "user-agent": AGENT}
        headers["host"] = url.netloc.decode()
        requests = [
            self._opened().build_request(
                "POST",
                url.copy_with(host=str(address)),
                content=body,
                headers=headers,
                # one that does not answer leaves time for the others
                timeout=httpx.Timeout(self._timeout_s, connect=self._timeout_s / len(addresses)),
                # the name that the certificate must have
                extensions={"sni_hostname": url.raw_host.decode()},
            )
            for address in addresses
        ]
        for request in requests[:-1]:
            with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return await self._sent(request)
        return await self._sent(requests[-1])

    async def _sent(self, request: httpx.Request) -> Outcome:
        answer = await self._opened().send(request, stream=True)
        # its body is not read
        await answer.aclose()
        return _outcome(answer)

    async def _addresses(self, url: httpx.URL) -> list[Address]:
        """Return the addresses of a host; InvalidWebhook if it has none that may be asked."""
        asked = partial(
            socket.getaddrinfo,
            url.raw_host,
            url.port or _PORTS[url.scheme],
            type=socket.SOCK_STREAM,
        )
        found: Any = await asyncio.get_running_loop().run_in_executor(self._names, asked)
        addresses = [ipaddress.ip_address(one[4][0].partition("%")[0]) for one in found]
        allowed = [one for one in addresses if self._to_private or is_public(one)]
        if not allowed:
            raise InvalidWebhook(f"the host has private addresses only: that needs {TO_PRIVATE}")
        return allowed

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            trusted = httpx.create_ssl_context(trust_env=False)
            # authorities of the operator's own
            trusted.load_default_certs(ssl.Purpose.SERVER_AUTH)
            self._client = httpx.AsyncClient(
                verify=trusted,
                trust_env=False,
                timeout=self._timeout_s,
                # a connection that is kept was checked for the name of another receiver
                limits=httpx.Limits(max_keepalive_connections=0),
            )
        return self._client


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return ipaddress.IPv4Address("127.0.0.1") if host == "localhost" else None


def _outcome(answer: httpx.Response) -> Outcome:
    if answer.is_success:
        return Outcome(answer.status_code, "")
    said = f"it answered {answer.status_code}"
    if answer.has_redirect_location:
        said += ": redirects are not followed, give the address where it leads"
    wait = answer.headers.get("retry-after", "")
    return Outcome(answer.status_code, said, float(wait) if wait.isdigit() else 0.0)
