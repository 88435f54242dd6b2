"""The composition root: settings become connected objects, and are closed again in the end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from core.online.model import OnlineModel
from service.active import ActiveModels
from service.errors import NotReady
from service.ingest import Appender
from service.online import online_config, online_model
from service.serving.audience import Audience
from service.serving.catalogue_view import CatalogueView
from service.serving.latest_items import LatestItems
from service.serving.lineup import Lineups
from service.serving.mixing import Mixing
from service.serving.online_items import OnlineSnapshotFollower
from service.serving.popularity import Popularity
from service.serving.predictions import Serving
from service.serving.recommender import Recommender
from service.serving.star_predictions import StarPredictions
from service.serving.users import HistoryReading, Users
from service.settings import Settings
from service.store.api_keys import ApiKeys
from service.store.catalogue import Catalogue
from service.store.catalogue_feed import CatalogueFeed
from service.store.changes import ChangeFollower
from service.store.connection import AsyncClient, connect, connect_async
from service.store.counters import CountsReader
from service.store.inspection import ServerReport, inspect_server
from service.store.jobs import Jobs
from service.store.log import LogAppender
from service.store.mixture import MixtureReader
from service.store.namespace import Namespace, open_namespace
from service.store.numbers import ItemNumbers
from service.store.profiles import ProfileReader
from service.store.registry import Registry
from service.store.schedule import Schedules
from service.store.snapshot_files import SnapshotFiles


@dataclass(frozen=True)
class ApiRuntime:
    """What the routes work with."""

    settings: Settings
    namespace: Namespace
    server: ServerReport
    model: OnlineModel
    redis: AsyncClient
    appender: Appender
    numbers: ItemNumbers
    profiles: ProfileReader
    catalogue: Catalogue
    view: CatalogueView
    keys: ApiKeys
    changes: ChangeFollower
    serving: Serving
    popularity: Popularity
    mixing: Mixing
    online_items: OnlineSnapshotFollower
    jobs: Jobs
    schedules: Schedules
    recommender: Recommender
    audience: Audience
    stars: StarPredictions
    latest: LatestItems
    registry: Registry
    active: ActiveModels


@asynccontextmanager
async def api_runtime(settings: Settings, redis_url: str) -> AsyncIterator[ApiRuntime]:
    """Open everything that an api process needs; Misconfigured or StoreUnavailable say what is missing."""
    with connect(redis_url, role="api-start") as client:
        server = inspect_server(client)
        namespace = open_namespace(client, settings)
    async with AsyncExitStack() as stack:
        connection = await stack.enter_async_context(connect_async(redis_url, role="api"))
        # of its own: each feed waits in XREAD all the time
        feeds = connect_async(
            redis_url, role="api-changes", max_connections=namespace.partitions + 8
        )
        feed = await stack.enter_async_context(feeds)
        changes = ChangeFollower(feed, namespace.name, namespace.partitions)
        reading = HistoryReading.of(settings, namespace)
        model = online_model(settings, namespace)
        users = Users(connection, namespace, reading, model, settings.user_cache_mb << 20)
        changes.start(users)
        stack.push_async_callback(changes.close)
        view = CatalogueView(CatalogueFeed(feed, namespace.name))
        view.start()
        stack.push_async_callback(view.close)
        log = LogAppender(connection, namespace, max_bytes=settings.log_max_bytes)
        appender = Appender(log, namespace.partitions)
        stack.push_async_callback(appender.close)
        counts = CountsReader(connection, namespace.name, namespace.partitions)
        popularity = Popularity(counts, settings.trending_half_life_h)
        popularity.start()
        stack.push_async_callback(popularity.close)
        mixing = Mixing(MixtureReader(connection, namespace.name, namespace.partitions))
        mixing.start()
        stack.push_async_callback(mixing.close)
        jobs_url = settings.jobs_redis_url or redis_url
        blocking = stack.enter_context(connect(redis_url, role="api-blocking"))
        carrier = stack.enter_context(connect(jobs_url, role="api-jobs"))
        registry = Registry(blocking, namespace.name)
        active = ActiveModels(registry, SnapshotFiles(settings.data_dir / "snapshots"))
        active.start()
        stack.push_async_callback(asyncio.to_thread, active.close)
        online_items = OnlineSnapshotFollower(
            blocking, namespace, online_config(settings, namespace), settings.data_dir / "online"
        )
        online_items.start()
        stack.push_async_callback(online_items.close)
        numbers = ItemNumbers(connection, namespace.name, settings.max_items)
        profiles = ProfileReader(connection, namespace, model)
        catalogue = Catalogue(connection, namespace.name)
        latest = LatestItems(active, view, numbers, catalogue)
        latest.start()
        stack.push_async_callback(latest.close)
        lineups = Lineups(active, popularity, online_items, mixing, latest)
        recommender = Recommender(
            namespace,
            lineups=lineups,
            users=users,
            reading=reading,
            numbers=numbers,
            changes=changes,
            view=view,
            catalogue=catalogue,
        )
        stack.push_async_callback(recommender.close)
        yield ApiRuntime(
            settings=settings,
            namespace=namespace,
            server=server,
            model=model,
            redis=connection,
            appender=appender,
            numbers=numbers,
            profiles=profiles,
            catalogue=catalogue,
            view=view,
            keys=ApiKeys(connection, namespace.name),
            changes=changes,
            serving=Serving(namespace, model, numbers, profiles),
            popularity=popularity,
            mixing=mixing,
            online_items=online_items,
            jobs=Jobs(blocking, carrier, namespace.name),
            schedules=Schedules(blocking, settings),
            recommender=recommender,
            audience=Audience(lineups, users, numbers, catalogue),
            stars=StarPredictions(lineups, numbers, catalogue),
            latest=latest,
            registry=registry,
            active=active,
        )


@asynccontextmanager
async def no_runtime() -> AsyncIterator[ApiRuntime]:
    """For applications that only describe themselves (``hedgerow openapi``)."""
    raise NotReady("this application only describes itself; it has no store")
    yield
