"""The learner of one partition: it learns log entries in order, exactly once, a commit per batch.

Only the learner writes what a commit writes. No result depends on where a batch begins or ends.
"""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.errors import CoreError
from core.online.model import OnlineModel
from core.transitions.sweep import ROUND_BYTES
from service import configs
from service.errors import Misconfigured
from service.learning.backlog import Backlog, LearnedRequest
from service.learning.batch import answers
from service.learning.batch_learning import BatchLearning
from service.learning.click_through import MAX_SOURCES, ClickThrough
from service.learning.dedupe import DedupeWindow
from service.learning.deletions import Deletions
from service.learning.following import views
from service.learning.following.inbox import Inbox
from service.learning.learning_step import changed_arrays
from service.learning.measuring import Arrivals, LearnerMeters
from service.learning.merges import Merges
from service.learning.outcome import Outcome
from service.learning.partition import Partition
from service.learning.state.memory import load_memory
from service.learning.state.rows import restore
from service.metrics.meters import Meters
from service.settings import Settings
from service.store.connection import Client
from service.store.log.codec import DELETE_RATING, MERGE_USER, MOVE_USER
from service.store.log.dead_letters import KEPT, DeadLetter
from service.store.log.requests import read_shares
from service.store.namespace import Namespace
from service.store.profiles.commit import Changes, Commit, StateChange
from service.store.profiles.expert_history import ExpertPoint, ExpertStanding
from service.telemetry import logger

BLOCK_MS = 500
"""Longest wait of a read for the next event, in ms; a learner notices a stop within this time."""
READ_BYTES = 2 << 20
"""Bytes of the log in one read: limits how long other clients of Redis wait for it."""
EXPERT_HISTORY_EVERY = 1_000
"""Number of events between two points of the experts' history."""
_FIRST_GUESS_S = 5e-6
"""Assumed time to learn an event before it is measured, in seconds."""
_COUNTERS = (
    *("learned", "duplicates", "others", "deletions", "moves"),
    *("trimmed_records", "dead_letters"),
)


@dataclass(frozen=True)
class LearnerLimits:
    """What bounds the memory and the time of a learner beside its settings."""

    max_sources: int = MAX_SOURCES
    """See ``ClickThrough``."""
    round_bytes: int = ROUND_BYTES
    """See ``ItemTransitions``."""
    view_share: float = views.SHARE
    """Share of the time that copies for the follower may take."""


class Pending(NamedTuple):
    """A commit that is not confirmed yet."""

    commit: Commit
    stale_users: Sequence[str] = ()
    """Users to read again afterwards, because it rewrites what is stored about them."""
    arrivals: Arrivals = ()
    """When its events arrived."""
    requests: Sequence[LearnedRequest] = ()
    """The requests of its events that are followed."""


