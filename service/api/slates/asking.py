"""From a request for a slate to what the recommender is asked."""

from collections.abc import Sequence

import numpy as np
from starlette.requests import Request

from service.api.feedback.schemas import Feedback, Rules
from service.api.routing import runtime_of
from service.api.slates.requests import Ranking, RecommendationBody
from service.errors import InvalidEvent
from service.ranking.slates.wanted import Wanted
from service.runtime.api import ApiRuntime
from service.store.profiles.history_record import records
from service.store.profiles.user_histories import HistoryAnswer


def wanted_of(ranking: Ranking) -> Wanted:
    """Return what a request wants of the rankers."""
    return Wanted(
        k=ranking.k,
        offset=ranking.offset,
        model=ranking.model,
        blend=ranking.blend,
        diversity=ranking.diversity,
        max_per_category=ranking.max_per_category,
        explain=ranking.explain,
    )


async def posted_history(
    request: Request, body: RecommendationBody
) -> tuple[HistoryAnswer | None, Sequence[str]]:
    """Return a posted history as records, and the unknown items, whose events are left out."""
    if not body.history:
        return None, ()
    rules: Rules = request.scope["app"].state.intake.rules
    events = [Feedback("nobody", one.item, one.rating, one.kind) for one in body.history]
    for index, event in enumerate(events):
        if (fault := rules.fault(event)) is not None:
            raise InvalidEvent(f"history[{index}]: {fault[1]}", code=fault[0])
    return await history_of(runtime_of(request), rules, events)


async def history_of(
    runtime: ApiRuntime, rules: Rules, events: Sequence[Feedback]
) -> tuple[HistoryAnswer, Sequence[str]]:
    """Return events as the history of somebody, the oldest first, and the unknown items."""
    numbers = await runtime.numbers.lookup([event.item for event in events])
    rows = [
        rules.row(event, number, now_ms=0)
        for event, number in zip(events, numbers, strict=True)
        if number is not None
    ]
    pairs = zip(events, numbers, strict=True)
    unknown = list(dict.fromkeys(event.item for event, number in pairs if number is None))
    history = HistoryAnswer(
        records(
            np.array([row.item for row in rows], np.uint32),
            np.array([row.value for row in rows], np.float32),
            np.zeros(len(rows), np.int64),
            np.arange(1, len(rows) + 1, dtype=np.int64),
            np.array([row.kind for row in rows], np.uint8),
        ),
        np.empty(0, np.uint32),
        0,
    )
    return history, unknown
