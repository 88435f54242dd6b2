"""One evaluation of the whole loop: from a file to a report."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from core.errors import DataError
from core.scale import Scale
from service.evaluation.questions import Ties
from service.evaluation.stream.events import Events, read_events
from service.evaluation.stream.loop import Loop, Schedule, meanings_of
from service.evaluation.stream.plot import drawn
from service.evaluation.stream.report import report
from service.evaluation.stream.training import USUAL, Trainings
from service.ranking.strategies import Strategy
from service.settings import Settings

OnProgress = Callable[[str, float], None]


@dataclass(frozen=True)
class StreamOptions:
    """The options of an evaluation."""

    schedule: Schedule = field(default_factory=Schedule)
    families: tuple[Strategy, ...] = USUAL
    """Families that are trained."""
    scale: Scale | None = None
    """Of the ratings; None: from the lowest to the highest one."""
    ties: Ties = "file"
    budget_s: float = 30.0
    plot: Path | None = None
    """Where to write a drawing of the figures, as SVG."""


def evaluate_stream(
    path: Path,
    request: StreamOptions,
    settings: Settings,
    on_progress: OnProgress = lambda what, share: None,
) -> dict[str, Any]:
    """Run the whole loop on the events of a file and return the report."""
    events = read_events(
        path,
        settings.kinds,
        scale=request.scale,
        ties=request.ties,
        seed=request.schedule.seed,
        on_share=lambda share: on_progress("reading", share),
    )
    _check(events, request.schedule)
    begun = perf_counter()
    trainings = Trainings(
        events,
        meanings_of(events, settings),
        request.families,
        budget_s=request.budget_s,
        seed=request.schedule.seed,
        on_share=lambda share: on_progress("searching", share),
    )
    loop = Loop(events, trainings, settings, request.schedule)
    answers = loop.run(on_progress)
    if not any(not one.question.first for one in answers):
        raise DataError(
            "no event of the stream could be judged: none is a first like of an item by a user "
            "with a history; give more events, or begin earlier (--warm)"
        )
    if request.plot is not None:
        request.plot.write_text(drawn(answers))
    return {
        **report(answers, loop.windows),
        "training_seconds": loop.training_seconds,
        "seconds": perf_counter() - begun,
    }


def _check(events: Events, schedule: Schedule) -> None:
    n, start = len(events), round(schedule.warm * len(events))
    if not 0 < start < n:
        raise DataError(f"{n} events are too few to learn {start} of them and judge by the others")
