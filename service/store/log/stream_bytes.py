"""Removes the bytes that removed entries of a stream leave behind: in memory and in the files."""

from importlib import resources

import redis

from service.store.connection import store_errors

_REWRITE = resources.files(__package__).joinpath("rewrite_stream.lua").read_text()


def drop_removed(client: redis.Redis, stream: str, *, before: int | None = None) -> None:
    """Write a stream anew, without what was removed, and without what has an id below ``before``.

    Its readers go on where they were; one that was further behind finds a gap.
    """
    with store_errors():
        client.eval(_REWRITE, 1, stream, "" if before is None else f"{before}-0")
