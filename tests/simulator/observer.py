"""Looks at the store from outside: after every write, whenever a client was told, at the end."""

from collections import Counter
from dataclasses import dataclass, field

from service.store.connection import Client
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.state import PartitionState
from service.store.profiles.history_record import read_history, sequences
from tests.simulator.ledger import Broken, Ledger
from tests.simulator.model import Logged, Record, events_of, histories_of
from tests.simulator.store import content_of, replace_content


@dataclass(frozen=True)
class Position:
    """How far the service is."""

    epoch: int = 0
    watermark: int = 0
    sequence: int = 0


@dataclass(frozen=True)
class Moment:
    """The store as it was once, and the whole log until then."""

    content: dict[bytes, bytes]
    position: Position
    log: tuple[Logged, ...]
    entries: tuple[tuple[int, bytes], ...]


@dataclass
class Observer:
    """Keeps the log of a partition, which the learner trims, and checks that all only grows."""

    client: Client
    keys: PartitionKeys
    ledger: Ledger
    now: Position = Position()
    log: list[Logged] = field(default_factory=list)
    entries: list[tuple[int, bytes]] = field(default_factory=list)
    """The entries of the log, each with the sequence of its last event."""

    newest_told: int = 0
    """The latest number that a client was told."""

    @property
    def is_learned(self) -> bool:
        """Whether there is a learner, and nothing in the log waits for it."""
        return self.now.epoch > 0 and self.now.watermark == self.now.sequence

    def look(self) -> None:
        """Look at the state, at what is new in the log, and at what clients were told."""
        pipe = self.client.pipeline(transaction=False)
        pipe.hmget(self.keys.state, "epoch", "watermark")
        pipe.get(self.keys.sequence)
        pipe.xrange(self.keys.log, min=f"{len(self.log) + 1}-0")
        (epoch, watermark), sequence, entries = pipe.execute()
        now = Position(*(int(n or 0) for n in (epoch, watermark, sequence)))
        if now.epoch < self.now.epoch or now.watermark < self.now.watermark:
            raise Broken(f"{now} after {self.now}")
        for name, fields in entries:
            self._append(int(name.partition(b"-")[0]), fields[b"d"])
        if now.sequence != len(self.log) or now.watermark > now.sequence:
            raise Broken(f"the log ends at {len(self.log)}, the state says {now}")
        self.now = now
        self._check_told()

    def check_read(self, user: str, through: int, items: list[int]) -> None:
        """Check an answer that claims to know a user's events up to one of them.

        After a rollback an api process may answer from what is lost until it notices.
        """
        if self.ledger.occurred["rollback"]:
            return
        self.look()
        if through > self.now.watermark:
            raise Broken(f"an answer has seen event {through}, learned are {self.now.watermark}")
        learned = {event.item for event in self.log[:through] if event.user == user}
        logged = {event.item for event in self.log if event.user == user}
        if not learned <= {*items} <= logged:
            raise Broken(f"{user} has {items} after event {through}, the log has {learned}")
        self.ledger.occurred["read"] += 1

    def keep(self) -> Moment:
        """Return the store as it is now."""
        self.look()
        content = content_of(self.client)
        return Moment(content, self.now, tuple(self.log), tuple(self.entries))

    def bring_back(self, moment: Moment) -> bool:
        """Start the store anew as it was at a moment; return whether anything is lost by that."""
        self.look()
        replace_content(self.client, moment.content)
        is_loss = self.now != moment.position
        self.now, self.log, self.entries = moment.position, [*moment.log], [*moment.entries]
        self.ledger.lost({event.time_ms for event in self.log})
        return is_loss

    def check(self) -> int:
        """Compare what is stored with what clients sent and were told.

        Return how many repeats were dropped.
        """
        self._check_log()
        wanted = histories_of(self.log)
        stored = self._histories()
        for user in wanted.keys() | stored.keys():
            if stored.get(user) != wanted.get(user):
                raise Broken(f"{user} has {stored.get(user)}, not {wanted.get(user)}")
        state = PartitionState.of(self.client.hgetall(self.keys.state))
        learned = sum(map(len, wanted.values()))
        if (state.learned, state.learned + state.duplicates) != (learned, len(self.log)):
            raise Broken(f"{state} after {len(self.log)} events, {learned} of them not repeated")
        return state.duplicates

    def item_ids(self) -> list[bytes]:
        """Return the id of each item, in the order of the numbers."""
        names = NamespaceKeys(self.keys.namespace)
        ids: list[bytes] = self.client.lrange(names.item_ids, 0, -1)
        if {one: b"%d" % n for n, one in enumerate(ids)} != self.client.hgetall(names.item_numbers):
            raise Broken(f"the numbers of items are not those of {ids}")
        return ids

    def _append(self, last: int, packed: bytes) -> None:
        events = events_of(packed)
        if last - len(events) != len(self.log):
            raise Broken(f"{len(events)} events up to {last} follow the event {len(self.log)}")
        self.entries.append((last, packed))
        self.log += events

    def _check_told(self) -> None:
        """Whoever is told that an event is in the log finds it there, unless it was lost since."""
        for event, sequence in self.ledger.told:
            self.newest_told = sequence
            if self._is_at(sequence, event.time_ms):
                event.is_promised = True
            elif not self.ledger.occurred["rollback"]:
                raise Broken(f"{event} was acknowledged as number {sequence}")
        self.ledger.told.clear()

    def _is_at(self, sequence: int, time_ms: int) -> bool:
        return sequence <= len(self.log) and self.log[sequence - 1].time_ms == time_ms

    def _check_log(self) -> None:
        """The log has what was sent, and what was promised; without a key only once."""
        ids = [item.decode() for item in self.item_ids()]
        for one in self.log:
            sent = self.ledger.events.get(one.time_ms)
            found = one.user, ids[one.item], one.value
            if sent is None or found != (sent.user, sent.item, sent.rating):
                raise Broken(f"the log has {found}, sent was {sent}")
        times = Counter(event.time_ms for event in self.log)
        for event in self.ledger.events.values():
            if event.is_promised and not times[event.time_ms]:
                raise Broken(f"{event} was acknowledged and is lost")
            if not event.has_key and times[event.time_ms] > 1:
                raise Broken(f"{event} is in the log {times[event.time_ms]} times")

    def _histories(self) -> dict[str, list[Record]]:
        stored: dict[str, list[Record]] = {}
        for user in self.client.zrange(self.keys.users, 0, -1):
            history = read_history(self.client.get(self.keys.history(user.decode())))
            columns = (history["item"], history["value"], history["time_ms"])
            rows = (sequences(history), *columns)
            stored[user.decode()] = list(zip(*(row.tolist() for row in rows), strict=True))
        return stored
