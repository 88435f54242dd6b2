"""The state by which families without training rank, and their rankers."""

from collections.abc import Iterable
from typing import Protocol

from service.ranking.ranker import Ranker


class State(Protocol):
    """The learners' state for one or more families, as of one moment; it never changes.

    An api process follows it in the store, the judge takes it from a view of the learner. Both make
    the rankers here, so that the judge measures those that serve.
    """

    def rankers(self, partition: int | None) -> Iterable[Ranker]:
        """Return the rankers for a partition's users (None: for an asker who is not a user).

        A lineup is made every few seconds: what takes long must be kept in the state.
        """


def rankers_of(states: Iterable[State], partition: int | None) -> list[Ranker]:
    """Return the rankers of all families without training that have learned something."""
    return [ranker for state in states for ranker in state.rankers(partition)]
