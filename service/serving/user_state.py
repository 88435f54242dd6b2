"""One cached user: the history as rankers read it, and the results of rankers."""

from dataclasses import dataclass, field

from core.batch.preferences import Preferences, preferences
from core.meaning import EventMeanings
from core.types import F32
from service.ranking.asker import VectorOf
from service.ranking.pool import Head
from service.ranking.strategies import Strategy, is_at_place
from service.serving.standing import KeptAnswer
from service.store.profiles.history_record import columns
from service.store.profiles.user_histories import HistoryAnswer

PLACES = 4
"""Most heads of a user for contexts: for two devices, on two pages each."""
OVERHEAD, OF_EACH, OF_ANSWER = 1_500, 250, 1_000
"""Approximate bytes of an entry besides its arrays; of each vector and head besides its arrays; of
each finished answer besides its body."""


@dataclass(eq=False)
class UserState:
    """A cached user: the history as rankers read it; a user without one has empty preferences."""

    preferences: Preferences
    """The preferences of the user; ``seen`` includes the trimmed items."""
    watermark: int
    """Sequence up to which all events are included."""
    newest: int
    """Sequence of the user's newest record; 0 if there is none."""
    vectors: dict[VectorOf, F32] = field(default_factory=dict)
    """The user's vectors, by family and version of the model."""
    row: F32 | None = None
    """The user's row of the online model."""
    heads: dict[Strategy, Head] = field(default_factory=dict)
    """Heads of the rankers' orders for the user."""
    warmed: dict[Strategy, Head] = field(default_factory=dict)
    """Heads for models that are about to go live."""
    answers: dict[bytes, KeptAnswer] = field(default_factory=dict)
    """Finished answers by their query."""

    def keep_head(self, name: Strategy, head: Head) -> None:
        """Keep a head; of the heads for contexts, the latest."""
        self.heads.pop(name, None)
        self.heads[name] = head
        self.warmed.pop(name, None)
        for old in [*filter(is_at_place, self.heads)][:-PLACES]:
            del self.heads[old]

    @property
    def nbytes(self) -> int:
        """Return the approximate memory of the entry in bytes."""
        past = self.preferences
        arrays = (
            past.item_ix,
            past.weight,
            past.target,
            past.seen,
            past.latest,
            *self.vectors.values(),
        )
        row = 0 if self.row is None else self.row.nbytes
        kept = (*self.heads.values(), *self.warmed.values())
        heads = sum(head.nbytes for head in kept)
        made = OF_EACH * (len(self.vectors) + len(kept))
        answers = sum(OF_ANSWER + one.body.nbytes for one in self.answers.values())
        return OVERHEAD + made + row + heads + answers + sum(array.nbytes for array in arrays)


def state_of(
    answer: HistoryAnswer, meanings: EventMeanings, through: int | None = None
) -> UserState:
    """Return the state for a history; records after ``through``, if given, are left out."""
    history = columns(answer.records)
    newest = int(history.sequence[-1]) if history.sequence.size else 0
    read = preferences(history, meanings, trimmed=answer.trimmed, through=through)
    return UserState(read, answer.watermark, newest, row=answer.row)
