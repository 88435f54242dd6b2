"""The follower of a learner: judges rankers by the next events, publishes the online snapshot.

It is a thread in the learner's process. Its results are derived: if they are lost, the weights
start again from those that the gate expects. It never makes the learner wait, and rests nine times
as long as it works, and far longer while the learner is behind.
"""

import contextlib
import threading
import time
from collections.abc import Iterator

from core.batch.takers import NOBODY, Takers
from core.online.model import OnlineModel
from service import configs
from service.errors import StoreUnavailable
from service.learning.following.catalogue import FollowedCatalogue
from service.learning.following.inbox import Inbox
from service.learning.following.judge import Judge, StoredUser
from service.learning.following.learned_weights import LearnedWeights, TrainedModel
from service.learning.following.takers import FollowedTakers
from service.learning.following.views import View
from service.ranking.ranker import Ranker
from service.served_models import ActiveModels
from service.settings import Settings
from service.store.catalogue.reader import CatalogueReader
from service.store.connection import Client, connect
from service.store.keys import PartitionKeys
from service.store.log.state import read_deleted_items
from service.store.models.mixture import read_first_stack, read_mixture, write_mixture
from service.store.models.online_snapshot import OnlineSnapshots
from service.store.models.records import LEAD
from service.store.models.registry import Registry
from service.store.models.snapshot_files import SnapshotFiles
from service.store.namespace import Namespace
from service.store.profiles.generation import users_of
from service.store.profiles.histories import live
from service.store.profiles.history_store import HistoryStore
from service.telemetry import logger

SHARE, BUSY_SHARE = 0.1, 0.01
"""Largest share of the time for judging: usually, and while events wait for the learner."""
PERIOD_S = 2.0
"""Seconds between two writes of the weights, and between two looks at the registry."""
WAIT_S = 0.5
"""Longest wait for something in the inbox, in seconds."""


