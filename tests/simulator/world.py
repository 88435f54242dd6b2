"""One simulated service: its processes, its store, its clients, and what may go wrong."""

import random
import re
import zlib
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from service.settings import Settings
from service.store.connection import Client, connect
from service.store.keys import PartitionKeys
from service.store.namespace import open_namespace
from tests.simulator import roles
from tests.simulator.boundary import Boundary, Faults, Line, Rewrite
from tests.simulator.clock import Clock
from tests.simulator.ledger import Broken, Ledger
from tests.simulator.observer import Moment, Observer
from tests.simulator.replay import check_replay
from tests.simulator.scheduler import Process, Scheduler
from tests.simulator.store import replace_content

NAMESPACE = "sim"
LEASE_S = 2.0
PROCESSES = 2
"""Api processes, and learners of each partition."""
CALM_S = 900.0
"""Seconds after the last fault within which everything must be learned and answered."""
RESTART_S = 2.0
"""Longest time until a process that has ended is started again."""
TRACED = 60
"""Calls that are told of a run that fails."""
LEASE = re.compile(rb"\.(\d)\}:lease\r\n")
WRITES = ("MULTI", "EVAL", "EVALSHA")


@dataclass(frozen=True)
class Plan:
    """What to simulate; the seed decides the rest."""

    seed: int
    troubled_s: float = 10.0
    """Seconds in which faults happen."""
    losses: tuple[int, ...] = (0, 0, 1, 3)
    """How often the store is started anew: one of these, drawn from the seed."""
    flips: tuple[int, ...] = (0, 0, 1, 3)
    """How many bits of the log are flipped: one of these."""
    jumps: tuple[int, ...] = (0, 0, 1, 3)
    """How often the clock jumps: one of these."""
    partitions: tuple[int, ...] = (1, 2)
    """How many partitions there are: one of these."""
    remembers_h: float = 24.0
    """For how long event ids are remembered: less than a jump counts for is a bug to be found."""
    is_checked: bool = True
    """Entries whose bits are flipped have a checksum; without it they are learned as they are."""
    is_deaf: bool = False
    """A bug that must be found: copies of users are not told of changes."""
    is_careless: bool = False
    """A bug that must be found: a training does not ask whether its items are still the same."""
    broken: Rewrite | None = None
    """A bug that must be found: it makes something else of calls."""


@dataclass(frozen=True)
class Result:
    """What a run came to."""

    steps: int
    occurred: Counter[str]
    digest: int
    """Of all calls in their order: the same whenever the seed is run again."""


