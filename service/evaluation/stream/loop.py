"""The loop: ask, judge, learn, retrain on schedule, in the order of time.

Judge, weights and rankers are those of the follower; learner and trainings are those of the roles,
in one process and without a store. Nothing is learned before it is asked: a question knows the
events up to ``follows``, and no model was trained on later ones.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import NamedTuple

import numpy as np

from core.meaning import EventMeanings
from core.online.model import OnlineModel
from core.stack.choices import choices_of, ranks
from core.types import I64
from service import configs
from service.evaluation.stream.events import Events
from service.evaluation.stream.learner import StreamLearner
from service.evaluation.stream.training import PARTITION, Trained, Trainings
from service.learning.following.inbox import OF_SHORT, Sighting, follows_few
from service.learning.following.judge import Judge, StoredUser, Verdict
from service.learning.following.learned_weights import LearnedWeights
from service.ranking.strategies import NEXT
from service.ranking.untrained.next_items import LOG_OPENINGS
from service.settings import Settings
from service.store.catalogue.columns import Catalogued
from service.store.namespace import Namespace

OnProgress = Callable[[str, float], None]
FIRST_EVENTS = (1, 2, 5, 10)
"""Numbers of events after which users who are new in the stream are asked about."""
OPENINGS = f"{NEXT}: {LOG_OPENINGS}"
_NOTHING_TRIMMED = np.empty(0, np.uint32)


@dataclass(frozen=True)
class Schedule:
    """When the loop trains and what it asks."""

    warm: float = 0.8
    """Share of the events that is learned before the stream begins."""
    retrain_every: float = 0.05
    """Share of all events between two trainings."""
    sample: int = 8_000
    """Most positives that are judged and teach the weights."""
    seed: int = 0
    view_every: int = 250
    """Events after which rankers read the items' state again; in the service, seconds decide."""

    def windows(self, n: int) -> list[range]:
        """Return the events between trainings."""
        start, step = round(self.warm * n), max(round(self.retrain_every * n), 1)
        return [range(first, min(first + step, n)) for first in range(start, n, step)]


class Question(NamedTuple):
    """Which item does a user take next, as of the state after ``follows`` events?"""

    follows: int
    event: int
    """The event that gives the answer, ``follows`` or a later one."""
    first: int = 0
    """Number of events of a new user; 0: the question teaches the weights."""
    extra: bool = False
    """Whether it is no part of the sample: it teaches alone, because the history is short."""


@dataclass(frozen=True)
class Answered:
    """A question with its answers."""

    question: Question
    window: int
    """Number of the training before it."""
    verdict: Verdict
    openings: int
    """Rank of the item by how often others took it at this point of a history; 0: not listed."""


class Loop:
    """One run over the events of a file."""

    def __init__(
        self, events: Events, trainings: Trainings, settings: Settings, schedule: Schedule
    ) -> None:
        self._events, self._trainings, self._schedule = events, trainings, schedule
        namespace = namespace_of(events, schedule.seed)
        config = configs.online_config(settings, namespace)
        meanings = configs.meanings(settings, namespace)
        self._learner = StreamLearner(
            events, settings, meanings, config, view_every=schedule.view_every
        )
        self._judge = Judge(settings, OnlineModel(config), meanings, PARTITION)
        self._positive = meanings.evidence(events.kind, events.value) > 0.0
        self._trained = Trained()
        self._items = Catalogued()
        self.windows = schedule.windows(len(events))
        """The events between trainings."""
        self.training_seconds: list[float] = []
        """Of the training before each window; that of the first one has the search."""
        self.learned = LearnedWeights(None)

    def run(self, on_progress: OnProgress = lambda what, share: None) -> list[Answered]:
        """Return the answers to all questions that are tests, in the order of time."""
        questions = self._questions(self.windows[0].start)
        found: list[Answered] = []
        for n, window in enumerate(self.windows):
            self._learner.learn(window.start)
            on_progress("training", n / len(self.windows))
            self._train(window.start)
            for question in (one for one in questions if one.follows in window):
                verdict = self._answer(question)
                if verdict is not None and not question.extra:
                    # the candidates of all questions would not fit into memory
                    small = replace(verdict, candidate=None, signals=())
                    found.append(Answered(question, n, small, _by_openings(verdict)))
                if len(found) % 50 == 0:
                    on_progress("judging", len(found) / len(questions))
        return found

    def _train(self, through: int) -> None:
        begun = perf_counter()
        self._trained = self._trainings.after(through)
        self.training_seconds.append(perf_counter() - begun)
        self.learned.follow(self._trained.models, self._judge.versions)
        self.learned.foretold(self._trained.foretold)

    def _answer(self, question: Question) -> Verdict | None:
        self._learner.learn(question.follows)
        sighting = self._sighting(question)
        user = int(self._events.user[question.event])
        history = self._events.history(user, question.follows)
        verdict = self._judge.judge(
            sighting,
            StoredUser(history, _NOTHING_TRIMMED),
            self._trained.rankers,
            self.learned.weights,
            self.learned.arms,
            items=self._items,
        )
        if verdict is None:
            return None
        if not question.first:
            self.learned.judge(verdict, sighting)
            self.learned.fit()
        return verdict

    def _sighting(self, question: Question) -> Sighting:
        events, event = self._events, question.event
        user = int(events.user[event])
        return Sighting(
            user=events.user_ids[user],
            item=int(events.item[event]),
            time_ms=int(events.time_ms[event]),
            sequence=question.follows + 1,
            follows=question.follows,
            user_row=self._learner.row(user),
            view=self._learner.view(),
            extra=question.extra,
        )

    def _questions(self, start: int) -> list[Question]:
        """Return a sample of the positives from ``start`` on, and those of new users.

        To the sample come others after short histories, as the inbox of a follower has them.
        """
        rng = np.random.default_rng([self._schedule.seed, 5])
        most = self._schedule.sample
        positive = rng.permutation(start + np.flatnonzero(self._positive[start:]))
        others = positive[most:]
        short = others[follows_few(self._events.past[others])][: round(most / (1 / OF_SHORT - 1))]
        asked = [Question(event, event) for event in positive[:most].tolist()]
        more = [Question(event, event, extra=True) for event in short.tolist()]
        return sorted([*asked, *more, *self._of_new_users(start)])

    def _of_new_users(self, start: int) -> Iterator[Question]:
        for user in np.unique(self._events.user[start:]).tolist():
            own = self._events.of(user)
            if own[0] >= start:
                yield from self._first_events(own)

    def _first_events(self, own: I64) -> Iterator[Question]:
        """Ask for the next positive after a new user's first events."""
        for n in FIRST_EVENTS:
            later = own[n:]
            liked = later[self._positive[later]]
            if liked.size:
                yield Question(int(own[n - 1]) + 1, int(liked[0]), n)


def _by_openings(verdict: Verdict) -> int:
    """Return the rank of the item by the openings of histories alone."""
    if verdict.candidate is None or OPENINGS not in verdict.signals:
        return 0
    score = verdict.candidate.signals[:, verdict.signals.index(OPENINGS)]
    return int(ranks(choices_of([verdict.candidate]), score).sum())


def namespace_of(events: Events, seed: int) -> Namespace:
    """Return the fixed properties that the service would have stored."""
    return Namespace("stream", 1, events.scale, seed, "")


def meanings_of(events: Events, settings: Settings) -> EventMeanings:
    """Return the rules by which the events of a stream are read."""
    return configs.meanings(settings, namespace_of(events, 0))
