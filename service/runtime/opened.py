"""What every other object of an api process needs: settings, namespace, experts and clients."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

from core.online.model import OnlineModel
from service import configs
from service.settings import Settings
from service.store.connection import AsyncClient, Client, connect, connect_async
from service.store.gate import Gate
from service.store.namespace import Namespace, open_namespace
from service.store.server.inspection import ServerReport, inspect_server


@dataclass(frozen=True)
class Clients:
    """The Redis clients of a process, separate so that none of them waits for another."""

    url: str
    """Of the server of all but ``jobs``."""
    requests: AsyncClient
    feeds: AsyncClient
    """For the feeds: each occupies a connection with a blocking XREAD."""
    blocking: Client
    """For calls from threads."""
    jobs: Client
    pulse: AsyncClient
    """For the one question that must not wait for any other."""
    gate: Gate
    """Shut while the store does not answer: then requests do not wait for it."""


@dataclass(frozen=True)
class Opened:
    """A namespace that is open, and the clients of its store."""

    settings: Settings
    namespace: Namespace
    server: ServerReport
    model: OnlineModel
    clients: Clients

    @property
    def redis(self) -> AsyncClient:
        """The client for requests."""
        return self.clients.requests


async def opened(stack: AsyncExitStack, settings: Settings, redis_url: str) -> Opened:
    """Open the namespace and connect; raise Misconfigured or StoreUnavailable."""
    with connect(redis_url, role="api-start") as client:
        server = inspect_server(client)
        namespace = open_namespace(client, settings)
    model = OnlineModel(configs.online_config(settings, namespace))
    clients = await _connected(stack, settings, redis_url, namespace.partitions)
    return Opened(settings, namespace, server, model, clients)


async def _connected(
    stack: AsyncExitStack, settings: Settings, redis_url: str, partitions: int
) -> Clients:
    gate = Gate()
    requests = connect_async(redis_url, role="api", gate=gate)
    feeds = connect_async(redis_url, role="api-changes", max_connections=partitions + 8)
    pulse = connect_async(redis_url, role="api-pulse", max_connections=1)
    blocking = connect(redis_url, role="api-blocking", gate=gate)
    jobs_url = settings.jobs_redis_url or redis_url
    # the queue of jobs may be in another server, about which the pulse says nothing
    jobs = connect(jobs_url, role="api-jobs", gate=gate if jobs_url == redis_url else None)
    return Clients(
        url=redis_url,
        requests=await stack.enter_async_context(requests),
        feeds=await stack.enter_async_context(feeds),
        blocking=stack.enter_context(blocking),
        jobs=stack.enter_context(jobs),
        pulse=await stack.enter_async_context(pulse),
        gate=gate,
    )
