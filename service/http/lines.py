"""Splitting of a body of any length into blocks of whole lines, in bounded memory."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from starlette.types import Message, Receive

LINGER_S = 0.02
"""Seconds that complete lines wait for more lines before they are yielded."""


@dataclass(frozen=True)
class LineBlock:
    """Whole lines; only the last line of the body may lack its newline."""

    first: int
    """Number of the first line in the block, from 0."""
    text: bytes
    n: int
    """Number of lines in the block."""
    too_long: bool = False
    """Whether the block stands for one line that is too long, without its text."""


class BodyLines:
    """The blocks of one body."""

    def __init__(self, receive: Receive, *, block_bytes: int, max_line_bytes: int) -> None:
        self._receive = receive
        self._block_bytes = block_bytes
        self._max_line = max_line_bytes
        self._first = 0
        self._rest = b""
        self._skipping = False
        self._client_left = False

    async def blocks(self) -> AsyncIterator[LineBlock]:
        """Yield lines in order, once a block is full or no more arrive for LINGER_S."""
        parts: list[bytes] = []
        size, more = 0, True
        pending: asyncio.Task[Message] | None = None
        try:
            while more:
                pending = pending or asyncio.ensure_future(self._receive())
                done, _ = await asyncio.wait({pending}, timeout=LINGER_S if parts else None)
                if done:
                    message, pending = pending.result(), None
                    self._client_left = message["type"] == "http.disconnect"
                    more = bool(message.get("more_body"))
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                if not done or not more or size >= self._block_bytes:
                    for block in self._split(
                        b"".join(parts), last=not more and not self._client_left
                    ):
                        yield block
                    parts, size = [], 0
        finally:
            if pending is not None:
                pending.cancel()

    def _split(self, text: bytes, *, last: bool) -> list[LineBlock]:
        blocks = []
        if self._skipping:
            _, newline, text = text.partition(b"\n")
            if not newline and not last:
                return []
            self._skipping = False
            blocks.append(self._long_line())
        text = self._rest + text
        end = len(text) if last else text.rfind(b"\n") + 1
        self._rest = text[end:]
        blocks += self._whole_lines(text[:end])
        if len(self._rest) > self._max_line:
            # drop the beginning of the line, which is refused in any case
            self._rest, self._skipping = b"", True
        return blocks

    def _whole_lines(self, text: bytes) -> Iterator[LineBlock]:
        while text:
            # this is one block unless the server hands over a lot at once
            end = len(text)
            if end > 2 * self._block_bytes:
                end = text.find(b"\n", self._block_bytes) + 1 or end
            lines, text = text[:end], text[end:]
            n = lines.count(b"\n") + (not lines.endswith(b"\n"))
            yield LineBlock(self._first, lines, n)
            self._first += n

    def _long_line(self) -> LineBlock:
        self._first += 1
        return LineBlock(self._first - 1, b"", 1, too_long=True)
