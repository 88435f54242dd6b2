"""One evaluation of the next item: fit on earlier events, then rank all items for each question."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from core import ranking_metrics
from core.batch.content.encoder import Described
from core.batch.content.encoder_fit import encoder_of
from core.errors import ConfigError
from core.interactions import from_pairs
from core.ranking_metrics import Hits
from core.stack.guard import Guarded
from core.types import I32
from service.evaluation.files import item_side
from service.evaluation.questions import Division, Exam, Part, Questions, exam
from service.evaluation.rankers import askers, families_that_rank, listed, settled
from service.evaluation.stacking import learned, weights_of
from service.files.ratings import Ratings
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.stack import Stack
from service.ranking.strategies import MIXTURE, POPULAR, Strategy
from service.training.all_families.settled import Settled
from service.training.data.material import Material

OnProgress = Callable[[str, float], None]
DEPTH = 20
"""Length of the measured lists."""
KS = (10, DEPTH)


@dataclass(frozen=True)
class NextOptions:
    """The options of an evaluation."""

    model: Strategy = MIXTURE
    division: Division = field(default_factory=Division)
    items: Path | None = None
    """A file of items' features, for families that read them."""
    budget_s: float = 120.0
    seed: int = 0


@dataclass(frozen=True)
class Contest:
    """The rankers of one evaluation, and how long it took to make them.

    The search chooses settings and weights; the fit is that to all that may be learned.
    """

    rankers: Mapping[Strategy, Ranker]
    stack: Stack | None
    weights: Mapping[str, float]
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
        "weights": contest.weights,
        "families": {n: one for n, one in figures.items() if n not in {POPULAR, MIXTURE}},
        "popular": figures[POPULAR],
    }


def _contest(
    papers: Exam, train: Ratings, request: NextOptions, on_progress: OnProgress
) -> Contest:
    """Choose settings and weights on the part for choosing; fit to all that may be learned."""
    mixed, names = request.model == MIXTURE, _names(request)
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
    judged = _stacked(found, choosing, papers, request, on_progress) if mixed else None
    chosen = perf_counter()
    known = _material(papers.testing, train, request)
    rankers = {one.family.strategy: one.ranker(known) for one in found}
    return Contest(
        rankers=rankers,
        stack=None if judged is None else Stack([*rankers.values()], judged.logit, judged.alone),
        weights={} if judged is None else weights_of(judged),
        search_seconds=chosen - begun,
        fit_seconds=perf_counter() - chosen,
    )


def _names(request: NextOptions) -> list[Strategy]:
    """Return the families to fit; refuse a file that does not fit the model."""
    model, described = request.model, request.items is not None
    families = families_that_rank(described=described)
    if model == MIXTURE:
        return families
    if model not in families:
        raise ConfigError(f"{model} ranks by what is said of items: give --items")
    if described and not FAMILIES[model].reads_item_features:
        raise ConfigError(f"{model} cannot use --items: leave it out, or use content or mixture")
    return [name for name in families if name in {model, POPULAR}]


def _stacked(
    found: Sequence[Settled],
    choosing: Material,
    papers: Exam,
    request: NextOptions,
    on_progress: OnProgress,
) -> Guarded:
    """Learn the weights of models that have not learned the questions for choosing."""
    return learned(
        [one.ranker(choosing) for one in found],
        papers.choosing.questions,
        choosing.pairs.n_items,
        repeats=request.division.repeats,
        seed=request.seed,
        on_share=lambda share: on_progress("weighing", share),
    )


def _material(part: Part, train: Ratings, request: NextOptions) -> Material:
    items = {item: ix for ix, item in enumerate(train.item_ids)}
    described = None if request.items is None else item_side(request.items, items)[1]
    return Material(part.pairs, described=described, steps=part.learned)


def _compile(names: Sequence[Strategy]) -> None:
    """Compile the kernels on tiny data, so that measured times exclude compilation."""
    users, items = np.array([0, 0, 1]), np.array([0, 1, 1])
    said = [{"categories": ["any"]}] * 2
    encoder = encoder_of(said)
    described = Described(encoder, encoder.transform(said))
    tiny = Material(from_pairs(users, items, time=items), described=described)
    for one in settled(names, tiny, 0.0, 0, lambda share: None):
        Settled.ranker(one, tiny)


def _answered(
    contest: Contest, questions: Questions, request: NextOptions, on_progress: OnProgress
) -> Mapping[Strategy, Hits]:
    """Return the hits of each ranker's lists, and those of the stack."""
    allowed = np.ones(contest.rankers[POPULAR].n_items, np.bool_)
    asker_of = askers(questions, repeats=request.division.repeats)
    names = [*contest.rankers, *([MIXTURE] if contest.stack else [])]
    lists = {name: np.full((len(questions), DEPTH), -1, np.int32) for name in names}
    for n in range(len(questions)):
        asker = asker_of(n)
        pool = Pool(allowed, asker.preferences.seen)
        for name, items in _lists(contest, asker, pool).items():
            lists[name][n, : items.size] = items
        if n % 1000 == 0:
            on_progress("ranking", n / len(questions))
    return {name: _hits(ids, questions) for name, ids in lists.items()}


def _lists(contest: Contest, asker: Asker, pool: Pool) -> Mapping[Strategy, I32]:
    popular, stack = contest.rankers[POPULAR], contest.stack
    found = {
        name: listed(ranker, popular, asker, pool, DEPTH)
        for name, ranker in contest.rankers.items()
    }
    if stack is not None:
        found[MIXTURE] = stack.best(asker, pool, DEPTH)[0]
    return found


def _hits(ids: I32, questions: Questions) -> Hits:
    targets = questions.targets
    return ranking_metrics.hits(ids, from_pairs(np.arange(targets.size), targets))
