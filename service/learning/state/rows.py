"""The rows in the learner's memory: of all items, and of the users that events named most recently.

Other rows are read from the store or are start rows; the bits are the same in any case.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from core.errors import StateMismatch
from core.online.model import OnlineModel
from core.online.tables import FINGERPRINT_COLUMNS, RECENT, Side
from core.rng import id_hashes
from core.transitions.table import REACH, no_latest
from core.types import F32, F64, I32, I64
from service.store.catalogue.numbers import item_ids
from service.store.profiles.histories import Records, live, recent_ratings
from service.store.profiles.history_record import HISTORY, sequences
from service.store.profiles.history_store import HistoryStore
from service.store.profiles.rows import RowStore

ID_RUN = 256
"""Items without a row whose numbers are closer than this are looked up by one range of ids."""


STEPS_READ = 4 * REACH
"""Records of a history in which a user's latest items are looked for first."""


class _Tail(NamedTuple):
    ratings: Records | None
    """The latest ratings, if the model needs them."""
    latest: I32


class UserRows:
    """User rows by slot, a cache that evicts the least recently used rows when it is full.

    A batch first calls ``take`` with all its users, at most ``capacity``.
    """

    def __init__(
        self,
        model: OnlineModel,
        store: RowStore,
        histories: HistoryStore,
        capacity: int,
        deleted: Mapping[int, int],
        latest_of: Callable[[Records], I32],
    ) -> None:
        """``latest_of`` returns the latest items of a user with some history."""
        self._model, self._store, self._deleted = model, store, deleted
        self._histories, self._latest_of = histories, latest_of
        self.capacity = capacity
        self.until: int | None = None
        """Last event that counts when a ring is filled; None: all events count."""
        self.table = model.user_table(capacity)
        self.latest: I32 = no_latest(capacity)
        """Latest items of each user, newest first, by slot."""
        self.records: I64 = np.zeros(capacity, dtype=np.int64)
        """Number of records in each user's history, by slot."""
        self.names: list[str] = [""] * capacity
        self._slots: dict[str, int] = {}
        self._free = list(range(capacity - 1, -1, -1))
        self._met: I64 = np.zeros(capacity, dtype=np.int64)
        self._clock = 0

    def take(self, users: Sequence[str]) -> I64:
        """Return the slots of distinct users; read the rows of users that are not in memory."""
        self._clock += 1
        find = self._slots.get
        slots = np.array([find(user, -1) for user in users], dtype=np.int64)
        missing = np.flatnonzero(slots < 0)
        self._met[slots[slots >= 0]] = self._clock
        if missing.size:
            slots[missing] = self._read([users[position] for position in missing.tolist()])
        return slots

    def forget(self, users: Sequence[str]) -> None:
        """Drop users whose stored rows or histories were changed without this memory."""
        for user in users:
            slot = self._slots.pop(user, None)
            if slot is not None:
                self._free.append(slot)

    def with_recent(self, item: int) -> list[str]:
        """Return the users in memory whose latest ratings or items include the item."""
        slots = np.fromiter(self._slots.values(), dtype=np.int64, count=len(self._slots))
        valid = np.arange(self.table.recent_item.shape[1]) < self.table.recent_count[slots, None]
        has_item = ((self.table.recent_item[slots] == item) & valid).any(axis=1)
        has_item |= (self.latest[slots] == item).any(axis=1)
        return [self.names[slot] for slot in slots[has_item]]

    def _read(self, users: list[str]) -> I64:
        # read everything before changing anything: the store may fail at any time
        stored = [row for page in self._store.user_rows(users) for row in page]
        sizes = self._histories.sizes(users)
        past = [i for i, size in enumerate(sizes) if size]
        tails = self._tails([users[i] for i in past], [sizes[i] for i in past])
        if len(self._free) < len(users):
            self._make_room(len(users))
        slots = np.array([self._free.pop() for _ in users], dtype=np.int64)
        self.table.rows[slots] = rows_of(self._model, Side.USER, users, stored)
        self.records[slots] = np.array(sizes, dtype=np.int64) // HISTORY.itemsize
        self.table.recent_count[slots] = 0
        self._met[slots] = self._clock
        for slot, user in zip(slots.tolist(), users, strict=True):
            self._slots[user] = slot
            self.names[slot] = user
        self.latest[slots] = -1
        for i, tail in zip(past, tails, strict=True):
            self.latest[slots[i]] = tail.latest
            if tail.ratings is not None:
                self._fill_ring(slots[i], tail.ratings)
        return slots

    def _make_room(self, wanted: int) -> None:
        """Evict at least an eighth at once: finding the oldest costs as much as many reads."""
        slots = np.fromiter(self._slots.values(), dtype=np.int64, count=len(self._slots))
        old = slots[self._met[slots] < self._clock]
        leaving = max(wanted - len(self._free), self.capacity // 8)
        if leaving < old.size:
            old = old[np.argpartition(self._met[old], leaving)[:leaving]]
        self.forget([self.names[slot] for slot in old.tolist()])

    def _tails(self, users: list[str], sizes: list[int]) -> list["_Tail"]:
        """Return what the learning of new events needs of the users' histories."""
        n_records = max(RECENT if self._model.needs_recent else 0, STEPS_READ)
        tails = self._histories.tails(users, n_records * HISTORY.itemsize) if users else []
        return [self._tail(*of_user) for of_user in zip(users, tails, sizes, strict=True)]

    def _tail(self, user: str, records: Records, size: int) -> "_Tail":
        found = self._tail_of(self._counting(records))
        too_few = found.latest[-1] < 0 or (
            found.ratings is not None and len(found.ratings) < RECENT
        )
        if too_few and size > records.nbytes:
            whole, _ = self._histories.whole(user)
            found = self._tail_of(self._counting(whole))
        return found

    def _tail_of(self, history: Records) -> "_Tail":
        needs, deleted = self._model.needs_recent, self._deleted
        return _Tail(
            recent_ratings(history, deleted) if needs else None,
            self._latest_of(live(history, deleted)),
        )

    def _counting(self, history: Records) -> Records:
        if self.until is None:
            return history
        kept: Records = history[sequences(history) <= self.until]
        return kept

    def _fill_ring(self, slot: int | np.int64, recent: Records) -> None:
        n = len(recent)
        rating = self._model.config.scale.inside(recent["value"].astype(np.float64))
        self.table.recent_item[slot, :n] = recent["item"]
        self.table.recent_rating[slot, :n] = rating
        self.table.recent_count[slot] = n


class ItemRows:
    """All item rows, indexed by item number."""

    def __init__(self, model: OnlineModel, store: RowStore, client: Any, namespace: str) -> None:
        self._model, self._store = model, store
        self._client, self._namespace = client, namespace
        self.table = model.item_table(0)
        self.here = np.zeros(0, dtype=bool)
        """Whether an item's row is in the table."""
        self.stored = np.zeros(0, dtype=bool)
        """Whether an item's row has been committed at least once."""

    def load(self) -> None:
        """Read every stored row."""
        numbers = self._store.stored_items()
        if not numbers.size:
            return
        self._grow(int(numbers[-1]) + 1)
        at = 0
        for page in self._store.item_rows(numbers.tolist()):
            on_page = numbers[at : at + len(page)]
            self._place(on_page, self._rows(on_page, page))
            at += len(page)
        self.stored[numbers] = True

    def take(self, numbers: I64) -> None:
        """Ensure that the rows of these items are in the table."""
        self._grow(int(numbers.max(initial=-1)) + 1)
        missing = numbers[~self.here[numbers]]
        if missing.size:
            self._place(missing, self._rows(missing, [None] * missing.size))

    def is_here(self, number: int) -> bool:
        """Whether the item has a row, because it was rated at least once."""
        return number < len(self.here) and bool(self.here[number])

    def start_over(self, number: int) -> None:
        """Reset the item to its start row."""
        numbers = np.array([number], dtype=np.int64)
        self._place(numbers, self._rows(numbers, [None]))

    def ids(self, numbers: I64) -> list[str]:
        """Return the ids of distinct item numbers."""
        order = np.sort(numbers)
        ids: dict[int, str] = {}
        for run in np.split(order, np.flatnonzero(np.diff(order) > ID_RUN) + 1):
            if run.size:
                first, last = int(run[0]), int(run[-1])
                names = item_ids(self._client, self._namespace, first, last)
                ids.update(zip(range(first, last + 1), names, strict=False))
        missing = [number for number in order.tolist() if number not in ids]
        if missing:
            raise StateMismatch(
                f"the log names item number {missing[0]}, which was never given out"
            )
        return [ids[number] for number in numbers.tolist()]

    def _rows(self, numbers: I64, stored: Sequence[bytes | None]) -> F32:
        unknown = [i for i, row in enumerate(stored) if row is None]
        names = iter(self.ids(numbers[unknown]) if unknown else ())
        ids = [next(names) if row is None else "" for row in stored]
        return rows_of(self._model, Side.ITEM, ids, stored)

    def _place(self, numbers: I64, rows: F32) -> None:
        self.table.rows[numbers] = rows
        self.here[numbers] = True

    def _grow(self, size: int) -> None:
        if size <= len(self.here):
            return
        capacity = max(1024, size, 2 * len(self.here))
        old = len(self.here)
        table = self._model.item_table(capacity)
        table.rows[:old] = self.table.rows
        self.table = table
        self.here = np.concatenate([self.here, np.zeros(capacity - old, dtype=bool)])
        self.stored = np.concatenate([self.stored, np.zeros(capacity - old, dtype=bool)])


def rows_of(
    model: OnlineModel, side: Side, ids: Sequence[str], stored: Sequence[bytes | None]
) -> F32:
    """Return rows (n, width): the stored ones, and start rows where none is stored.

    Raises StateMismatch if a stored row belongs to other experts.
    """
    rows = np.empty((len(stored), model.width), dtype=np.float32)
    new = [i for i, row in enumerate(stored) if row is None]
    rows[new] = model.start(side, id_hashes(ids[i] for i in new))
    known = [i for i, row in enumerate(stored) if row is not None]
    joined = b"".join([row for row in stored if row is not None])
    if len(joined) != len(known) * model.width * 4:
        raise StateMismatch("a stored row has another width: run `hedgerow rebuild`")
    read = np.frombuffer(joined, dtype=np.float32).reshape(len(known), model.width)
    fingerprints = read[:, :FINGERPRINT_COLUMNS].tobytes()
    if fingerprints != model.fingerprint * len(known):
        raise StateMismatch(
            "a stored row belongs to another set of experts: run `hedgerow rebuild`"
        )
    rows[known] = read
    return rows


def restore(model: OnlineModel, stored: Mapping[str, bytes]) -> None:
    """Load the shared state of the model as it was committed; keep the initial one if none was."""
    if not stored:
        return
    like = model.arrays()
    model.load({name: _array(data, like.get(name)) for name, data in stored.items()})


def _array(data: bytes, like: F64 | None) -> F64:
    flat = np.frombuffer(data, dtype=np.float64)
    return flat.reshape(like.shape) if like is not None and like.size == flat.size else flat
