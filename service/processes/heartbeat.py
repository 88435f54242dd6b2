"""Signs of life: a process that was suspended, or gets no processor for long, is started again.

Each child writes a byte twice a second into a pipe of its own, from a thread of its own.
"""

import asyncio
import os
import threading
from contextlib import suppress

BEAT_S = 0.5
"""Seconds between two signs of a child."""
LOOK_S = 1.0
"""Seconds between two looks of the supervisor."""


def beat(fd: int | None) -> None:
    """Give signs of life from now on, if somebody wants them."""
    if fd is not None:
        os.set_blocking(fd, False)
        threading.Thread(target=_beat, args=(fd,), name="heartbeat", daemon=True).start()


def _beat(fd: int) -> None:
    pause = threading.Event()
    with suppress(BrokenPipeError):
        while True:
            # full: the supervisor was suspended itself
            with suppress(BlockingIOError):
                os.write(fd, b".")
            pause.wait(BEAT_S)


class Heartbeat:
    """The supervisor's end of the pipe of one child."""

    def __init__(self) -> None:
        self._ours, self.theirs = os.pipe()
        os.set_blocking(self._ours, False)
        self._loop = asyncio.get_running_loop()
        self._last: float | None = None
        """Time of the latest sign; None before the first: loading libraries takes a while."""
        self._loop.add_reader(self._ours, self._hear)

    def _hear(self) -> None:
        if os.read(self._ours, 4096):
            self._last = self._loop.time()
        else:
            self._loop.remove_reader(self._ours)

    async def silence(self, limit_s: float) -> None:
        """Return when the child has given no sign for ``limit_s``."""
        looked = self._loop.time()
        while self._last is None or looked - self._last <= limit_s:
            await asyncio.sleep(LOOK_S)
            now = self._loop.time()
            if self._last is not None and now - looked > 2 * LOOK_S:
                # we were suspended ourselves, and have not listened
                self._last = now
            looked = now

    def close(self) -> None:
        self._loop.remove_reader(self._ours)
        os.close(self._ours)