class Follower:
    """Follows one learner from ``start`` to ``close``."""

    def __init__(
        self,
        settings: Settings,
        redis_url: str,
        namespace: Namespace,
        partition: int,
        inbox: Inbox,
    ) -> None:
        self._redis_url, self._namespace, self._partition = redis_url, namespace, partition
        self._inbox = inbox
        self._keys = PartitionKeys(namespace.name, partition)
        model = OnlineModel(configs.online_config(settings, namespace))
        self._fingerprint = model.fingerprint.hex()
        self._meanings = configs.meanings(settings, namespace)
        self._judge = Judge(settings, model, self._meanings, partition)
        self._files = SnapshotFiles(settings.data_dir / "snapshots")
        self._active: ActiveModels
        self._histories: HistoryStore
        self._documents: CatalogueReader
        self._catalogue: FollowedCatalogue
        self._takers: FollowedTakers
        self._published: list[tuple[View, Takers]] = []
        """The newest two views that were published, with the takers as of each."""
        self._rankers: list[Ranker] = []
        self._deleted: dict[int, int] = {}
        self._passed_over = 0
        """Count of the inbox that ``learned`` already holds."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"follower-{partition}")
        self.learned: LearnedWeights
        inbox.is_followed = True

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread and wait until it has ended."""
        self._stop.set()
        self._inbox.arrived.set()
        self._thread.join()

    def _run(self) -> None:
        with connect(self._redis_url, role=f"follower-{self._partition}") as client:
            while not self._stop.is_set():
                try:
                    self._follow(client)
                except StoreUnavailable:
                    self._stop.wait(PERIOD_S)
                except Exception:  # noqa: BLE001 - the thread must go on, and the log must tell
                    logger().error("follower_failed", exc_info=True)
                    self._stop.wait(PERIOD_S)

    def _follow(self, client: Client) -> None:
        self.learned = LearnedWeights(read_mixture(client, self._keys))
        registry = Registry(client, self._namespace.name)
        self._active = ActiveModels(registry, self._files)
        self._histories = HistoryStore(client, self._keys)
        self._documents = CatalogueReader(client, self._namespace.name)
        self._catalogue = FollowedCatalogue(self._documents)
        self._takers = FollowedTakers(
            self._inbox, self._histories, self._meanings, lambda: users_of(client, self._keys)
        )
        # later deletions come through the inbox
        self._deleted = read_deleted_items(client, self._keys)
        due, written = 0.0, self.learned.record
        while not self._stop.is_set():
            if time.monotonic() >= due:
                self._follow_models(client)
                self._publish(client, again=True)
                self._count_passed_over()
                if self.learned.record is not written:
                    written = self.learned.record
                    write_mixture(client, self._keys, written)
                due = time.monotonic() + PERIOD_S
            self._publish(client)
            if not self._judge_next():
                self._inbox.arrived.wait(WAIT_S)
                self._inbox.arrived.clear()
        self._count_passed_over()
        if self.learned.record is not written:
            write_mixture(client, self._keys, self.learned.record)

    def _publish(self, client: Client, *, again: bool = False) -> None:
        """Publish a new view, or the last one ``again`` if there is news of the takers."""
        view = self._inbox.take_view()
        self._takers.look_through()
        if view is None and again and self._published and self._takers.has_news:
            view = self._published.pop()[0]
        if view is None:
            return
        takers = self._takers.as_of(view.watermark, self._deletions())
        snapshot = view.snapshot(self._partition, self._fingerprint, takers)
        OnlineSnapshots(client, self._keys).publish(snapshot)
        self._published = [*self._published[-1:], (view, takers)]

    def _deletions(self) -> dict[int, int]:
        """Return all deleted items with the sequence of their deletion."""
        later = self._inbox.take_deleted()
        self._takers.forget(later)
        self._deleted |= later
        return self._deleted

    def _judge_next(self) -> bool:
        """Judge a positive if one waits, then rest; return whether there was one."""
        items = self._catalogue.items
        sighting = None if items is None else self._inbox.take_sighting()
        if items is None or sighting is None:
            return False
        began = time.monotonic()
        stored = self._stored(sighting.user)
        weights, arms = self.learned.weights, self.learned.arms
        takers = next((of for view, of in self._published if view is sighting.view), NOBODY)
        verdict = self._judge.judge(
            sighting, stored, self._rankers, weights, arms, items=items, takers=takers
        )
        if verdict is not None:
            self.learned.judge(verdict, sighting)
            self.learned.fit()
        share = BUSY_SHARE if self._inbox.is_busy else SHARE
        self._stop.wait((time.monotonic() - began) * (1.0 / share - 1.0))
        return True

    def _count_passed_over(self) -> None:
        now = self._inbox.passed_over
        self.learned.pass_over(now - self._passed_over)
        self._passed_over = now

    def _stored(self, user: str) -> StoredUser:
        deleted = self._deletions()
        history, trimmed = self._histories.whole(user)
        features = {}
        if any(ranker.reads_features for ranker in self._rankers):
            [document] = self._documents.users([user])
            features = document.get("features", {})
        return StoredUser(live(history, deleted), trimmed, features)

    def _follow_models(self, client: Client) -> None:
        """Update the rankers and their weights to the models that are active now."""
        self._active.refresh()
        models = self._active.current.models
        self._rankers = self._catalogue.refresh(model.ranker for model in models.values())
        self._takers.follow(self._rankers)
        trained = {
            name: TrainedModel(
                model.record.version, model.record.metrics.get(LEAD), model.ranker.family.trusted
            )
            for name, model in models.items()
            if not model.ranker.only_places
        }
        self.learned.follow(trained, self._judge.versions)
        self.learned.foretold(read_first_stack(client, self._namespace.name))


@contextlib.contextmanager
def following(
    settings: Settings,
    redis_url: str,
    namespace: Namespace,
    partition: int,
    inbox: Inbox,
) -> Iterator[None]:
    """Run a follower inside the ``with`` block."""
    follower = Follower(settings, redis_url, namespace, partition, inbox)
    follower.start()
    try:
        yield
    finally:
        follower.close()
