"""Finished answers: given again as long as the same request would get the same list.

Nothing is computed for such a request. Each cause that would change the list ends the answer: an
event of the user drops all that is kept of them, ``Standing`` knows the other causes.
"""

from service.ids import sequence_token
from service.serving.asked import Answer
from service.serving.sources import Sources
from service.serving.standing import Body, KeptAnswer
from service.store.clock import now_ms


class KeptAnswers:
    """The finished answers of the cached users, by their query."""

    def __init__(self, sources: Sources) -> None:
        self._users, self._lineups, self._changes = sources.users, sources.lineups, sources.changes
        self._view, self._new_items = sources.view, sources.new_items

    def get(self, user: str, query: bytes) -> bytes | None:
        """Return the answer to a query of a user, as of now; None: it must be made."""
        state = self._users.held(user)
        kept = None if state is None else state.answers.get(query)
        if state is None or kept is None:
            return None
        partition, time_ms = self._users.partition(user), now_ms()
        shown = self._view.current.shown(time_ms, kept.standing.n_items)
        lineup, new = self._lineups.current(partition), self._new_items.current.new
        if not kept.standing.holds(lineup, shown, new, time_ms):
            return None
        # a user whose state is held did nothing up to the watermark
        through = max(state.watermark, self._changes.watermark(partition))
        return kept.body.again(time_ms, sequence_token({partition: through}))

    def keep(self, user: str, query: bytes, answer: Answer, body: Body) -> None:
        """Keep an answer that was made just now, if it may be given again."""
        if answer.state is not None and answer.standing is not None:
            kept = KeptAnswer(body, answer.standing)
            self._users.keep_answer(user, answer.state, query, kept)
