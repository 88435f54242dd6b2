"""The store for a command: the given Redis, the server of a running `serve`, or a temporary one."""

from collections.abc import Iterator
from contextlib import contextmanager

from service.errors import Misconfigured
from service.settings import Settings
from service.store.server.embedded import EmbeddedServer, running_server


@contextmanager
def open_store(settings: Settings, *, create: bool = False) -> Iterator[str]:
    """Yield the url of the store of these settings; only ``create`` makes a data directory."""
    if settings.redis_url is None and not create and not settings.data_dir.exists():
        raise Misconfigured(
            f"there is no data directory {settings.data_dir.absolute()}: name the one of "
            "`hedgerow serve` with --data-dir, or go to where it was started"
        )
    url = settings.redis_url or running_server(settings.data_dir)
    if url is not None:
        yield url
        return
    with EmbeddedServer(settings.data_dir, settings.durability) as server:
        yield server.url
