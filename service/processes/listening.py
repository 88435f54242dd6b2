"""The socket of the api, and the rule that a service without keys listens on loopback only."""

import resource
import shlex
import socket

from service.errors import Misconfigured
from service.http.auth import is_loopback
from service.settings import Settings
from service.store.api_keys import read_ring
from service.store.connection import Client

BACKLOG = 2048
OWN_DESCRIPTORS = 256
"""Files and connections of an api process besides those of clients, generously."""
STARTED = "Hedgerow listens on "
"""Beginning of the line on stdout that ends with the URL."""


def refuse_open_bind(settings: Settings, client: Client) -> None:
    """Raise Misconfigured if other machines could reach a service without API keys."""
    if is_loopback(settings.host) or read_ring(client, settings.namespace):
        return
    raise Misconfigured(
        f"refusing to listen on {settings.host} while there is no API key: anyone could write. "
        f"Create one first with `{keys_create(settings)}`, or listen on 127.0.0.1"
    )


def keys_create(settings: Settings, *options: str) -> str:
    """Return the command that creates a key in the data directory of these settings.

    >>> keys_create(Settings(data_dir="my data"), "--role", "admin")
    "hedgerow keys create --role admin --data-dir 'my data'"
    """
    words = ["hedgerow", "keys", "create", *options]
    if settings.data_dir != Settings.model_fields["data_dir"].default:
        words += ["--data-dir", str(settings.data_dir)]
    return shlex.join(words)


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; all api processes share it, so none loses a connection."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind)
    except OSError as error:
        raise Misconfigured(f"cannot listen on {host}: {error.strerror or error}") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise Misconfigured(
            f"cannot listen on {host}:{port} ({error.strerror}); choose another with --port"
        ) from error
    return listener


def room_for(connections: int) -> int:
    """Return how many connections this process can have, at most ``connections``.

    The system's soft limit on open files, often 1 024, is raised to the hard one where needed.
    """
    needed = connections + OWN_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if soft == resource.RLIM_INFINITY else min(needed, soft) - OWN_DESCRIPTORS


def url_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket from this machine."""
    host, port = listener.getsockname()[:2]
    return address(host, port)


def address(host: str, port: int) -> str:
    """Return the URL at which this machine reaches a host and port.

    >>> address("0.0.0.0", 8000)
    'http://127.0.0.1:8000'
    """
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - read, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
