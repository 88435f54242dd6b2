"""The composition root of an api process: it creates, connects and closes all objects."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from core.online.model import OnlineModel
from service import configs
from service.errors import NotReady
from service.served_models import ActiveModels
from service.serving.audience import Audience
from service.serving.cache_warming import CacheWarming
from service.serving.copies.catalogue_view import CatalogueView
from service.serving.copies.folded_items import FoldedItemsFollower
from service.serving.copies.item_ids import ItemIds
from service.serving.copies.later_items import LaterItemsFollower
from service.serving.copies.latest import LatestFollower
from service.serving.copies.mixture_weights import MixtureWeights
from service.serving.copies.new_items import NewItemsFollower
from service.serving.copies.online_items import OnlineSnapshotFollower
from service.serving.copies.polling import Polled
from service.serving.copies.popularity import Popularity
from service.serving.kept_answers import KeptAnswers
from service.serving.lineups import Lineups
from service.serving.predictions import OnlinePredictions
from service.serving.recommender import Recommender
from service.serving.star_predictions import StarPredictions
from service.serving.topics import CatalogueTopics
from service.serving.users import Users
from service.settings import Settings
from service.store.api_keys import ApiKeys
from service.store.catalogue.documents import Catalogue
from service.store.catalogue.feed import CatalogueFeed
from service.store.catalogue.numbers import ItemNumbers
from service.store.catalogue.reader import CatalogueReader
from service.store.connection import AsyncClient, Client, connect, connect_async
from service.store.gate import Gate
from service.store.identity.known import Known
from service.store.identity.memory import Memory
from service.store.jobs.queue import Jobs
from service.store.jobs.schedule import Schedules
from service.store.log.append_queue import AppendQueue
from service.store.log.changes import ChangeFollower
from service.store.log.request_keys import RequestKeys
from service.store.log.stream import LogWriter
from service.store.models.mixture import MixtureReader
from service.store.models.registry import Registry
from service.store.models.snapshot_files import SnapshotFiles
from service.store.namespace import Namespace, open_namespace
from service.store.profiles.counters import CountsReader
from service.store.profiles.reader import ProfileReader
from service.store.profiles.showings import ShowingsReader
from service.store.pulse import Pulse
from service.store.recovery.watch import Keeper, StoreWatch
from service.store.server.inspection import ServerReport, inspect_server
from service.store.server.probe import WriteProbe

FollowerT = TypeVar("FollowerT", bound=Polled | CatalogueView)


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


@dataclass(frozen=True)
class Followed:
    """Objects that follow the store and keep a copy of it in memory."""

    watch: StoreWatch
    changes: ChangeFollower
    view: CatalogueView
    popularity: Popularity
    mixture_weights: MixtureWeights
    active: ActiveModels
    online_items: OnlineSnapshotFollower
    folded_items: FoldedItemsFollower
    later_items: LaterItemsFollower
    new_items: NewItemsFollower
    latest: LatestFollower
    item_ids: ItemIds


@dataclass(frozen=True)
class ApiRuntime(StoreAccess, Followed):
    """Everything that the routes use: the store, the copies in memory, and the services."""

    settings: Settings
    namespace: Namespace
    server: ServerReport
    model: OnlineModel
    redis: AsyncClient
    online_predictions: OnlinePredictions
    recommender: Recommender
    kept_answers: KeptAnswers
    audience: Audience
    stars: StarPredictions
    topics: CatalogueTopics


@asynccontextmanager
async def api_runtime(settings: Settings, redis_url: str) -> AsyncIterator[ApiRuntime]:
    """Open everything that an api process needs; raise Misconfigured or StoreUnavailable."""
    with connect(redis_url, role="api-start") as client:
        server = inspect_server(client)
        namespace = open_namespace(client, settings)
    model, meanings = (
        OnlineModel(configs.online_config(settings, namespace)),
        configs.meanings(settings, namespace),
    )
    async with AsyncExitStack() as stack:
        clients = await _connected(stack, settings, redis_url, namespace.partitions)
        redis = clients.requests
        users = Users(redis, namespace, meanings, model.layout, settings.user_cache_mb << 20)
        stored = _stored(stack, settings, namespace, clients, model)
        kept = _followed(stack, settings, namespace, clients, stored, users)
        lineups = Lineups(
            kept.active,
            kept.mixture_weights,
            kept.later_items,
            kept.folded_items,
            states=[kept.popularity, kept.online_items, kept.latest],
        )
        recommender = Recommender(
            namespace,
            lineups=lineups,
            users=users,
            meanings=meanings,
            numbers=stored.numbers,
            changes=kept.changes,
            view=kept.view,
            catalogue=stored.catalogue,
            new_items=kept.new_items,
        )
        topics = CatalogueTopics(
            lineups,
            users,
            stored.numbers,
            kept.view,
            kept.popularity,
            stored.catalogue,
            kept.changes,
            namespace.partitions,
        )
        stack.push_async_callback(topics.close)
        stack.push_async_callback(recommender.close)
        stack.push_async_callback(kept.watch.close)
        await kept.watch.start(stored.numbers, *_keepers(kept))
        stack.push_async_callback(stored.pulse.close)
        await stored.pulse.start()
        yield ApiRuntime(
            **vars(stored),
            **vars(kept),
            settings=settings,
            namespace=namespace,
            server=server,
            model=model,
            redis=redis,
            online_predictions=OnlinePredictions(namespace, model, stored.numbers, stored.profiles),
            recommender=recommender,
            kept_answers=KeptAnswers(users, lineups, kept.view, kept.new_items, kept.changes),
            audience=Audience(lineups, users, stored.numbers, stored.catalogue),
            stars=StarPredictions(lineups, stored.numbers, stored.catalogue),
            topics=topics,
        )


@dataclass(frozen=True)
class _Clients:
    """The Redis clients of a process, separate so that none of them waits for another."""

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


async def _connected(
    stack: AsyncExitStack, settings: Settings, redis_url: str, partitions: int
) -> _Clients:
    gate = Gate()
    requests = connect_async(redis_url, role="api", gate=gate)
    feeds = connect_async(redis_url, role="api-changes", max_connections=partitions + 8)
    pulse = connect_async(redis_url, role="api-pulse", max_connections=1)
    blocking = connect(redis_url, role="api-blocking", gate=gate)
    jobs_url = settings.jobs_redis_url or redis_url
    # the queue of jobs may be in another server, about which the pulse says nothing
    jobs = connect(jobs_url, role="api-jobs", gate=gate if jobs_url == redis_url else None)
    return _Clients(
        requests=await stack.enter_async_context(requests),
        feeds=await stack.enter_async_context(feeds),
        blocking=stack.enter_context(blocking),
        jobs=stack.enter_context(jobs),
        pulse=await stack.enter_async_context(pulse),
        gate=gate,
    )


def _stored(
    stack: AsyncExitStack,
    settings: Settings,
    namespace: Namespace,
    clients: _Clients,
    model: OnlineModel,
) -> StoreAccess:
    name, redis, blocking = namespace.name, clients.requests, clients.blocking
    known, patience_s = Known(namespace.partitions), settings.store_patience_ms / 1_000
    writer = LogWriter(
        redis, namespace, max_bytes=settings.log_max_bytes, known=known, retry_s=patience_s
    )
    append_queue = AppendQueue(writer, namespace.partitions)
    stack.push_async_callback(append_queue.close)
    return StoreAccess(
        known=known,
        append_queue=append_queue,
        request_keys=RequestKeys(redis, name),
        numbers=ItemNumbers(redis, name, settings.max_items, known=known),
        profiles=ProfileReader(redis, namespace, model.layout, start=model.arrays()),
        catalogue=Catalogue(redis, name, known=known),
        keys=ApiKeys(redis, name, known=known),
        pulse=Pulse(ApiKeys(clients.pulse, name, known=known), clients.gate, patience_s),
        probe=WriteProbe(redis, name),
        registry=Registry(blocking, name),
        jobs=Jobs(blocking, clients.jobs, name),
        schedules=Schedules(blocking, settings),
    )


def _followed(
    stack: AsyncExitStack,
    settings: Settings,
    namespace: Namespace,
    clients: _Clients,
    stored: StoreAccess,
    users: Users,
) -> Followed:
    name, partitions, data_dir = namespace.name, namespace.partitions, settings.data_dir
    changes = ChangeFollower(clients.feeds, name, partitions, known=stored.known)
    changes.start(users)
    stack.push_async_callback(changes.close)
    warming = CacheWarming(users, asyncio.get_running_loop())
    files = SnapshotFiles(data_dir / "snapshots")
    active = ActiveModels(stored.registry, files, warming.begin)
    active.start()
    stack.push_async_callback(asyncio.to_thread, active.close)
    view = CatalogueView(CatalogueFeed(clients.feeds, name))
    counts = CountsReader(clients.requests, name, partitions)
    experts = configs.online_config(settings, namespace)
    weights = MixtureWeights(MixtureReader(clients.requests, name, partitions), active)
    items = OnlineSnapshotFollower(clients.blocking, namespace, experts, data_dir / "online")
    popularity = Popularity(counts, settings.trending_half_life_h, settings.future_tolerance_s)
    later_items = LaterItemsFollower(active, CatalogueReader(clients.blocking, name))
    new_items = NewItemsFollower(
        seed=namespace.seed,
        share=settings.exploration_share,
        view=view,
        popularity=popularity,
        learned=items,
        showings=ShowingsReader(clients.requests, name, partitions),
        models=active,
        later=later_items,
    )
    return Followed(
        watch=StoreWatch(
            clients.requests, clients.blocking, namespace, stored.known, Memory(data_dir)
        ),
        changes=changes,
        view=_started(stack, view),
        popularity=_started(stack, popularity),
        mixture_weights=_started(stack, weights),
        active=active,
        online_items=_started(stack, items),
        folded_items=_started(stack, FoldedItemsFollower(active, items, later_items)),
        new_items=_started(stack, new_items),
        later_items=_started(stack, later_items),
        latest=_started(stack, LatestFollower(view, CatalogueFeed(clients.requests, name))),
        item_ids=_started(stack, ItemIds(stored.numbers)),
    )


def _keepers(kept: Followed) -> list[Keeper]:
    """Return what must be told when the store is another, or has lost something."""
    return [one for one in vars(kept).values() if not isinstance(one, StoreWatch)]


def _started(stack: AsyncExitStack, follower: FollowerT) -> FollowerT:
    """Start a follower, and close it when the stack closes."""
    follower.start()
    stack.push_async_callback(follower.close)
    return follower


@asynccontextmanager
async def no_runtime() -> AsyncIterator[ApiRuntime]:
    """Stand in for the runtime of an application that only generates its OpenAPI document."""
    raise NotReady("this application only describes itself; it has no store")
    yield
