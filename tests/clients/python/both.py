"""Both clients behind one face, so that one test says what both do."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from typing import Any, Self

from hedgerow_client import AsyncClient, Client

CLIENTS = ("sync", "async")


class Awaited:
    """Something asynchronous whose methods are run on a loop of the test, to their end."""

    def __init__(self, runner: asyncio.Runner, inner: Any) -> None:
        self._runner, self._inner = runner, inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._called(found) if inspect.ismethod(found) else found

    def _called(self, method: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            return self._result(method(*given, **named))

        return call

    def _result(self, made: Any) -> Any:
        if inspect.isawaitable(made):
            return self._runner.run(_done(made))
        if isinstance(made, AsyncIterator):
            return iter(self._runner.run(_listed(made)))
        return Awaited(self._runner, made) if hasattr(made, "__aenter__") else made

    def __enter__(self) -> Self:
        self._runner.run(self._inner.__aenter__())
        return self

    def __exit__(self, *error: object) -> None:
        self._runner.run(self._inner.__aexit__(*error))


async def _done(made: Any) -> Any:
    return await made


async def _listed(made: AsyncIterator[Any]) -> list[Any]:
    return [one async for one in made]


class Opened:
    """A client of one kind, until the end of a ``with``."""

    def __init__(self, kind: str, url: str, **options: Any) -> None:
        self._runner = asyncio.Runner()
        sync = kind == "sync"
        self._client: Any = (
            Client(url, **options) if sync else Awaited(self._runner, AsyncClient(url, **options))
        )

    def __enter__(self) -> Any:
        return self._client.__enter__()

    def __exit__(self, *error: object) -> None:
        self._client.__exit__(*error)
        self._runner.close()
