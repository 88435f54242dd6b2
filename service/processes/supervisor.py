"""`hedgerow serve`: starts, watches and stops the roles and the private server.

Children run the same command line with the same settings. A child that ends is started again after
a pause; one that keeps ending stops everything. Each child holds the read end of a pipe, its
lifeline: if the supervisor is killed, the pipe closes and the children end too.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Iterable, Sequence
from contextlib import ExitStack, closing

from service.errors import Misconfigured, StoreUnavailable
from service.ingest_urls import ingest_arguments
from service.metrics.catalogue import RESTARTS
from service.metrics.meters import Meters
from service.metrics.seats import counting, metrics_folder
from service.processes.commands import (
    COMMAND,
    ONE_THREAD,
    PLANNED,
    REFUSED,
    compile_kernels,
    how_it_ended,
)
from service.processes.heartbeat import Heartbeat
from service.processes.listening import STARTED, listen, refuse_open_bind, url_of
from service.processes.supervised import ENDS_ALLOWED, FIRST_PAUSE_S, WITHIN_S, Supervised
from service.settings import Settings
from service.settings_loading import api_key_environment, environment, without_hedgerow
from service.store.connection import connect
from service.store.namespace import open_namespace
from service.store.server.embedded import EmbeddedServer
from service.store.server.given import check_given
from service.store.server.inspection import inspect_server
from service.store.server.room import Room
from service.telemetry import logger

FULL_PAUSE_S = 2.0
"""Seconds between two looks at a disk that is full."""
STOP_S = 15.0
"""Seconds that a child may take to end before it is killed."""
LOADING = "usually 4 s, several times as long on a busy machine; GET /readyz says when it is ready"


def serve(settings: Settings) -> None:
    """Run the whole service until SIGTERM or SIGINT."""
    signal.signal(signal.SIGTERM, _interrupt)
    # report what is wrong with it at once, not after minutes of compiling
    check_given(settings)
    compile_kernels()
    with ExitStack() as stack:
        server = None
        if settings.redis_url is None:
            server = EmbeddedServer(settings.data_dir, settings.durability)
            stack.enter_context(server)
            settings = settings.model_copy(update={"redis_url": server.url})
        check_store(settings)
        listener = stack.enter_context(closing(listen(settings.host, settings.port)))
        # the only line on stdout: programs that start us read the address from it
        print(f"{STARTED}{url_of(listener)}", flush=True)  # noqa: T201
        folder = metrics_folder(settings.data_dir, settings.namespace)
        meters = stack.enter_context(counting(folder, "supervisor"))
        asyncio.run(Supervisor(settings, server, listener, meters=meters).run())
    logger().info("service_stopped")


def _interrupt(*_: object) -> None:
    """Handle SIGTERM like Ctrl-C until the loop runs, so that the server is stopped in order."""
    raise KeyboardInterrupt


def check_store(settings: Settings) -> None:
    """Check the store before anything starts; raise Misconfigured.

    Refused are a server that evicts data, settings that differ from the stored namespace, and a
    public address without keys. A server that may lose data in a crash is only logged.
    """
    with connect(str(settings.redis_url), role="supervisor") as client:
        report = inspect_server(client)
        open_namespace(client, settings)
        refuse_open_bind(settings, client)
    if report.warning and settings.durability == "fsync":
        logger().warning("given_server_not_durable", reason=report.warning)


class Supervisor:
    """Keeps the children running; they stop in the order ingest, api, learner, trainer, server."""

    def __init__(
        self,
        settings: Settings,
        server: EmbeddedServer | None,
        listener: socket.socket,
        *,
        command: Sequence[str] = COMMAND,
        first_pause_s: float = FIRST_PAUSE_S,
        meters: Meters | None = None,
    ) -> None:
        self._settings, self._server, self._listener = settings, server, listener
        self._command, self._first_pause_s = command, first_pause_s
        self._meters = meters or Meters()
        self._lifeline, self._our_end = os.pipe()
        self._room = Room(settings.data_dir, settings.disk_reserve_mb)

    async def run(self) -> None:
        """Start everything, wait until told to stop, stop everything in stages."""
        stop, stop_ingests, stop_apis, stop_learners = (asyncio.Event() for _ in range(4))
        self._stop_when_told(stop)
        learners = [self._task(child, stop_learners) for child in self._learners()]
        learners += [self._task(child, stop_learners) for child in self._trainers()]
        apis = [self._task(child, stop_apis) for child in self._apis()]
        ingests = [self._task(child, stop_ingests) for child in self._ingests()]
        store = asyncio.create_task(self._keep_store(stop_learners))
        logger().info("service_loading", detail=LOADING)
        stopping = asyncio.create_task(stop.wait())
        keepers = [store, *apis, *learners, *ingests]
        await asyncio.wait([stopping, *keepers], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        # what they have under way is answered by the apis
        stop_ingests.set()
        if ingests:
            await asyncio.wait(ingests)
        stop_apis.set()
        await asyncio.wait(apis)
        stop_learners.set()
        await asyncio.wait([store, *learners])
        for fd in (self._lifeline, self._our_end):
            os.close(fd)
        # asyncio complains about exceptions that nobody retrieves
        problems = [problem for keeper in keepers if (problem := keeper.exception()) is not None]
        if problems:
            raise problems[0]

    def _learners(self) -> Iterable[Supervised]:
        for partition in range(self._settings.partitions):
            yield Supervised(f"learner-{partition}", ["learner", "--partition", str(partition)])

    def _trainers(self) -> Iterable[Supervised]:
        if self._settings.trainer:
            # a training may get no processor for minutes: that is its place
            yield Supervised("trainer", ["trainer"], essential=False, gives_signs=False)

    def _apis(self) -> Iterable[Supervised]:
        fd = self._listener.fileno()
        for number in range(self._settings.api_processes):
            yield Supervised(f"api-{number}", ["api", "--listen-fd", str(fd)], (fd,))

    def _ingests(self) -> Iterable[Supervised]:
        url = url_of(self._listener)
        for number, stream in enumerate(self._settings.ingest):
            # a broker that refuses us is no reason to serve nobody
            yield Supervised(
                f"ingest-{number}",
                ["ingest", *ingest_arguments(stream), "--url", url],
                essential=False,
                gives_signs=False,
                has_key=True,
            )

    def _task(self, child: Supervised, stop: asyncio.Event) -> asyncio.Task[None]:
        return asyncio.create_task(self._keep(child, stop))

    @staticmethod
    def _stop_when_told(stop: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, stop.set)

    async def _keep(self, child: Supervised, stop: asyncio.Event) -> None:
        # from 0: an alarm sees how it rises
        restarts = self._meters.count(RESTARTS, child.role)
        while not stop.is_set():
            heartbeat = Heartbeat()
            process = await self._spawn(child, heartbeat)
            is_stopped = await happens(stop, self._until_ended(child, process, heartbeat))
            heartbeat.close()
            if is_stopped:
                await end(process)
                return
            self._log_end_or_refuse(child, await process.wait())
            restarts.add()
            await happens(stop, asyncio.sleep(child.pause_s(self._first_pause_s)))

    async def _until_ended(
        self, child: Supervised, process: asyncio.subprocess.Process, heartbeat: Heartbeat
    ) -> None:
        """Wait until a process has ended; kill one that gives no sign of life."""
        limit_s = self._settings.watchdog_s
        if limit_s and await happens_first(heartbeat.silence(limit_s), process.wait()):
            logger().error("child_hangs", child=child.name, pid=process.pid, for_s=limit_s)
            # a suspended process does not hear SIGTERM
            process.kill()
        await process.wait()

    async def _spawn(self, child: Supervised, heartbeat: Heartbeat) -> asyncio.subprocess.Process:
        signs = ("--heartbeat", str(heartbeat.theirs)) if child.gives_signs else ()
        process = await asyncio.create_subprocess_exec(
            *self._command,
            *child.arguments,
            "--lifeline",
            str(self._lifeline),
            *signs,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            env=self._environment(child),
            pass_fds=(self._lifeline, heartbeat.theirs, *child.files),
            # Ctrl-C in a terminal reaches the whole group, but we stop the children in order
            start_new_session=True,
        )
        os.close(heartbeat.theirs)
        logger().info("child_started", child=child.name, pid=process.pid)
        return process

    def _environment(self, child: Supervised) -> dict[str, str]:
        given = without_hedgerow(os.environ) | ONE_THREAD | environment(self._settings)
        return given | (api_key_environment() if child.has_key else {})

    def _log_end_or_refuse(self, child: Supervised, code: int) -> None:
        """Log the end of a child; raise Misconfigured if starting it again makes no sense."""
        too_often = child.ended_too_often(asyncio.get_running_loop().time())
        problem = None
        if child.essential and code == REFUSED:
            problem = f"{child.name} cannot run; see its message above"
        elif child.essential and too_often and code not in PLANNED:
            problem = (
                f"{child.name} ended {ENDS_ALLOWED} times within {WITHIN_S:.0f} s (last exit code "
                f"{code}); the lines above say why, and `hedgerow doctor` checks this machine"
            )
        does = "it is started again" if problem is None else "the service stops"
        detail = f"{how_it_ended(code)}; {does}"
        # a process that ends on purpose has said why itself
        if code in PLANNED and problem is None:
            logger().info("child_ended", child=child.name, code=code, detail=detail)
        else:
            logger().warning("child_ended", child=child.name, code=code, detail=detail)
        if problem is not None:
            raise Misconfigured(problem)

    async def _keep_store(self, stop: asyncio.Event) -> None:
        if self._server is None:
            await stop.wait()
            return
        self._meters.count(RESTARTS, "store")
        deaths, room = Supervised("private server", []), self._room
        while not await happens(stop, asyncio.sleep(0.1)):
            if self._server.alive:
                # in a thread: a server that hangs must not hold up the supervisor
                await asyncio.to_thread(room.look, self._server.url, self._server.pid)
            elif room.is_gone:
                logger().error("store_not_restarted", detail="the disk is full: make room")
                await happens(stop, asyncio.sleep(FULL_PAUSE_S))
            else:
                self._restart(self._server, deaths)

    def _restart(self, server: EmbeddedServer, deaths: Supervised) -> None:
        if deaths.ended_too_often(asyncio.get_running_loop().time()):
            raise StoreUnavailable(
                f"the private server ended {ENDS_ALLOWED} times within {WITHIN_S:.0f} s; "
                f"{server.last_words()}"
            )
        # in the main thread: the system ties the server to the thread that starts it
        server.start()
        self._meters.count(RESTARTS, "store").add()
        logger().error("store_restarted", pid=server.pid)


async def happens(event: asyncio.Event, other: Awaitable[object]) -> bool:
    """Wait for the event or the other; return whether the event is set. Cancels the other."""
    await happens_first(event.wait(), other)
    return event.is_set()


async def happens_first(one: Awaitable[object], other: Awaitable[object]) -> bool:
    """Wait for one or the other; return whether the first has happened. Cancels both."""
    awaited, working = asyncio.ensure_future(one), asyncio.ensure_future(other)
    try:
        await asyncio.wait([awaited, working], return_when=asyncio.FIRST_COMPLETED)
        return awaited.done()
    finally:
        awaited.cancel()
        working.cancel()


async def end(process: asyncio.subprocess.Process) -> None:
    """Send SIGTERM, then SIGKILL to a process that ignores it."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_S)
    except TimeoutError:
        process.kill()
        await process.wait()
