"""A line between the service and its store that can be cut, slow, silent, or lose replies."""

import asyncio
import random
import threading
from contextlib import suppress
from pathlib import Path
from typing import Self

CHUNK = 1 << 16


class Line:
    """A unix socket that forwards to the store's; what is set here holds for all connections."""

    def __init__(self, path: Path, store: str) -> None:
        self.url = f"unix://{path}"
        self.delay_s = 0.0
        """By how much each piece is late, in both directions."""
        self.loses = 0.0
        """How likely a reply is lost; its connection ends with it."""
        self.lost = 0
        self._path, self._store = path, store.removeprefix("unix://")
        self._rng = random.Random(0)  # noqa: S311 - no secret depends on it
        self._is_cut = False
        self._loop = asyncio.new_event_loop()
        self._passes = asyncio.Event()
        self._passes.set()
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """End all connections and refuse new ones."""
        self._is_cut = True
        asyncio.run_coroutine_threadsafe(self._end_all(), self._loop).result()

    def hang(self) -> None:
        """Let connections stand, and nothing pass; it arrives after ``mend``."""
        self._loop.call_soon_threadsafe(self._passes.clear)

    def mend(self) -> None:
        """Forward everything again, at once."""
        self._is_cut, self.delay_s, self.loses = False, 0.0, 0.0
        self._loop.call_soon_threadsafe(self._passes.set)

    async def _open(self) -> None:
        self._server = await asyncio.start_unix_server(self._accept, self._path)

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        await self._end_all()

    async def _end_all(self) -> None:
        tasks = [*self._connections]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        task = self._loop.create_task(self._forward(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward in both directions until either side ends."""
        try:
            replies, store = await asyncio.open_unix_connection(self._store)
        except OSError:
            writer.transport.abort()
            return
        ways = [
            self._loop.create_task(self._pump(reader, store, is_reply=False)),
            self._loop.create_task(self._pump(replies, writer, is_reply=True)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            for end in (writer, store):
                end.transport.abort()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_reply: bool
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                await self._passes.wait()
                if is_reply and self._rng.random() < self.loses:
                    self.lost += 1
                    return
                writer.write(data)
                await writer.drain()
