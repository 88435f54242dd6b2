"""Runs processes one at a time, in an order drawn from a seed, by a clock of its own.

Our code blocks, so each simulated process is a thread; but only the one that holds the turn runs,
all others wait for theirs. A process gives the turn back when it pauses, which it does at every
call of the store. So the whole is one line of steps, and a seed says all of it.
"""

import heapq
import itertools
import random
import threading
from collections.abc import Callable


class Crashed(SystemExit):
    """Ends a process wherever it is, as SIGKILL would; an event loop lets it pass."""


class Process:
    """A thread that runs while it has the turn."""

    def __init__(
        self, scheduler: "Scheduler", name: str, body: Callable[["Process"], None]
    ) -> None:
        self.scheduler, self.name = scheduler, name
        self.wakes_at = scheduler.now
        self.is_killed = False
        self.turn = threading.Semaphore(0)
        self._body = body
        self._thread = threading.Thread(target=self._run, name=name)
        self._thread.start()

    def pause(self, seconds: float = 0.0) -> None:
        """Let others run, and come back after so many seconds at the earliest."""
        if not self.is_killed:
            self.wakes_at = self.scheduler.now + seconds
            following = self.scheduler.next_turn()
            if following is not self.turn:
                following.release()
                self.turn.acquire()
        if self.is_killed:
            raise Crashed(f"{self.name} was killed")

    def crash(self) -> None:
        """End here; only the process itself may call it."""
        self.is_killed = True
        raise Crashed(f"{self.name} crashed")

    def join(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join()

    def _run(self) -> None:
        self.turn.acquire()
        try:
            if not self.is_killed:
                self._body(self)
        except Crashed:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again in the thread of ``run``
            self.scheduler.failure = error
        self.scheduler.processes.remove(self)
        self.scheduler.next_turn().release()


class Scheduler:
    """Chooses who runs next; whoever pauses asks it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.now = 0.0
        self.steps = 0
        self.failure: BaseException | None = None
        self.processes: list[Process] = []
        self._turn = threading.Semaphore(0)
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._is_done: Callable[[], bool] = lambda: True

    def start(self, name: str, body: Callable[[Process], None]) -> None:
        """Start a process; it begins with its first turn."""
        self.processes.append(Process(self, name, body))

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Do something between two steps, after so many seconds."""
        heapq.heappush(self._later, (self.now + seconds, next(self._order), action))

    def run(self, is_done: Callable[[], bool]) -> None:
        """Run until ``is_done``, which is asked after each step; raise what made a process fail."""
        self._is_done = is_done
        following = self.next_turn()
        if following is not self._turn:
            following.release()
            self._turn.acquire()
        if self.failure is not None:
            raise self.failure

    def close(self) -> None:
        """End all processes, wherever they are."""
        self._is_done = lambda: True
        while self.processes:
            process = self.processes[-1]
            process.is_killed = True
            process.turn.release()
            self._turn.acquire()
            process.join()

    def next_turn(self) -> threading.Semaphore:
        """Return whose turn it is after a step: a process's, or that of ``run``."""
        try:
            while self.failure is None and not self._is_done():
                self.steps += 1
                process = self._next()
                if process is not None:
                    return process.turn
        except BaseException as error:  # noqa: BLE001 - raised again in the thread of ``run``
            self.failure = error
        return self._turn

    def _next(self) -> Process | None:
        """Return a process that may run now; None after something else was done instead."""
        ready = [one for one in self.processes if one.wakes_at <= self.now]
        if not ready and not self._is_due():
            self.now = min([one.wakes_at for one in self.processes] + [self._later[0][0]])
            return None
        if self._is_due() and (not ready or self.rng.random() < 0.5):
            heapq.heappop(self._later)[2]()
            return None
        return self.rng.choice(ready)

    def _is_due(self) -> bool:
        return bool(self._later) and self._later[0][0] <= self.now
