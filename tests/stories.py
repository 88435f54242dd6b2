"""Running a coroutine of a test with a connection of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import redis.asyncio

from service.store.connection import connect_async

T = TypeVar("T")


def run(redis_url: str, story: Callable[[redis.asyncio.Redis], Awaitable[T]]) -> T:
    """Run ``story(connection)`` and return its result."""

    async def main() -> T:
        async with connect_async(redis_url, role="test") as connection:
            return await story(connection)

    return asyncio.run(main())
