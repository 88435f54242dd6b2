"""The processes of the service as the simulator runs them: their real code, composed for it."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from core.online.model import OnlineModel
from service import configs
from service.errors import StoreRolledBack, StoreUnavailable, Superseded
from service.learning.partition_loop import Leader
from service.runtime.api import ApiRuntime
from service.store.catalogue.documents import Catalogue
from service.store.catalogue.numbers import ItemNumbers
from service.store.identity.known import Known
from service.store.identity.memory import Memory
from service.store.log.append_queue import AppendQueue
from service.store.log.changes import ChangeFollower
from service.store.log.noted_ids import NotedIds
from service.store.log.request_keys import RequestKeys
from service.store.log.stream import LogWriter
from service.store.namespace import open_namespace
from service.store.profiles.reader import ProfileReader
from service.store.recovery.watch import StoreWatch
from tests.simulator import loop
from tests.simulator.boundary import AsyncClient, client_of
from tests.simulator.clients import send
from tests.simulator.reading import read, users_of
from tests.simulator.scheduler import Process
from tests.simulator.trainer import train

if TYPE_CHECKING:
    from tests.simulator.world import World

SESSIONS = 2
"""Clients that one api process serves at a time."""


@contextlib.contextmanager
def _ends(world: "World") -> Iterator[None]:
    """Let a process end with an error that its supervisor knows: it is started again."""
    try:
        yield
    except (StoreUnavailable, StoreRolledBack, Superseded) as error:
        world.occurred[f"ended_by_{error.code}"] += 1


class Stop:
    """Never set: simulated processes end by crashes. To wait is to pause."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def is_set(self) -> bool:
        return False

    def wait(self, timeout: float) -> bool:
        self._process.pause(timeout)
        return False


def learner(world: "World", process: Process, partition: int) -> None:
    """Learn a partition, or stand by."""
    client = client_of(world.boundary(process))
    with _ends(world):
        Leader(
            world.settings,
            client,
            open_namespace(client, world.settings),
            partition,
            follow=lambda *_: contextlib.nullcontext(),
            clock=lambda: world.scheduler.now,
        ).lead_on(Stop(process))


def trainer(world: "World", process: Process) -> None:
    """Publish and promote models."""
    with _ends(world):
        train(world, process)


def api(world: "World", process: Process) -> None:
    """Take events, deletions and merges from clients, and answer reads."""
    loop.run(process, _api(world, process))


async def _api(world: "World", process: Process) -> None:
    boundary = world.boundary(process)
    with _ends(world):
        client, blocking = AsyncClient(boundary), client_of(boundary)
        settings, namespace = world.settings, open_namespace(blocking, world.settings)
        known = Known(namespace.partitions)
        numbers = ItemNumbers(client, namespace.name, settings.max_items, known=known)
        memory = Memory(settings.data_dir)
        watch = StoreWatch(client, blocking, namespace, known, memory)
        log = LogWriter(
            client,
            namespace,
            max_bytes=settings.log_max_bytes,
            known=known,
            process_id=process.name,
            noted=NotedIds.of(settings),
        )
        layout = OnlineModel(configs.online_config(settings, namespace)).layout
        changes = ChangeFollower(client, namespace.name, namespace.partitions, known=known)
        runtime = _Runtime(
            settings=settings,
            namespace=namespace,
            numbers=numbers,
            append_queue=AppendQueue(log, namespace.partitions, world.now_ms),
            request_keys=RequestKeys(client, namespace.name),
            known=known,
            watch=watch,
            changes=changes,
            catalogue=Catalogue(client, namespace.name, known=known),
            profiles=ProfileReader(client, namespace, layout),
            redis=client,
        )
        users = users_of(world, client, namespace, layout)
        changes.start(*(() if world.plan.is_deaf else (users,)))
        await watch.start(numbers, changes)
        sessions = (send(world, cast("ApiRuntime", runtime)) for _ in range(SESSIONS))
        await asyncio.gather(*sessions, read(world, users, changes))


class _Runtime:
    """The part of an ``ApiRuntime`` that takes events, deletions and merges."""

    def __init__(self, **parts: Any) -> None:
        vars(self).update(parts)
