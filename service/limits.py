"""Bounds on what clients may take before anybody knows who they are; the table ``[limits]``."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Limits(BaseModel):
    """Bounds on what clients may take of each api process."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    header_bytes: Annotated[int, Field(ge=1024, le=1 << 20)] = 64 << 10
    """Maximum bytes of a request line and its headers; more is refused with 414 or 431."""
    header_s: Annotated[float, Field(gt=0)] = 20
    """Seconds that a client may take to send a request line and its headers, counted from its
    connection or from the answer before; then 408.
    """
    body_s: Annotated[float, Field(gt=0)] = 20
    """In every interval of so many seconds, a body must arrive at ``body_bytes_per_s`` on average;
    otherwise 408. Time in which the service does not read is not counted.
    """
    body_bytes_per_s: Annotated[float, Field(ge=0)] = 500
    """Least speed of a body in bytes a second; 0: any."""
    stream_pause_s: Annotated[float, Field(gt=0)] = 300
    """Seconds that a body of NDJSON may pause, instead of a least speed; then 408. A WebSocket may
    be without a message for so long; then it is closed with 4408. One that leaves its answers
    unread for so long is cut off.
    """
    body_bytes_held: Annotated[int, Field(ge=1 << 20)] = 64 << 20
    """Maximum bytes of bodies, beyond the first 16 kB of each, that an api process holds at one
    time; then 503. Streams of NDJSON are not held.
    """
    connections: Annotated[int, Field(ge=16)] = 4096
    """Maximum connections of each api process. Beyond it, the one that has waited longest for its
    client is closed; if none waits, the new one is refused with 503.
    """
    connections_per_address: Annotated[int, Field(ge=1)] = 512
    """Maximum connections of one address (IPv6: of one /64 network) to each api process; then 503.
    Loopback and ``trusted_proxies`` are exempt.
    """
    key_requests_per_s: Annotated[float, Field(ge=0)] = 0
    """Requests a second that each API key may send to each api process on average; more are refused
    with 429. 0: any number.
    """
    key_requests_at_once: Annotated[int, Field(ge=1)] = 1000
    """Requests that a key may send at once after a pause, with ``key_requests_per_s``."""
    unknown_requests_per_s: Annotated[float, Field(ge=0)] = 20
    """Requests a second that each address (IPv6: each /64 network) may send on average without an
    accepted key, or to a route that needs none; more are refused with 429. Loopback and
    ``trusted_proxies`` are exempt. 0: any number.
    """
    unknown_requests_at_once: Annotated[int, Field(ge=1)] = 200
    """Such requests of an address that may come at once after a pause."""
    watchers: Annotated[int, Field(ge=1)] = 256
    """Maximum clients of each api process that watch a job (`/v1/jobs/{job}/events`); then 503."""
    sockets: Annotated[int, Field(ge=1)] = 256
    """Maximum WebSockets (`/v1/events/ws`) of each api process; then 503."""
    message_bytes: Annotated[int, Field(ge=1024, le=16 << 20)] = 256 << 10
    """Maximum bytes of a message of a WebSocket; a longer one closes it with 1009. An api process
    may hold three times as many bytes for each of its ``sockets``, and the events that it decodes
    of them: fewer than twice ``max_array`` at a time.
    """
    count_loopback: bool = False
    """Whether the bounds by address hold for loopback too. All clients of a proxy on loopback then
    count as one address, unless ``trusted_proxies`` names it.
    """
