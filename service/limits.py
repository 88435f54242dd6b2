"""Bounds on what clients may take before anybody knows who they are; the table ``[limits]``."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class Limits(BaseModel):
    """Limits for clients of each api process."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    header_bytes: Annotated[int, Field(ge=1024, le=1 << 20)] = 64 << 10
    """Maximum bytes of a request line and its headers; more is refused with 414 or 431."""
    header_s: Annotated[float, Field(gt=0)] = 20
    """Seconds that a client may take to send a request line and its headers, counted from the start
    of the connection or from the previous answer; then 408.
    """
    body_s: Annotated[float, Field(gt=0)] = 20
    """In every interval of this many seconds, a body must arrive with ``body_bytes_per_s`` on
    average; otherwise 408. Time in which the service does not read is not counted.
    """
    body_bytes_per_s: Annotated[float, Field(ge=0)] = 500
    """Minimum speed of a body in bytes a second; 0: any speed."""
    stream_pause_s: Annotated[float, Field(gt=0)] = 300
    """Seconds for which an NDJSON body may pause (it has no minimum speed); then 408. A
    WebSocket without a message for this time is closed with 4408. If its client does not read the
    answers for this time, the connection is cut.
    """
    body_bytes_held: Annotated[int, Field(ge=1 << 20)] = 64 << 20
    """Maximum bytes of all bodies together that an api process holds at a time, without the first
    16 kB of each body; then 503. NDJSON streams are not held in memory.
    """
    connections: Annotated[int, Field(ge=16)] = 4096
    """Maximum number of connections of each api process. Beyond it, the connection that has waited
    longest for its client is closed; if none is waiting, the new connection is refused with 503.
    """
    connections_per_address: Annotated[int, Field(ge=1)] = 512
    """Maximum number of connections of an address (IPv6: of a /64 network) to each api process;
    then 503. Loopback and ``trusted_proxies`` are exempt.
    """
    key_requests_per_s: Annotated[float, Field(ge=0)] = 0
    """Requests a second that may be sent on average with the same API key to each api process; more
    are refused with 429. 0: any number.
    """
    key_requests_at_once: Annotated[int, Field(ge=1)] = 1000
    """Number of requests with the same key that may come at once after a pause, if
    ``key_requests_per_s`` is set."""
    unknown_requests_per_s: Annotated[float, Field(ge=0)] = 20
    """Requests a second that each address (IPv6: each /64 network) may send on average without a
    valid key, or to routes that need no key; more are refused with 429. Loopback and
    ``trusted_proxies`` are exempt. 0: any number.
    """
    unknown_requests_at_once: Annotated[int, Field(ge=1)] = 200
    """Number of requests without a valid key that may come from an address at once after a
    pause."""
    watchers: Annotated[int, Field(ge=1)] = 256
    """Maximum number of clients of each api process that watch a job (`/v1/jobs/{job}/events`);
    then 503."""
    sockets: Annotated[int, Field(ge=1)] = 256
    """Maximum number of WebSockets (`/v1/events/ws`) of each api process; then 503."""
    message_bytes: Annotated[int, Field(ge=1024, le=16 << 20)] = 256 << 10
    """Maximum bytes of a message of a WebSocket; a longer message closes it with 1009. For each
    WebSocket, an api process may hold up to three times this number of bytes, and besides fewer
    than 2 x ``max_array`` decoded events.
    """
    count_loopback: bool = False
    """Whether the limits for addresses also apply to loopback. Then all clients of a proxy on
    loopback count as one address, unless ``trusted_proxies`` names the proxy.
    """
