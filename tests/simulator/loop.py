"""An event loop of a simulated process: its clock is the scheduler's, and to wait is to pause."""

import asyncio
import contextlib
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

from tests.simulator.scheduler import Crashed, Process

FOR_EVER_S = 3_600.0
_TURNS_TO_END = 20


class _Pauses(selectors.SelectSelector):
    """Waits for no file: nothing outside of the simulation can happen."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process

    def select(self, timeout: float | None = None) -> list[Any]:
        if not self._process.is_killed and (timeout is None or timeout > 0.0):
            self._process.pause(FOR_EVER_S if timeout is None else timeout)
        return []


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, process: Process) -> None:
        super().__init__(_Pauses(process))
        self._process = process

    def time(self) -> float:
        return self._process.scheduler.now

    def run_in_executor(
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        """Run a blocking call here and now: a thread would run beside the one that has the turn."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - who waits for it gets it
            done.set_exception(error)
        return done


def run(process: Process, main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine as the whole of a process; a crash ends all its tasks."""
    loop = _Loop(process)
    loop.set_exception_handler(lambda *_: None)
    try:
        loop.run_until_complete(main)
    finally:
        _end(loop)
        loop.close()


def _age(task: "asyncio.Task[Any]") -> int:
    return int(task.get_name().partition("-")[2])


def _end(loop: asyncio.AbstractEventLoop) -> None:
    """Let the tasks go whose process has ended: every call of theirs fails at once."""
    for _ in range(_TURNS_TO_END):
        tasks = asyncio.all_tasks(loop)
        if not tasks:
            return
        # a set of tasks has no order of its own
        for task in sorted(tasks, key=_age):
            task.cancel()
        with contextlib.suppress(Crashed):
            loop.call_soon(loop.stop)
            loop.run_forever()
