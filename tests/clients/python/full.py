"""A service that takes no more events, because nobody learns them."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hedgerow_client import Client, Retries, errors
from service.settings import Settings
from tests.api import served

SMALLEST_LOG = 65_536


@contextmanager
def full_service(namespace: str, redis_url: str) -> Iterator[str]:
    """Yield the address of a service whose log is full."""
    settings = Settings(namespace=namespace, log_max_bytes=SMALLEST_LOG)
    with served(settings, redis_url) as (host, port):
        url = f"http://{host}:{port}"
        with Client(url) as client:
            client.wait_until_ready()
        with Client(url, retries=Retries(patience_s=0)) as client:
            for rows in (1000, 100, 10, 1):
                with suppress(errors.Unavailable):
                    while True:
                        client.send([{"user": "u", "item": "a", "kind": "view"}] * rows)
        yield url
