"""One evaluation of the next item: fit on the events before, rank all items for each question."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from core import ranking_metrics
from core.interactions import from_pairs
from core.ranking_metrics import Hits
from core.types import I32
from service.evaluation.questions import Division, Exam, Part, Questions, exam
from service.evaluation.rankers import Settled, askers, families_that_rank, listed, settled
from service.files.features import read_features
from service.files.ratings import Ratings
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.strategies import DEFAULT_RECIPE, POPULAR, Strategy
from service.training.material import Material

OnProgress = Callable[[str, float], None]
DEPTH = 20
"""Length of the measured lists."""
KS = (10, DEPTH)


@dataclass(frozen=True)
class NextOptions:
    """The options of an evaluation."""

    model: Strategy = DEFAULT_RECIPE
    division: Division = field(default_factory=Division)
    items: Path | None = None
    """A file of items' features."""
    budget_s: float = 120.0
    seed: int = 0


@dataclass(frozen=True)
class Contest:
    """The rankers of one evaluation, and how long it took to make them."""

    rankers: Mapping[Strategy, Ranker]
    search_seconds: float
    fit_seconds: float


def evaluate_next(
    train: Ratings,
    test: Ratings | None,
    request: NextOptions,
    on_progress: OnProgress = lambda stage, share: None,
) -> dict[str, Any]:
    """Fit on the events before the questions, answer these, and return the report."""
    papers = exam(train, test, request.division)
    contest = _contest(papers, train, request, on_progress)
    found = _answered(contest, papers.testing.questions, request, on_progress)
    figures = {name: ranking_metrics.next_means(one, KS) for name, one in found.items()}
    return {
        "model": request.model,
        "n_predictions": len(papers.testing.questions),
        "repeated": papers.repeated,
        **figures[request.model],
        "search_seconds": contest.search_seconds,
        "fit_seconds": contest.fit_seconds,
        "weights": {},
        "families": {name: one for name, one in figures.items() if name != POPULAR},
        "popular": figures[POPULAR],
    }


def _contest(
    papers: Exam, train: Ratings, request: NextOptions, on_progress: OnProgress
) -> Contest:
    """Search on the part for choosing; fit to everything that may be learned."""
    names = [name for name in families_that_rank() if name in {request.model, POPULAR}]
    choosing = _material(papers.choosing, train, request)
    _compile(names)
    begun = perf_counter()
    found = settled(
        names,
        choosing,
        request.budget_s,
        request.seed,
        lambda share: on_progress("searching", share),
    )
    searched = perf_counter()
    known = _material(papers.testing, train, request)
    rankers = {one.family.strategy: one.ranker(known) for one in found}
    return Contest(rankers, searched - begun, perf_counter() - searched)


def _material(part: Part, train: Ratings, request: NextOptions) -> Material:
    items = {item: ix for ix, item in enumerate(train.item_ids)}
    features = None if request.items is None else read_features(request.items, "item", items)
    return Material(part.pairs, item_features=features, steps=part.learned)


def _compile(names: Sequence[Strategy]) -> None:
    """Compile the kernels on tiny data, so that measured times exclude compilation."""
    users, items = np.array([0, 0, 1]), np.array([0, 1, 1])
    tiny = Material(from_pairs(users, items, time=users))
    for one in settled(names, tiny, 0.0, 0, lambda share: None):
        Settled.ranker(one, tiny)


def _answered(
    contest: Contest, questions: Questions, request: NextOptions, on_progress: OnProgress
) -> Mapping[Strategy, Hits]:
    """Return the hits of each ranker's lists."""
    popular = contest.rankers[POPULAR]
    pool_of = np.ones(popular.n_items, np.bool_)
    asker_of = askers(questions, repeats=request.division.repeats)
    lists = {name: np.full((len(questions), DEPTH), -1, np.int32) for name in contest.rankers}
    for n in range(len(questions)):
        asker = asker_of(n)
        pool = Pool(pool_of, asker.preferences.seen)
        for name, ranker in contest.rankers.items():
            items = listed(ranker, popular, asker, pool, DEPTH)
            lists[name][n, : items.size] = items
        if n % 1000 == 0:
            on_progress("ranking", n / len(questions))
    return {name: _hits(ids, questions) for name, ids in lists.items()}


def _hits(ids: I32, questions: Questions) -> Hits:
    targets = questions.targets
    return ranking_metrics.hits(ids, from_pairs(np.arange(targets.size), targets))
