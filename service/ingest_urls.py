"""Streams of brokers as URLs, for settings: nats://HOST:4222/STREAM?subject=events.>&batch=100.

They become the options of `hedgerow ingest`.
"""

from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit


class Broker(NamedTuple):
    """How the URLs of a broker become options."""

    server: str
    """The option that names the server."""
    stream: str
    """The option that names what is read."""
    options: frozenset[str]
    """The other options, which a URL may give as a query."""
    example: str


BROKERS = {
    "nats": Broker(
        "nats",
        "stream",
        frozenset({"subject", "durable", "ack-wait", "credentials", "batch", "dead-letters"}),
        "nats://127.0.0.1:4222/EVENTS?subject=events.>",
    )
}


def ingest_problem(url: str) -> str | None:
    """Return what is wrong with the URL of a stream, None if nothing is.

    >>> ingest_problem("nats://127.0.0.1:4222")
    'it names no stream: nats://127.0.0.1:4222/EVENTS?subject=events.>, say'
    """
    parts = urlsplit(url)
    broker = BROKERS.get(parts.scheme)
    if broker is None or not parts.netloc:
        return f"it must begin with one of {', '.join(f'{one}://HOST' for one in BROKERS)}"
    if "@" in parts.netloc:
        return "a password in it would be seen in lists of processes: give a file of credentials"
    if not _stream(parts):
        return f"it names no stream: {broker.example}, say"
    given = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    unknown = sorted({*given} - broker.options)
    if unknown:
        return f"it has no option {unknown[0]!r}: it may have {', '.join(sorted(broker.options))}"
    return None


def ingest_arguments(url: str) -> list[str]:
    """Return the options of `hedgerow ingest` for the URL of a stream.

    >>> ingest_arguments("nats://127.0.0.1:4222/EVENTS?subject=events.%3E")
    ['--nats=nats://127.0.0.1:4222', '--stream=EVENTS', '--subject=events.>']
    """
    parts = urlsplit(url)
    broker = BROKERS[parts.scheme]
    server = f"{parts.scheme}://{parts.netloc}"
    return [
        f"--{broker.server}={server}",
        f"--{broker.stream}={_stream(parts)}",
        *(f"--{name}={value}" for name, value in parse_qsl(parts.query)),
    ]


def _stream(parts: SplitResult) -> str:
    return unquote(parts.path.strip("/"))