class World:
    """A namespace and the processes that work on it."""

    def __init__(self, plan: Plan, url: str, data_dir: Path) -> None:
        self.plan, rng = plan, random.Random(plan.seed)  # noqa: S311 - it must be repeatable
        self.scheduler = Scheduler(rng)
        self.settings = Settings(
            namespace=NAMESPACE,
            partitions=rng.choice(plan.partitions),
            data_dir=data_dir,
            lease_ms=int(1_000 * LEASE_S),
            dedupe_window=4_096,
            dedupe_max_age_h=plan.remembers_h,
            users_in_memory=64,
        )
        self.faults = Faults.drawn(rng)
        self.occurred = Counter[str]()
        self._clock = Clock(plan.seed, plan.jumps, plan.troubled_s, self.occurred)
        self.ledger = Ledger(rng, self.occurred)
        self.lines: list[Line] = []
        self.observer: Observer
        self.trace: deque[str] = deque(maxlen=TRACED)
        self._url, self._has_written, self._is_over = url, False, False
        self._lease_kept_at = [0.0] * self.settings.partitions
        self._started = self._digest = 0

    def now_ms(self) -> int:
        """Return the wall clock of all processes."""
        return self._clock.now_ms(self.scheduler.now)

    def boundary(self, process: Process) -> Boundary:
        """Return what a process has between itself and the store."""
        return Boundary(process, self._url.removeprefix("unix://"), self, self.plan.broken)

    def sent(self, process: Process, data: bytes) -> None:
        """Note a call that the store has carried out."""
        command = data.split(b"\r\n", 3)[2].decode()
        told = f"{self.scheduler.steps} {self.scheduler.now:.3f} {process.name} {command}"
        self.trace.append(told)
        self._digest = zlib.crc32(told.encode(), self._digest)
        is_write = command in WRITES
        self._has_written |= is_write
        lease = LEASE.search(data)
        if is_write and lease:
            self._lease_kept_at[int(lease[1])] = self.scheduler.now

    def run(self) -> Result:
        """Run until everything is told and learned; Broken if a promise is broken."""
        with connect(self._url, role="simulator") as client:
            # the scripts too: whether the server knows one is part of a run
            replace_content(client, {})
            open_namespace(client, self.settings)
            partitions = self.settings.partitions
            observer = self.observer = Observer(client, NAMESPACE, partitions, self.ledger)
            for _ in range(PROCESSES):
                self._start("api", roles.api)
                for partition in range(partitions):
                    self._start(f"learner{partition}", partial(roles.learner, partition=partition))
            self._start("trainer", roles.trainer)
            for partition in range(partitions):
                self._age_lease(client, partition)
            for _ in range(self.scheduler.rng.choice(self.plan.losses)):
                self._lose_something(observer)
            for _ in range(self.scheduler.rng.choice(self.plan.flips)):
                moment_s = self.scheduler.rng.uniform(0.0, self.plan.troubled_s)
                self.scheduler.later(moment_s, lambda: self._flip_a_bit(observer))
            try:
                self._run(observer)
            finally:
                self._is_over = True
                self.scheduler.close()
                for line in self.lines:
                    line.close()
            self.occurred["taken_over"] += sum(lane.now.epoch - 1 for lane in observer.lanes)
            self.occurred += observer.check()
            check_replay(client, self.settings, observer)
        return Result(self.scheduler.steps, self.occurred, self._digest)

    def _run(self, observer: Observer) -> None:
        self.scheduler.run(lambda: self._looked(observer) > self.plan.troubled_s)
        self.faults, self.ledger.is_closed = Faults(), True
        until = self.scheduler.now + CALM_S

        def is_calm() -> bool:
            if self._looked(observer) > until:
                raise Broken(
                    f"{CALM_S:g} s after the last fault the service is at "
                    f"{[lane.now for lane in observer.lanes]}, "
                    f"and {self.ledger.unanswered} requests wait"
                )
            return self.ledger.is_settled and observer.is_learned

        self.scheduler.run(is_calm)

    def _looked(self, observer: Observer) -> float:
        """Look at the store if it was written to, and return the time."""
        if self._has_written or self.ledger.told:
            self._has_written = False
            observer.look()
        return self.scheduler.now

    def _start(self, name: str, role: Callable[["World", Process], None]) -> None:
        """Start a process, and another one whenever it has ended."""
        self._started += 1

        def body(process: Process) -> None:
            try:
                role(self, process)
            except Exception as error:
                raise Broken(f"{process.name} ended with {error!r}") from error
            finally:
                if not self._is_over:
                    pause_s = RESTART_S * self.scheduler.rng.random()
                    self.scheduler.later(pause_s, lambda: self._start(name, role))

        self.scheduler.start(f"{name}-{self._started:04}", body)

    def _age_lease(self, client: Client, partition: int) -> None:
        """Let a lease expire by the clock of the simulation."""
        if self.scheduler.now - self._lease_kept_at[partition] > LEASE_S:
            lease = PartitionKeys(NAMESPACE, partition).lease
            self.occurred["lease_expired"] += bool(client.delete(lease))
        self.scheduler.later(LEASE_S / 4, lambda: self._age_lease(client, partition))

    def _flip_a_bit(self, observer: Observer) -> None:
        """Flip a bit of an entry in the log, as soon as there is one."""
        if observer.flip(self.scheduler.rng, is_checked=self.plan.is_checked):
            self.occurred["flip"] += 1
        elif self.scheduler.now < self.plan.troubled_s:
            self.scheduler.later(0.05, lambda: self._flip_a_bit(observer))

    def _lose_something(self, observer: Observer) -> None:
        """Let the store be started anew at some time, as it was at that time or earlier."""
        rng = self.scheduler.rng
        until = rng.uniform(0.0, self.plan.troubled_s)
        since = until if rng.random() < 0.3 else rng.uniform(0.0, until)

        def keep() -> None:
            moment = observer.keep()
            self.scheduler.later(until - since, lambda: lose(moment))

        def lose(moment: Moment) -> None:
            is_loss = observer.bring_back(moment)
            self.occurred["rollback" if is_loss else "restart"] += 1
            for line in self.lines:
                line.close()
            self.lines.clear()

        self.scheduler.later(since, keep)
