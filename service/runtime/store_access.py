"""The objects of an api process that read and write the store on request."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

from service.runtime.opened import Opened
from service.store.api_keys import ApiKeys
from service.store.audit import Audit
from service.store.catalogue.documents import Catalogue
from service.store.catalogue.numbers import ItemNumbers
from service.store.erasures.records import Erasures
from service.store.erasures.traces import Traces
from service.store.identity.known import Known
from service.store.jobs.queue import Jobs
from service.store.jobs.schedule import Schedules
from service.store.log.append_queue import AppendQueue
from service.store.log.noted_ids import NotedIds
from service.store.log.request_keys import RequestKeys
from service.store.log.stream import LogWriter
from service.store.models.registry import Registry
from service.store.profiles.reader import ProfileReader
from service.store.pulse import Pulse
from service.store.server.probe import WriteProbe


@dataclass(frozen=True)
class StoreAccess:
    """Objects that read and write the store on request."""

    known: Known
    append_queue: AppendQueue
    request_keys: RequestKeys
    numbers: ItemNumbers
    profiles: ProfileReader
    catalogue: Catalogue
    keys: ApiKeys
    pulse: Pulse
    probe: WriteProbe
    registry: Registry
    jobs: Jobs
    schedules: Schedules
    erasures: Erasures
    traces: Traces
    audit: Audit


def store_access(stack: AsyncExitStack, base: Opened) -> StoreAccess:
    """Make all of them; what they have begun ends when the stack closes."""
    settings, namespace, clients = base.settings, base.namespace, base.clients
    name, redis, blocking = namespace.name, clients.requests, clients.blocking
    known, patience_s = Known(namespace.partitions), settings.store_patience_ms / 1_000
    writer = LogWriter(
        redis,
        namespace,
        max_bytes=settings.log_max_bytes,
        known=known,
        retry_s=patience_s,
        noted=NotedIds.of(settings),
    )
    append_queue = AppendQueue(writer, namespace.partitions)
    stack.push_async_callback(append_queue.close)
    return StoreAccess(
        known=known,
        append_queue=append_queue,
        request_keys=RequestKeys(redis, name),
        numbers=ItemNumbers(redis, name, settings.max_items, known=known),
        profiles=ProfileReader(redis, namespace, base.model.layout, start=base.model.arrays()),
        catalogue=Catalogue(redis, name, known=known),
        keys=ApiKeys(redis, name, known=known),
        pulse=Pulse(ApiKeys(clients.pulse, name, known=known), clients.gate, patience_s),
        probe=WriteProbe(redis, name),
        registry=Registry(blocking, name),
        jobs=Jobs(blocking, clients.jobs, name),
        schedules=Schedules(blocking, settings),
        erasures=Erasures(blocking, name),
        traces=Traces(blocking, namespace),
        audit=Audit(blocking, name),
    )
