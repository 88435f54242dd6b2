"""The objects of an api process that follow the store and keep a copy of it in memory."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TypeVar

from core.meaning import RATING
from service import configs
from service.runtime.opened import Opened
from service.runtime.store_access import StoreAccess
from service.served_models import ActiveModels
from service.serving.alarms import Alarms
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
from service.serving.erasing import LEASE_MS, Erasing, ErasureStore
from service.serving.experiments.following import FollowedExperiments
from service.serving.lineups import FollowsState
from service.serving.users import Users
from service.serving.webhooks.news import Records, Settling
from service.serving.webhooks.receivers import Receivers
from service.serving.webhooks.sender import LEASE_MS as SENDER_LEASE_MS
from service.serving.webhooks.sender import WebhookSender, WebhookStore
from service.store.catalogue.feed import CatalogueFeed
from service.store.catalogue.reader import CatalogueReader
from service.store.erasures.rewriting import Rewriting
from service.store.experiments import Experiments
from service.store.identity.memory import Memory
from service.store.keys import NamespaceKeys
from service.store.log.changes import ChangeFollower
from service.store.log.lease import Lease
from service.store.models.mixture import MixtureReader
from service.store.models.snapshot_files import SnapshotFiles
from service.store.profiles.counters import CountsReader
from service.store.profiles.showings import ShowingsReader
from service.store.recovery.watch import Keeper, StoreWatch
from service.store.server.embedded import FILES, running_server
from service.store.webhooks.deliveries import Deliveries
from service.store.webhooks.hooks import Webhooks

FollowerT = TypeVar("FollowerT", bound=Polled | CatalogueView)


@dataclass(frozen=True)
class Followed:
    """Objects that follow the store and keep a copy of it in memory."""

    watch: StoreWatch
    warming: CacheWarming
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
    experiments: FollowedExperiments
    erasing: Erasing
    alarms: Alarms
    webhooks: WebhookSender

    @property
    def states(self) -> list[FollowsState]:
        """The states of which families without training make their rankers."""
        return [self.popularity, self.online_items, self.latest]

    @property
    def keepers(self) -> list[Keeper]:
        """All that must be told when the store is another one, or has lost something."""
        others = StoreWatch, CacheWarming, Alarms
        return [one for one in vars(self).values() if not isinstance(one, others)]


def followed(stack: AsyncExitStack, base: Opened, stored: StoreAccess, users: Users) -> Followed:
    """Start them; each is closed when the stack closes. The watch is not started yet."""
    settings, namespace, clients = base.settings, base.namespace, base.clients
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
    watch = StoreWatch(
        clients.requests, clients.blocking, namespace, stored.known, Memory(data_dir)
    )
    alarms = _alarms(base, stored, active, watch)
    return Followed(
        watch=watch,
        warming=warming,
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
        experiments=_started(stack, _experiments(base)),
        erasing=_started(stack, Erasing(_erasure_store(base, stored))),
        alarms=alarms,
        webhooks=_started(stack, _webhooks(base, stored, alarms)),
    )


def _experiments(base: Opened) -> FollowedExperiments:
    kinds = {name: kind.code for name, kind in base.settings.kinds.items()} | {"rating": RATING}
    store = Experiments(base.clients.blocking, base.namespace.name)
    return FollowedExperiments(store, base.clients.requests, base.namespace, kinds)


def _alarms(base: Opened, stored: StoreAccess, active: ActiveModels, watch: StoreWatch) -> Alarms:
    return Alarms(
        client=base.clients.requests,
        namespace=base.namespace,
        server=base.server,
        pulse=stored.pulse,
        probe=stored.probe,
        profiles=stored.profiles,
        jobs=stored.jobs.records,
        schedules=stored.schedules,
        active=active,
        watch=watch,
    )


def _webhooks(base: Opened, stored: StoreAccess, alarms: Alarms) -> WebhookSender:
    client, name, settings = base.clients.blocking, base.namespace.name, base.settings
    store = WebhookStore(
        webhooks=Webhooks(client, name),
        deliveries=Deliveries(client, name),
        lease=Lease(client, NamespaceKeys(name).webhook_sender, SENDER_LEASE_MS),
    )
    records = Records(stored.jobs.records, stored.registry, Experiments(client, name))
    receivers = Receivers(to_private=settings.webhooks_to_private)
    settling = Settling(settings.alarm_after_s)
    return WebhookSender(store, records, alarms, receivers, settling=settling)


def _erasure_store(base: Opened, stored: StoreAccess) -> ErasureStore:
    settings, client, rewriting = base.settings, base.clients.blocking, None
    if running_server(settings.data_dir) == base.clients.url:
        files = settings.data_dir / FILES
        rewriting = Rewriting(client, files, settings.erasure_rewrite_pause_s)
    return ErasureStore(
        records=stored.erasures,
        traces=stored.traces,
        catalogue=stored.catalogue,
        lease=Lease(client, NamespaceKeys(base.namespace.name).eraser, LEASE_MS),
        append_queue=stored.append_queue,
        rewriting=rewriting,
    )


def _started(stack: AsyncExitStack, follower: FollowerT) -> FollowerT:
    """Start a follower, and close it when the stack closes."""
    follower.start()
    stack.push_async_callback(follower.close)
    return follower
