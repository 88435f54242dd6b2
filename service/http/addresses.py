"""The network as which an address is counted."""

import ipaddress
from collections.abc import Iterable
from functools import lru_cache

KEPT = 4_096
"""Addresses of which the network is kept: parsing one takes as long as counting a request."""


class Networks:
    """Counts IPv4 by address and IPv6 by /64 network; some addresses are exempt."""

    def __init__(self, exempt: Iterable[str] = (), *, count_loopback: bool = False) -> None:
        self._exempt = [ipaddress.ip_network(one) for one in exempt]
        self._count_loopback = count_loopback
        self._network = lru_cache(KEPT)(self._network_of)

    def counted(self, address: str | None) -> str:
        """Return the network as which an address is counted, "" if it is not.

        >>> Networks().counted("2001:db8::7")
        '2001:db8::/64'
        """
        return "" if address is None else self._network(address)

    def _network_of(self, address: str) -> str:
        ip = ipaddress.ip_address(address.partition("%")[0])
        if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        free = ip.is_loopback and not self._count_loopback
        if free or any(ip in network for network in self._exempt):
            return ""
        return str(ip) if ip.version == 4 else str(ipaddress.ip_network((ip, 64), strict=False))
