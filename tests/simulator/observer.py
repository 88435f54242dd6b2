"""Looks at the store from outside: after every write, whenever a client was told, at the end."""

import random
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from core.online.tables import COUNT
from service.store.connection import Client
from service.store.erasures.records import Erasures
from service.store.keys import NamespaceKeys, PartitionKeys
from service.store.log.codec import DELETE_RATING, DELETE_USER
from service.store.log.dead_letters import DeadLetter, DeadLetters
from service.store.log.state import PartitionState
from service.store.profiles.history_record import read_history, sequences
from tests.simulator.ledger import Broken, Change, Ledger
from tests.simulator.model import Logged, Model, Record, events_of
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

    letters: list[DeadLetter] = field(default_factory=list)
    """What was set aside."""
    flipped: set[tuple[int, bytes]] = field(default_factory=set)
    """The damaged entries, each with the sequence of its last event."""
    newest_told: int = 0
    """The latest number that a client was told."""

    @property
    def dead(self) -> set[int]:
        """The numbers of the events that were set aside."""
        return {n for one in self.letters for n in range(one.first, one.last + 1)}

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
        self.letters = DeadLetters(self.client, self.keys).all() if self.flipped else []
        following = self.log[now.watermark : now.watermark + 1]
        if now.epoch > max(self.now.epoch, 1) and following:
            # the learner before may have been carrying it out
            self.ledger.occurred["taken_over_at_a_change"] += following[0].is_change
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
        model = Model(self.log[:through], self.dead)
        known = [model.items(user)]
        for event in self.log[through:]:
            model.learn(event)
            known.append(model.items(user))
        if {*items} not in known:
            raise Broken(f"{user} has {items} after event {through}, not {known[0]} or later")
        self.ledger.occurred["read"] += 1

    def check_learned(self, sequence: int) -> None:
        """Check a receipt that claims that something is learned."""
        self.look()
        if sequence > self.now.watermark and not self.ledger.occurred["rollback"]:
            raise Broken(f"{sequence} is said to be learned, learned are {self.now.watermark}")

    def flip(self, rng: random.Random, *, is_checked: bool) -> bool:
        """Flip a bit of an entry that waits to be learned; return False if none waits.

        An entry that is not ``is_checked`` has no checksum, as those of earlier versions.
        """
        self.look()
        entries = self.client.xrange(self.keys.log)
        if not entries:
            return False
        name, fields = rng.choice(entries)
        damaged, bit = bytearray(fields[b"d"]), rng.randrange(8 * len(fields[b"d"]))
        damaged[bit // 8] ^= 1 << bit % 8
        fields[b"d"] = bytes(damaged)
        if not is_checked:
            fields.pop(b"c", None)
        self.flipped.add((int(name.partition(b"-")[0]), fields[b"d"]))
        with self.client.pipeline() as pipe:
            pipe.delete(self.keys.log)
            for one, content in entries:
                pipe.xadd(self.keys.log, content, id=one)
            pipe.execute()
        return True

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

    def check(self) -> Counter[str]:
        """Compare what is stored with what clients sent and were told.

        Return what became of events.
        """
        self._check_log()
        for letter in self.letters:
            if (letter.last, letter.packed) not in self.flipped:
                raise Broken(f"{letter} was set aside, but nothing is wrong with it")
        model = Model(self.log, self.dead)
        self._check_users(model)
        self._check_erasures()
        state = PartitionState.of(self.client.hgetall(self.keys.state))
        happened = model.happened
        counted = ("learned", "repeats_dropped", "deletions", "moves", "dead_letters")
        found = (
            *(state.learned, state.duplicates, state.deletions, state.moves),
            state.dead_letters,
        )
        if found != tuple(happened[name] for name in counted):
            raise Broken(f"{state} after {len(self.log)} events: {happened}")
        return happened

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
            if sequence <= len(self.log) and event.is_in(self.log[sequence - 1]):
                if not isinstance(event, Change):
                    event.is_promised = True
            elif not self.ledger.occurred["rollback"]:
                raise Broken(f"{event} was acknowledged as number {sequence}")
        self.ledger.told.clear()

    def _check_log(self) -> None:
        """The log has what was sent, and what was promised; without a key only once."""
        ids = [item.decode() for item in self.item_ids()]
        changes = Counter(
            Change(
                one.kind,
                one.user,
                item=ids[one.item] if one.kind == DELETE_RATING else "",
                target=one.target,
            )
            for one in self.log
            if one.is_change
        )
        if not changes <= self.ledger.changes:
            raise Broken(f"the log has {changes}, sent were {self.ledger.changes}")
        for one in self.log:
            if one.is_change:
                continue
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

    def _check_users(self, model: Model) -> None:
        """Each user has the history and the row of the model; who is deleted has nothing."""
        listed = {user.decode() for user in self.client.zrange(self.keys.users, 0, -1)}
        if listed != model.users:
            raise Broken(f"the users are {listed}, not {model.users}")
        for user in {user for event in self.log for user in (event.user, event.target) if user}:
            found, wanted = self._history(user), model.histories.get(user, [])
            if found != wanted:
                raise Broken(f"{user} has {found}, not {wanted}")
            rated = self._rated(user)
            if rated != model.rated[user]:
                raise Broken(f"the row of {user} has {rated} ratings, not {model.rated[user]}")

    def _check_erasures(self) -> None:
        """Each deletion of a user has ordered one erasure, in the step that put it into the log."""
        due = Erasures(self.client, self.keys.namespace).due()
        ordered = sorted((one.erasure.sequence, one.user) for one in due)
        wanted = [
            (sequence, event.user)
            for sequence, event in enumerate(self.log, 1)
            if event.kind == DELETE_USER
        ]
        if ordered != wanted:
            raise Broken(f"the erasures are {ordered}, the deletions {wanted}")

    def _history(self, user: str) -> list[Record]:
        history = read_history(self.client.get(self.keys.history(user)))
        columns = (sequences(history), history["item"], history["value"], history["time_ms"])
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def _rated(self, user: str) -> int:
        """Return how many ratings the row of a user has learned; 0 without a row."""
        row = self.client.get(self.keys.user_row(0, user))
        return 0 if row is None else int(np.frombuffer(row, "<f4")[COUNT])
