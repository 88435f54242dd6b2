"""The newest snapshot of what the learner of each partition publishes, mapped from its file."""

import asyncio
from contextlib import suppress
from pathlib import Path

import numpy as np

from core.errors import CoreError
from core.online.config import OnlineConfig
from core.online.model import OnlineModel
from core.snapshot import Snapshot
from core.transitions.table import Counted, Transitions
from service.errors import NotFound
from service.ranking.learned import LearnedPart, LearnedState
from service.ranking.online import OnlineItems
from service.serving.polling import Polled
from service.store.clock import now_ms
from service.store.connection import Client
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

    async def refresh(self) -> None:
        """Map new snapshots now."""
        await asyncio.to_thread(self._refresh)

    def _refresh(self) -> None:
        newest = dict(self.current.parts)
        for partition, source in enumerate(self._sources):
            version = source.version()
            if version is None or version == self._version(partition):
                continue
            # keep the current one if the new one was replaced, is damaged or has other experts
            with suppress(NotFound, CoreError):
                snapshot = self._files.open(source, version)
                newest[partition] = LearnedPart(
                    self._items(partition, version, snapshot), _transitions(snapshot)
                )
        if newest != self.current.parts:
            self.current = LearnedState.of(newest, now_ms=now_ms())
            self._files.remove_unused({part.online.version for part in newest.values()})

    def _version(self, partition: int) -> str | None:
        part = self.current.parts.get(partition)
        return None if part is None else part.online.version

    def _items(self, partition: int, version: str, snapshot: Snapshot) -> OnlineItems:
        model = OnlineModel(self._config)
        state = {
            name.removeprefix("state."): np.asarray(array)
            for name, array in snapshot.arrays.items()
            if name.startswith("state.")
        }
        model.load(state)
        seen_through = int(snapshot.cuts["trained_through"][str(partition)])
        items = OnlineItems(version, seen_through, model, snapshot.arrays["items"])
        # in this thread, because the first scores load the kernels for read-only arrays
        items.scores(np.zeros(model.width, np.float32))
        return items


def _transitions(snapshot: Snapshot) -> Counted:
    prefix = "transitions."
    arrays = {name: a for name, a in snapshot.arrays.items() if name.startswith(prefix)}
    if not arrays:  # a learner from before transitions were counted has published it
        return Transitions(1.0).counted()
    return Counted.of({name.removeprefix(prefix): a for name, a in arrays.items()})
