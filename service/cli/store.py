"""The store as the verbs of an operator find it: a given one, the one `serve` runs, or started for a while."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from service.settings import Settings
from service.store.embedded import EmbeddedServer, running_server


@contextmanager
def open_store(settings: Settings) -> Iterator[str]:
    """Yield the url of the store that the settings mean."""
    url = settings.redis_url or running_server(settings.data_dir)
    if url is not None:
        yield url
        return
    with EmbeddedServer(settings.data_dir, settings.durability) as server:
        yield server.url


def say(text: str) -> None:
    """Tell the operator something that is not part of the output."""
    sys.stderr.write(text + "\n")
