"""Looks at the store from outside, after every write and at the end."""

from typing import Any

from service.store.connection import Client
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.codec import decode
from service.store.log.state import PartitionState
from service.store.profiles.history_record import read_history, sequences
from tests.simulator.ledger import Broken, Ledger, Stored, check_histories


class Observer:
    """Keeps the log of a partition, which the learner trims, and checks that all only grows."""

    def __init__(self, client: Client, keys: PartitionKeys) -> None:
        self._client, self._keys = client, keys
        self._names = NamespaceKeys(keys.namespace)
        self.epoch = self.watermark = self.sequence = 0
        self.log: list[tuple[int, bytes]] = []
        """Each entry with the sequence of its last event."""

    def look(self) -> None:
        """Look at the state and at what is new in the log."""
        pipe = self._client.pipeline(transaction=False)
        pipe.hmget(self._keys.state, "epoch", "watermark")
        pipe.get(self._keys.sequence)
        pipe.xrange(self._keys.log, min=f"{self.sequence + 1}-0")
        (epoch, watermark), sequence, entries = pipe.execute()
        before = self.epoch, self.watermark
        self.epoch, self.watermark = int(epoch or 0), int(watermark or 0)
        if self.epoch < before[0] or self.watermark < before[1]:
            raise Broken(f"epoch and watermark went from {before} to {epoch}, {watermark}")
        for name, fields in entries:
            self._append(int(name.partition(b"-")[0]), fields[b"d"])
        if int(sequence or 0) != self.sequence:
            raise Broken(f"the sequence is {sequence}, the log ends at {self.sequence}")
        if self.watermark > self.sequence:
            raise Broken(f"the watermark {watermark} is behind the end of the log, {sequence}")

    @property
    def is_learned(self) -> bool:
        """Whether there is a learner, and nothing in the log waits for it."""
        return self.epoch > 0 and self.watermark == self.sequence

    def check(self, ledger: Ledger) -> int:
        """Compare what is stored with what clients sent and were told.

        Return how many repeats were dropped.
        """
        stored = self._stored()
        check_histories(ledger, stored)
        state = PartitionState.of(self._client.hgetall(self._keys.state))
        if state.learned != len(stored):
            raise Broken(f"{state.learned} ratings are counted, {len(stored)} are stored")
        if state.learned + state.duplicates != self.sequence:
            raise Broken(f"{state} does not add up to {self.sequence} events")
        return state.duplicates

    def item_ids(self) -> list[bytes]:
        """Return the id of each item, in the order of the numbers."""
        ids: Any = self._client.lrange(self._names.item_ids, 0, -1)
        numbers = self._client.hgetall(self._names.item_numbers)
        if {one: b"%d" % n for n, one in enumerate(ids)} != numbers:
            raise Broken(f"items and numbers differ: {ids}, {numbers}")
        return list(ids)

    def _append(self, last: int, packed: bytes) -> None:
        first = last - len(decode(packed)) + 1
        if first != self.sequence + 1:
            raise Broken(f"the entry {first} to {last} follows the event {self.sequence}")
        self.log.append((last, packed))
        self.sequence = last

    def _stored(self) -> dict[int, list[Stored]]:
        """Return the records of all histories by their times."""
        ids = self.item_ids()
        stored: dict[int, list[Stored]] = {}
        for user in self._client.zrange(self._keys.users, 0, -1):
            history = read_history(self._client.get(self._keys.history(user.decode())))
            for record, sequence in zip(history, sequences(history).tolist(), strict=True):
                item, value = ids[int(record["item"])].decode(), float(record["value"])
                found = (user.decode(), item, value, sequence)
                stored.setdefault(int(record["time_ms"]), []).append(found)
        return stored
