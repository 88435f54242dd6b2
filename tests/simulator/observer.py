"""Looks at the store from outside: after every write, whenever a client was told, at the end."""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from service.store.connection import Client
from service.store.erasures.records import Erasures
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.codec import DELETE_RATING, DELETE_USER, MERGE_USER, MOVE_USER
from service.store.partitions import partition_of
from tests.simulator.lane import Lane, LaneMoment
from tests.simulator.ledger import Broken, Change, Ledger
from tests.simulator.model import Logged
from tests.simulator.moves import check_moves
from tests.simulator.store import content_of, replace_content
from tests.simulator.trainer import check_models


@dataclass(frozen=True)
class Moment:
    """The store as it was once."""

    content: dict[bytes, bytes]
    lanes: tuple[LaneMoment, ...]


@dataclass
class Observer:
    """Sees all partitions of a namespace."""

    client: Client
    namespace: str
    partitions: int
    ledger: Ledger
    lanes: list[Lane] = field(init=False)
    """One for each partition."""

    def __post_init__(self) -> None:
        keys = [PartitionKeys(self.namespace, p) for p in range(self.partitions)]
        self.lanes = [Lane(self.client, one, self.ledger) for one in keys]

    @property
    def is_learned(self) -> bool:
        """Whether nothing in any log waits."""
        return all(lane.is_learned for lane in self.lanes)

    @property
    def log(self) -> list[Logged]:
        """All events, one partition after the other."""
        return [event for lane in self.lanes for event in lane.log]

    def lane(self, user: str) -> Lane:
        """Return the partition of a user."""
        return self.lanes[partition_of(user, self.partitions)]

    def look(self) -> None:
        """Look at the state, at what is new in the logs, and at what clients were told."""
        for lane in self.lanes:
            lane.look()
        for event, sequence in self.ledger.told:
            self.lane(event.user).check_told(event, sequence)
        self.ledger.told.clear()
        for event, sequence in self.ledger.repeats:
            self.lane(event.user).check_repeat(event, sequence)
        self.ledger.repeats.clear()

    def check_read(self, user: str, through: int, items: list[int]) -> None:
        """Check an answer that claims to know a user's events up to one of them.

        After a rollback an api process may answer from what is lost until it notices.
        """
        if not self.ledger.occurred["rollback"]:
            self.look()
            self.lane(user).check_read(user, through, items)

    def check_learned(self, sequences: Mapping[int, int]) -> None:
        """Check a receipt that claims that something is learned."""
        self.look()
        for partition, sequence in sequences.items():
            learned = self.lanes[partition].now.watermark
            if sequence > learned and not self.ledger.occurred["rollback"]:
                raise Broken(f"{sequence} is said to be learned, learned are {learned}")

    def flip(self, rng: random.Random, *, is_checked: bool) -> bool:
        """Flip a bit of an entry that waits to be learned; return False if none waits."""
        self.look()
        return rng.choice(self.lanes).flip(rng, is_checked=is_checked)

    def keep(self) -> Moment:
        """Return the store as it is now."""
        self.look()
        return Moment(content_of(self.client), tuple(lane.keep() for lane in self.lanes))

    def bring_back(self, moment: Moment) -> bool:
        """Start the store anew as it was at a moment; return whether anything is lost by that."""
        self.look()
        replace_content(self.client, moment.content)
        pairs = zip(self.lanes, moment.lanes, strict=True)
        losses = [lane.bring_back(before) for lane, before in pairs]
        self.ledger.lost({event.time_ms for event in self.log if not event.is_copy})
        return any(losses)

    def check(self) -> Counter[str]:
        """Compare what is stored with what clients sent and were told.

        Return what became of events.
        """
        self._check_changes()
        self._check_events()
        models = [lane.check() for lane in self.lanes]
        check_moves(self.lanes, self.ledger)
        check_models(self.client, self.namespace, self.item_ids())
        self._check_erasures()
        return sum((model.happened for model in models), Counter[str]())

    def item_ids(self) -> list[bytes]:
        """Return the id of each item, in the order of the numbers."""
        names = NamespaceKeys(self.namespace)
        ids: list[bytes] = self.client.lrange(names.item_ids, 0, -1)
        if {one: b"%d" % n for n, one in enumerate(ids)} != self.client.hgetall(names.item_numbers):
            raise Broken(f"the numbers of items are not those of {ids}")
        return ids

    def _check_changes(self) -> None:
        """The logs have the deletions and merges that were sent."""
        ids = [item.decode() for item in self.item_ids()]
        changes, moves = Counter[Change](), Counter[str]()
        for one in self.log:
            if one.kind == MOVE_USER:
                moves[one.user] += 1
            elif one.is_change:
                item = _named(ids, one.item) if one.kind == DELETE_RATING else ""
                changes[Change(one.kind, one.user, item=item, target=one.target)] += 1
        if not changes <= self.ledger.changes:
            raise Broken(f"the log has {changes}, sent were {self.ledger.changes}")
        sent = Counter[str]()
        for change, n in self.ledger.changes.items():
            if change.kind == MERGE_USER and self.lane(change.user) != self.lane(change.target):
                sent[change.user] += n
        if not moves <= sent:
            raise Broken(f"the logs have the moves {moves}, sent were {sent}")

    def _check_events(self) -> None:
        """The logs have what was sent, and what was promised; without a key only once."""
        ids = [item.decode() for item in self.item_ids()]
        events = [one for one in self.log if not one.is_change and not one.is_copy]
        for one in events:
            sent = self.ledger.events.get(one.time_ms)
            found = one.user, _named(ids, one.item), one.value
            if sent is None or found != (sent.user, sent.item, sent.rating):
                raise Broken(f"the log has {found}, sent was {sent}")
        times = Counter(event.time_ms for event in events)
        for event in self.ledger.events.values():
            if event.is_promised and not times[event.time_ms]:
                raise Broken(f"{event} was acknowledged and is lost")
            if not event.has_key and times[event.time_ms] > 1:
                raise Broken(f"{event} is in the log {times[event.time_ms]} times")

    def _check_erasures(self) -> None:
        """Each deletion of a user has ordered one erasure, in the step that put it into the log."""
        due = Erasures(self.client, self.namespace).due()
        ordered = sorted((one.erasure.partition, one.erasure.sequence, one.user) for one in due)
        wanted = [
            (partition, sequence, event.user)
            for partition, lane in enumerate(self.lanes)
            for sequence, event in enumerate(lane.log, 1)
            if event.kind == DELETE_USER
        ]
        if ordered != wanted:
            raise Broken(f"the erasures are {ordered}, the deletions {wanted}")


def _named(ids: list[str], number: int) -> str:
    """Return the id of an item; Broken if the log names a number that nobody has given out."""
    if number >= len(ids):
        raise Broken(f"the log names the item {number}, there are {len(ids)}")
    return ids[number]
