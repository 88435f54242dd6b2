"""Learning a stack for an evaluation, from questions that its rankers have not learned."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from core.stack.choices import Choice, choices_of
from core.stack.guard import Guarded, guarded
from service.evaluation.questions import Questions
from service.evaluation.rankers import askers
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.stack import candidates, score_columns, signal_names

OnShare = Callable[[float], None]


def learned(
    rankers: Sequence[Ranker],
    questions: Questions,
    n_items: int,
    *,
    repeats: bool,
    seed: int,
    on_share: OnShare = lambda share: None,
) -> Guarded:
    """Return the stack of some rankers, fitted to the items that came next."""
    choices = choices_of(_judged(rankers, questions, n_items, repeats=repeats, on_share=on_share))
    rng = np.random.default_rng([seed, 2])
    return guarded(choices, signal_names(rankers), score_columns(rankers), rng)


def _judged(
    rankers: Sequence[Ranker],
    questions: Questions,
    n_items: int,
    *,
    repeats: bool,
    on_share: OnShare,
) -> Iterator[Choice]:
    asker_of, allowed = askers(questions, repeats=repeats), np.ones(n_items, np.bool_)
    for n, target in enumerate(questions.targets.tolist()):
        asker = asker_of(n)
        found = candidates(rankers, asker, Pool(allowed, asker.preferences.seen))
        yield found.taken(target, asker.preferences.item_ix.size)
        if n % 1000 == 0:
            on_share(n / len(questions))


def weights_of(found: Guarded) -> dict[str, float]:
    """Return the weight of each standardised signal, or 1 for the ranker that answers alone."""
    if found.alone is not None:
        return {found.alone: 1.0}
    logit = found.logit
    named = zip(logit.names, logit.weights[:, 0].tolist(), logit.scale.tolist(), strict=True)
    return {name: weight for name, weight, scale in named if scale > 0.0}