class Learner:
    """Learns one partition while its epoch lasts; raises Superseded once another took over."""

    def __init__(
        self,
        settings: Settings,
        client: Client,
        namespace: Namespace,
        partition: int,
        limits: LearnerLimits = LearnerLimits(),
        *,
        meters: Meters | None = None,
    ) -> None:
        self._settings = settings
        self._meters = LearnerMeters(meters or Meters(), partition)
        self.model: OnlineModel = OnlineModel(configs.online_config(settings, namespace))
        self._partition = Partition(client, namespace, partition, self.model)
        self.state, self._writer = self._partition.state, self._partition.writer
        self.watermark = self.state.watermark
        """Sequence of the last event that is learned and committed."""
        self._counters = {name: getattr(self.state, name) for name in _COUNTERS}
        memory = load_memory(
            settings,
            self.model,
            self._partition,
            configs.meanings(settings, namespace),
            round_bytes=limits.round_bytes,
        )
        self._memory = memory
        self._saved = memory.arrays
        restore(self.model, self._saved)
        self._deletions, self._merges = Deletions(memory), Merges(memory)
        click_through = ClickThrough(memory.reader.click_through(), max_sources=limits.max_sources)
        self._batches = BatchLearning(memory, click_through)
        age_ms = int(settings.dedupe_max_age_h * 3_600_000)
        self._ahead_ms = int(1_000 * settings.future_tolerance_s)
        self._window = DedupeWindow(settings.dedupe_window, age_ms)
        self._window.load(memory.reader.ids())
        copies = views.Views(
            self.model,
            memory.items,
            memory.counters,
            memory.transitions,
            settings.online_snapshot_s,
            share=limits.view_share,
        )
        self.follower_inbox = Inbox(copies, memory.users, memory.counters, settings.judged_per_s)
        """The input of its follower, if there is one."""
        self._backlog: Backlog | None = None
        self._learned_to = self.watermark
        self._commits: deque[Pending] = deque()
        """Commits that are not confirmed yet."""
        self._event_s = _FIRST_GUESS_S

    def step(self, block_ms: int = BLOCK_MS) -> int:
        """Learn one batch, or wait ``block_ms`` for one; return the number of its events.

        On return the commit is under way if more events wait, else it is done. After
        StoreUnavailable the next step continues where this one stopped.
        """
        try:
            return self._step(block_ms)
        except (CoreError, Misconfigured):
            # a suspended learner finds gaps if another took over meanwhile and trimmed the log;
            # after a rollback the log and the items are not those that it has read
            self.check_epoch()
            raise

    def _step(self, block_ms: int) -> int:
        self._finish(but=1)
        backlog = self._backlog or self._read(0 if self._commits else block_ms)
        n = 0
        if backlog is not None:
            n = self._learn_batch(backlog)
            self._finish(but=1)
            for pending in self._commits:
                self._writer.begin(pending.commit)
            self.follower_inbox.is_busy = bool(self._backlog or self._read(0))
            if self.follower_inbox.is_busy:
                # the store is busy with this batch while we learn the next
                return n
        self.settle()
        self.follower_inbox.refresh(self._learned_to)
        return n

    def settle(self) -> None:
        """Return when everything that was learned is committed."""
        self._finish(but=0)

    def check_epoch(self) -> None:
        """Raise Superseded if another learner took over, StoreRolledBack if the store went back.

        A commit would notice too, but later.
        """
        self._partition.check_epoch(self.watermark)

    def drain(self) -> int:
        """Learn everything that is in the log; return the number of events."""
        total = 0
        while n := self.step(block_ms=0):
            total += n
        return total

    def close(self) -> None:
        """Close the connection of the writer."""
        self._writer.close()

    # --- one batch --------------------------------------------------------------------------------

    def _read(self, block_ms: int) -> Backlog | None:
        while entries := self._partition.log.read_after(
            self._learned_to, block_ms=block_ms, max_bytes=READ_BYTES
        ):
            self.follower_inbox.refresh(self._learned_to)
            inspected = self._partition.inspection.of(entries, self._learned_to)
            if inspected.sound:
                self._backlog = Backlog(
                    inspected.sound, self._learned_to, self._window, self._ahead_ms
                )
                return self._backlog
            if inspected.dead is not None:
                self._set_aside(inspected.dead, inspected.requests)
            block_ms = 0
        return None

    def _set_aside(self, dead: DeadLetter, requests: bytes) -> None:
        """Move an entry that cannot be learned out of the way, and go on behind it."""
        self.settle()
        # a suspended learner must not judge entries by what it knew before another took over
        self.check_epoch()
        if self._partition.dead_letters.count() >= KEPT:
            raise Misconfigured(
                f"{KEPT} entries of the log could not be learned and wait: find the cause, then "
                "replay or discard them (`hedgerow dead-letters list`)"
            )
        self._counters["dead_letters"] += dead.n
        commit = Commit(
            follows=self._learned_to,
            watermark=dead.last,
            changes=Changes(),
            state=StateChange(counters=dict(self._counters)),
            dead=dead,
            log_bytes=len(dead.packed),
        )
        self._learned_to = dead.last
        self._commits.append(Pending(commit))
        about = {"first": dead.first, "last": dead.last, "reason": dead.reason, "events": dead.n}
        followed = [one.request for one in read_shares(requests) if one.request]
        more = {"requests": followed} if followed else {}
        logger().error("entry_set_aside", **about, **more)

    def _learn_batch(self, backlog: Backlog) -> int:
        began, first = time.perf_counter(), backlog.at
        if backlog.kind[first] >= DELETE_RATING and not backlog.repeated[first]:
            end = first + 1
            outcome, is_learned = self._carry_out(backlog), False
        else:
            batch = self._batches.next_batch(
                backlog, max_events=self._max_events, settle=self.settle
            )
            end = batch.end
            self.follower_inbox.before(backlog, batch, self._learned_to)
            outcome, is_learned = self._batches.learn(backlog, batch), True
        commit = self._commit_of(backlog, end, outcome, with_point=is_learned)
        arrivals, requests = backlog.arrivals(end), backlog.requests(end)
        backlog.at, self._learned_to = end, commit.watermark
        if backlog.is_done:
            self._backlog = None
        self._commits.append(Pending(commit, outcome.stale_users, arrivals, requests))
        self._measure(end - first, time.perf_counter() - began)
        return end - first

    def _carry_out(self, backlog: Backlog) -> Outcome:
        """Carry out the deletion or merge at the head of the backlog."""
        self.settle()
        at = backlog.at
        self._memory.horizon.reach(backlog.newest_ms(at + 1))
        kind, user = int(backlog.kind[at]), backlog.users[int(backlog.user_ix[at])]
        item, sequence = int(backlog.item[at]), int(backlog.sequence[at])
        if kind == MERGE_USER:
            return self._merges.merge(user, backlog.users[item])
        if kind == MOVE_USER:
            return self._merges.move(user, int(backlog.time_ms[at]))
        return self._deletions.carry_out(kind, user=user, item=item, sequence=sequence)

    def _commit_of(
        self, backlog: Backlog, end: int, outcome: Outcome, *, with_point: bool
    ) -> Commit:
        """Build the commit of the events up to ``end``; the only place where one is made."""
        for name, n in outcome.counted.items():
            self._counters[name] += n
        follows, watermark = self._learned_to, int(backlog.sequence[end - 1])
        is_due = watermark // EXPERT_HISTORY_EVERY > follows // EXPERT_HISTORY_EVERY
        return Commit(
            follows=follows,
            watermark=watermark,
            changes=outcome.changes,
            transitions=self._memory.transitions.turn(outcome.changes.transitions, watermark),
            dedupe=self._window.store(backlog.sightings(end)),
            state=StateChange(
                arrays=changed_arrays(self.model, self._saved),
                counters={**self._counters, "newest_ms": backlog.newest_ms(end)},
            ),
            answers=answers(backlog, end, outcome),
            expert_point=self._expert_point() if with_point and is_due else None,
            log_bytes=backlog.done_bytes(end),
        )

    def _expert_point(self) -> ExpertPoint:
        experts: list[ExpertStanding] = [
            {"name": e.name, "weight": e.weight, "part": e.part, "recent_loss": e.recent_loss}
            for e in self.model.experts()
        ]
        return {"learned": self._counters["learned"], "experts": experts}

    def _finish(self, *, but: int) -> None:
        """Commit what was learned, oldest first, except for the newest ``but`` commits.

        A commit that rewrites users is never left for later, because these must be read again.
        """
        while len(self._commits) > but or (self._commits and self._commits[0].stale_users):
            commit, stale_users, arrivals, requests = self._commits[0]
            began = time.perf_counter()
            self._writer.commit(commit)
            self._meters.committed(time.perf_counter() - began, arrivals)
            self._commits.popleft()
            for name, events, through in requests:
                logger().info("events_learned", request_id=name, events=events, through=through)
            self._memory.users.forget(stale_users)
            self.watermark = commit.watermark
            changes = commit.changes
            self.follower_inbox.commit(
                commit.watermark, changes.removals.items, changes.touched_users
            )

    @property
    def _max_events(self) -> int:
        return int(self._settings.commit_max_ms / 1000 / self._event_s)

    def _measure(self, n: int, seconds: float) -> None:
        """Update the time per event, which limits the size of batches: commits must be timely."""
        self._meters.learned(n, seconds)
        if n >= 100:
            self._event_s += 0.2 * (seconds / n - self._event_s)
