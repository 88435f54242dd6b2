"""Looks at one partition of the store from outside, and keeps its log, which the learner trims."""

import random
from dataclasses import dataclass, field

import numpy as np

from core.online.tables import COUNT
from service.store.connection import Client
from service.store.keys import PartitionKeys
from service.store.log.dead_letters import DeadLetter, DeadLetters
from service.store.log.state import PartitionState
from service.store.profiles.history_record import read_history, sequences
from tests.simulator.ledger import Broken, Change, Event, Ledger
from tests.simulator.model import Logged, Model, Record, events_of


@dataclass(frozen=True)
class Position:
    """How far a partition is."""

    epoch: int = 0
    watermark: int = 0
    sequence: int = 0


@dataclass(frozen=True)
class LaneMoment:
    """A partition as it was once: its whole log until then."""

    position: Position
    log: tuple[Logged, ...]
    entries: tuple[tuple[int, bytes], ...]


@dataclass
class Lane:
    """Keeps the log of a partition, and checks that all only grows."""

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
        """Look at the state and at what is new in the log."""
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

    def check_read(self, user: str, through: int, items: list[int]) -> None:
        """Check an answer that claims to know a user's events up to one of them."""
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

    def check_told(self, event: Event | Change, sequence: int) -> None:
        """Whoever is told that an event is in the log finds it there, unless it was lost since."""
        self.newest_told = sequence
        if sequence <= len(self.log) and event.is_in(self.log[sequence - 1]):
            if isinstance(event, Event):
                event.is_promised = True
        elif not self.ledger.occurred["rollback"]:
            raise Broken(f"{event} was acknowledged as number {sequence}")

    def check_repeat(self, event: Event, sequence: int) -> None:
        """Whoever is told that an event is a repeat has sent it before."""
        self.ledger.occurred["repeat_told"] += 1
        came = any(event.is_in(one) for one in self.log[: sequence - 1])
        if not came and not self.ledger.occurred["rollback"]:
            raise Broken(f"{event}, number {sequence}, is said to have come before")

    def flip(self, rng: random.Random, *, is_checked: bool) -> bool:
        """Flip a bit of an entry that waits to be learned; return False if none waits.

        An entry that is not ``is_checked`` has no checksum, as those of earlier versions.
        """
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

    def keep(self) -> LaneMoment:
        """Return the partition as it is now."""
        return LaneMoment(self.now, tuple(self.log), tuple(self.entries))

    def bring_back(self, moment: LaneMoment) -> bool:
        """Take the partition as it was at a moment; return whether anything is lost by that."""
        is_loss = self.now != moment.position
        self.now, self.log, self.entries = moment.position, [*moment.log], [*moment.entries]
        return is_loss

    def check(self) -> Model:
        """Compare what is stored with a model that learns the log; return the model."""
        for letter in self.letters:
            if (letter.last, letter.packed) not in self.flipped:
                raise Broken(f"{letter} was set aside, but nothing is wrong with it")
        model = Model(self.log, self.dead)
        self._check_users(model)
        state, happened = PartitionState.of(self.client.hgetall(self.keys.state)), model.happened
        counted = ("learned", "repeats_dropped", "deletions", "moves", "dead_letters")
        found = (
            *(state.learned, state.duplicates, state.deletions, state.moves),
            state.dead_letters,
        )
        if found != tuple(happened[name] for name in counted):
            raise Broken(f"{state} after {len(self.log)} events: {happened}")
        return model

    def _append(self, last: int, packed: bytes) -> None:
        events = events_of(packed)
        if last - len(events) != len(self.log):
            raise Broken(f"{len(events)} events up to {last} follow the event {len(self.log)}")
        self.entries.append((last, packed))
        self.log += events

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

    def _history(self, user: str) -> list[Record]:
        history = read_history(self.client.get(self.keys.history(user)))
        columns = (sequences(history), history["item"], history["value"], history["time_ms"])
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def _rated(self, user: str) -> int:
        """Return how many ratings the row of a user has learned; 0 without a row."""
        row = self.client.get(self.keys.user_row(0, user))
        return 0 if row is None else int(np.frombuffer(row, "<f4")[COUNT])
