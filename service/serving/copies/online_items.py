"""The newest snapshot of what the learner of each partition publishes, mapped from its file."""

import asyncio
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np

from core.batch.takers import NOBODY, Takers
from core.errors import CoreError
from core.online.config import OnlineConfig
from core.online.model import OnlineModel
from core.snapshot import Array, Snapshot
from core.transitions.table import Counted, Transitions
from service.errors import NotFound
from service.ranking.untrained.learned import LearnedPart, LearnedState
from service.ranking.untrained.online import OnlineItems
from service.serving.copies.polling import Polled
from service.store.clock import now_ms
from service.store.connection import Client
from service.store.identity.survey import Survey
from service.store.keys import PartitionKeys
from service.store.models.online_snapshot import OnlineSnapshots
from service.store.models.snapshot_files import SnapshotFiles
from service.store.namespace import Namespace


class OnlineSnapshotFollower(Polled):
    """Follows the online snapshots; ``current`` is replaced as a whole."""

    def __init__(
        self, client: Client, namespace: Namespace, config: OnlineConfig, directory: Path
    ) -> None:
        super().__init__()
        self._sources = [
            OnlineSnapshots(client, PartitionKeys(namespace.name, partition))
            for partition in range(namespace.partitions)
        ]
        self._config, self._files = config, SnapshotFiles(directory)
        self.current = LearnedState()
        self._replacing = threading.Lock()

    def forget(self, now: Survey, *, went_back: bool) -> None:
        super().forget(now, went_back=went_back)
        if went_back:
            # a store that lost everything has no snapshot that could take its place
            with self._replacing:
                self.current = LearnedState()

    async def refresh(self) -> None:
        """Map new snapshots now."""
        await asyncio.to_thread(self._refresh)

    def _refresh(self) -> None:
        known = self.current
        newest = dict(known.parts)
        for partition, source in enumerate(self._sources):
            version = source.version()
            if version is None or version == _version(known, partition):
                continue
            # keep the current one if the new one was replaced, is damaged or has other experts
            with suppress(NotFound, CoreError):
                snapshot = self._files.open(source, version)
                newest[partition] = LearnedPart(
                    self._items(partition, version, snapshot),
                    _transitions(snapshot),
                    _takers(snapshot),
                )
        if newest != known.parts:
            self._replace(known, LearnedState.of(newest, now_ms=now_ms()))

    def _replace(self, known: LearnedState, newest: LearnedState) -> None:
        with self._replacing:
            if self.current is not known:
                # forgotten meanwhile: what was read before may be of a store that is gone
                return
            self.current = newest
        self._files.remove_unused({part.online.version for part in newest.parts.values()})

    def _items(self, partition: int, version: str, snapshot: Snapshot) -> OnlineItems:
        model = OnlineModel(self._config)
        model.load(_part(snapshot, "state."))
        seen_through = int(snapshot.cuts["trained_through"][str(partition)])
        items = OnlineItems(version, seen_through, model, snapshot.arrays["items"])
        # in this thread, because the first scores load the kernels for read-only arrays
        items.scores(np.zeros(model.width, np.float32))
        return items


def _version(known: LearnedState, partition: int) -> str | None:
    part = known.parts.get(partition)
    return None if part is None else part.online.version


def _transitions(snapshot: Snapshot) -> Counted:
    arrays = _part(snapshot, "transitions.")
    # a learner from before transitions were counted may have published it
    return Counted.of(arrays) if arrays else Transitions(1.0).counted()


def _takers(snapshot: Snapshot) -> Takers:
    arrays = _part(snapshot, "takers.")
    return Takers.of(arrays) if arrays else NOBODY


def _part(snapshot: Snapshot, prefix: str) -> dict[str, Array]:
    """Return the arrays whose names begin with a prefix, without it."""
    arrays = snapshot.arrays.items()
    return {name.removeprefix(prefix): a for name, a in arrays if name.startswith(prefix)}
