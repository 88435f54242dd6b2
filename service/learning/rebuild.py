"""Learn everything again from the histories, in bounded memory, while the service runs.

Rows go into a new generation that nobody reads yet. Rounds over the histories catch up with the
learner. Then the epoch is raised, so that no learner can commit; a last round learns the remaining
events, and one transaction swaps the generations. If earlier events were deleted or merged
meanwhile, the last round counts all events again. If the settings of the experts changed, learners
and api processes must be restarted with the new ones.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.meaning import RATING
from core.online.model import OnlineModel
from core.online.tables import RatingRows
from core.popularity import WIDTH
from core.types import I64
from service import configs
from service.learning.external_sort import ExternalSort
from service.learning.learning_step import changed_arrays, learn_ratings
from service.learning.partition import machine
from service.learning.state.counters import ItemCounters
from service.learning.state.horizon import Horizon
from service.learning.state.rows import ItemRows, UserRows
from service.learning.state.transitions import ItemTransitions
from service.settings import Settings
from service.store.clock import now_ms
from service.store.connection import Client, connect
from service.store.keys import PartitionKeys
from service.store.log.lease import Lease
from service.store.log.state import PartitionState, read_deleted_items, read_state
from service.store.namespace import Namespace, open_namespace
from service.store.namespace_copy import copy_item_numbers, copy_namespace
from service.store.profiles.generation import Generation, differences, lost_watermark, users_of
from service.store.profiles.histories import Records, live
from service.store.profiles.history_record import HISTORY, sequences
from service.store.profiles.history_store import HistoryStore
from service.store.profiles.partition_reader import PartitionReader
from service.store.profiles.rows import RowStore

CLOSE = 20_000
"""Number of events behind the learner at which the last round begins."""
MAX_ROUNDS = 5
"""Number of rounds after which the last round begins in any case."""
READ_BYTES = 1 << 20
"""Bytes of histories read by one command: limits how long other clients wait."""
TAIL_BYTES = 32 * HISTORY.itemsize
"""Bytes read from the end of each history when a round looks for new records."""
DIFFERENCES_TOLD = 20
"""Largest number of differences that a comparison lists."""

Progress = Callable[[str, int, int], None]
"""A function of a phase, the number of steps done, and their total number (0: unknown)."""


@dataclass(frozen=True)
class Rebuilt:
    """The result of a rebuild of one partition."""

    partition: int
    watermark: int
    generation: int
    learned: int
    """Number of ratings that the experts have learned."""
    differences: list[str] | None
    """With ``into``: at most 20 rows that differ from the source; None if not comparable."""


def rebuild(
    settings: Settings,
    redis_url: str,
    *,
    into: str | None = None,
    directory: Path | None = None,
    progress: Progress = lambda *_: None,
) -> list[Rebuilt]:
    """Rebuild every partition with the experts of the settings.

    ``into`` names a new namespace that gets the rows instead, for a comparison; the source stays
    unchanged then. Temporary files (29 bytes per event that weighs) go to ``directory``.
    """
    with connect(redis_url, role="rebuild") as client:
        namespace = open_namespace(client, settings)
        target = namespace
        if into is not None:
            target = copy_namespace(client, namespace, into)
            copy_item_numbers(client, namespace.name, into)
        with tempfile.TemporaryDirectory(prefix="hedgerow-rebuild-", dir=directory) as room:
            return [
                PartitionRebuild(settings, client, namespace, target, p, Path(room), progress).run()
                for p in range(namespace.partitions)
            ]


class PartitionRebuild:
    """The rebuild of one partition."""

    def __init__(
        self,
        settings: Settings,
        client: Client,
        source: Namespace,
        target: Namespace,
        partition: int,
        directory: Path,
        progress: Progress,
    ) -> None:
        self._client, self._directory, self._progress = client, directory, progress
        self._partition = partition
        self._in_place = source == target
        self._model = OnlineModel(configs.online_config(settings, target))
        self._keys = PartitionKeys(source.name, partition)
        self._target_keys = PartitionKeys(target.name, partition)
        self._generation = Generation(client, self._target_keys)
        self._rows = RowStore(client, self._target_keys, self._generation.number)
        self._histories = HistoryStore(client, self._keys)
        # before anything that a deletion or a merge would change
        state = read_state(client, self._keys)
        self._rewrites = state.rewrites
        self._deleted = read_deleted_items(client, self._keys)
        self._items = ItemRows(self._model, self._rows, client, target.name)
        self._settings, self._meanings = settings, configs.meanings(settings, source)
        # without a state nothing says when events arrived, at the latest now
        arrived_ms = state.newest_ms or now_ms()
        self._horizon = Horizon(arrived_ms, int(1_000 * settings.future_tolerance_s))
        self._count_nothing()
        self._lease = Lease(client, self._keys.lease, settings.lease_ms)
        self._dirty: I64 = np.empty(0, dtype=np.int64)
        self._is_fenced = False
        self._learned = 0
        self._sorts: list[ExternalSort] = []

    def _count_nothing(self) -> None:
        """Begin to count; users come with their rows and latest items from the store."""
        self._counters = ItemCounters(self._settings, self._meanings, np.zeros((0, WIDTH)))
        self._transitions = ItemTransitions(self._settings, self._meanings)
        self._users = UserRows(
            self._model,
            self._rows,
            self._histories,
            self._settings.users_in_memory,
            self._deleted,
            self._transitions.latest,
        )

    def run(self) -> Rebuilt:
        """Catch up with the learner, swap the generations, clean up."""
        after, until = 0, self._watermark()
        for _ in range(MAX_ROUNDS):
            self._learn_between(after, until)
            after, until = until, self._watermark()
            if not self._in_place or until - after <= CLOSE:
                break
        if self._in_place:
            after = self._replace(after)
        else:
            self._swap(self._generation.fence(after))
        differing = None if self._in_place else self._differences(after)
        return Rebuilt(
            partition=self._partition,
            watermark=after,
            generation=self._generation.number,
            learned=self._learned,
            differences=differing,
        )

    def _watermark(self) -> int:
        state = read_state(self._client, self._keys)
        return state.watermark if state.epoch else lost_watermark(self._client, self._keys)

    def _replace(self, after: int) -> int:
        """Stop the learner, learn what it learned meanwhile, and swap the generations."""
        self._lease.seize()
        self._is_fenced = True
        try:
            fenced = self._generation.fence(after)
            self._learn_between(after, fenced.watermark)
            self._follow_deletions()
            if fenced.rewrites != self._rewrites:
                self._count_again(fenced.watermark)
            self._swap(fenced)
        finally:
            self._lease.release()
        self._tell("removing old rows", 0)
        self._generation.remove_others()
        return fenced.watermark

    def _swap(self, fenced: PartitionState) -> None:
        items = np.flatnonzero(self._items.here)
        arrays = changed_arrays(self._model, {})
        self._generation.write_index(items, arrays, self._counters.all())
        self._generation.write_transitions(self._transitions.all(fenced.watermark))
        self._generation.swap(fenced, self._model.fingerprint, machine())

    # --- a round ----------------------------------------------------------------------------------

    def _learn_between(self, after: int, until: int) -> None:
        """Learn the ratings of the events ``after < sequence <= until``, and count the events."""
        sort, done = self._sorted(after, until), 0
        for records, users in sort.windows():
            self._counters.learn(**self._columns(records))
            for window, slots in self._windows(records, users):
                self._learn_ratings(window, slots)
            done += len(records)
            self._tell("catching up" if after else "learning", done, sort.n_records)
        self._write_items()

    def _count_again(self, until: int) -> None:
        """Count all events anew: of those that were counted, some are gone or are another user's.

        No learner runs at this point. What the experts have learned of such events stays, as
        always.
        """
        self._deleted = read_deleted_items(self._client, self._keys)
        self._count_nothing()
        sort, done = self._sorted(0, until), 0
        for records, users in sort.windows():
            self._counters.learn(**self._columns(records))
            done += sum(len(window) for window, _ in self._windows(records, users))
            self._tell("counting again", done, sort.n_records)

    def _sorted(self, after: int, until: int) -> ExternalSort:
        """Return what weighs among the events ``after < sequence <= until``."""
        room = self._directory / f"{self._partition}-{len(self._sorts)}"
        room.mkdir()
        sort = ExternalSort(room)
        self._sorts.append(sort)
        for n_users, (user, history) in enumerate(self._read(after)):
            number = sequences(history)
            kind = history["kind"]
            # ratings are learned, positives counted, and whatever weighs is a step
            counts = (kind == RATING) | self._transitions.weighs(kind, history["value"])
            sort.add(user, history[counts & (number > after) & (number <= until)])
            if n_users % 1_000 == 0:
                self._tell("reading", n_users)
        return sort

    def _read(self, after: int) -> Iterator[tuple[str, Records]]:
        """Yield (user, records) for all users, at least all records after ``after``."""
        for page in users_of(self._client, self._keys):
            if not self._in_place:
                self._generation.add_users(page)
            sizes = self._histories.sizes(page)
            n_bytes = TAIL_BYTES if after else max(sizes)
            for users in _groups(page, sizes, n_bytes):
                tails = self._histories.tails(users, n_bytes)
                for user, tail in zip(users, tails, strict=True):
                    history = tail
                    # a full tail may be incomplete, even one as long as the history was,
                    # because the history may have grown since
                    if tail.nbytes >= n_bytes > 0 and sequences(history)[0] > after:
                        history, _ = self._histories.whole(user)
                    yield user, live(history, self._deleted)

    def _windows(self, records: Records, users: list[str]) -> Iterator[tuple[Records, I64]]:
        """Count steps; yield as many records as fit into memory, with the rows of their users."""
        at = 0
        while at < len(records):
            window = records[at : at + _fitting(records["user"][at:], self._users.capacity)]
            numbers, index = np.unique(window["user"], return_inverse=True)
            self._users.until = int(window["sequence"][0]) - 1
            slots = self._users.take([users[number] for number in numbers.tolist()])
            latest = self._users.latest
            self._transitions.learn(latest, slots, user=index, **self._columns(window))
            yield window, slots[index]
            at += len(window)

    def _learn_ratings(self, window: Records, slots: I64) -> None:
        rated = window["kind"] == RATING
        if not rated.any():
            return
        new = RatingRows(
            user_ix=slots[rated],
            item_ix=window["item"][rated].astype(np.int64),
            rating=window["value"][rated].copy(),
            sequence=window["sequence"][rated].copy(),
        )
        touched = learn_ratings(self._model, self._users, self._items, new)
        changed = [self._users.names[slot] for slot in touched.slots.tolist()]
        self._generation.write_user_rows(changed, self._users.table.rows[touched.slots])
        self._dirty = np.union1d(self._dirty, touched.items)
        self._learned += int(np.count_nonzero(rated))

    def _write_items(self) -> None:
        rows = self._items.table.rows[self._dirty]
        self._generation.write_item_rows(self._dirty.tolist(), rows)
        self._dirty = np.empty(0, dtype=np.int64)

    def _follow_deletions(self) -> None:
        """Undo the learning of what was deleted meanwhile; no learner runs at this point."""
        deleted = read_deleted_items(self._client, self._keys)
        for item in deleted.keys() - self._deleted.keys():
            if self._items.is_here(item):
                self._items.start_over(item)
                self._dirty = np.union1d(self._dirty, [item]).astype(np.int64)
        self._write_items()
        for sort in self._sorts:
            for users in sort.users():
                self._generation.remove_users(users)

    def _differences(self, until: int) -> list[str] | None:
        state = read_state(self._client, self._keys)
        if state.watermark != until:
            return None
        source = RowStore(self._client, self._keys, state.generation)
        users = users_of(self._client, self._keys)
        ours = self._stored_transitions(self._target_keys, self._generation.number)
        theirs = self._stored_transitions(self._keys, state.generation)
        found = chain(differences(self._rows, source, users), ours.differences(theirs))
        return list(islice(found, DIFFERENCES_TOLD))

    def _stored_transitions(self, keys: PartitionKeys, generation: int) -> ItemTransitions:
        stored = ItemTransitions(self._settings, self._meanings)
        stored.load(PartitionReader(self._client, keys), generation)
        return stored

    def _columns(self, records: Records) -> dict[str, Any]:
        """Return what the counters learn from."""
        return {
            "item": records["item"].astype(np.int64),
            "kind": records["kind"],
            "value": records["value"],
            "time_ms": self._horizon.counted(records["time_ms"].astype(np.int64)),
        }

    def _tell(self, phase: str, done: int, total: int = 0) -> None:
        if self._is_fenced:
            self._lease.keep()
        self._progress(phase, done, total)


def _groups(users: list[str], sizes: list[int], most: int) -> Iterator[list[str]]:
    """Split a page of users so that one command reads about READ_BYTES."""
    ends = np.cumsum(np.minimum(sizes, most)) // READ_BYTES
    for group in np.split(np.arange(len(users)), np.flatnonzero(np.diff(ends)) + 1):
        yield [users[i] for i in group.tolist()]


def _fitting(user: NDArray[Any], capacity: int) -> int:
    """Return the number of leading events that name at most ``capacity`` users."""
    first = np.sort(np.unique(user, return_index=True)[1])
    return int(first[capacity]) if len(first) > capacity else len(user)
