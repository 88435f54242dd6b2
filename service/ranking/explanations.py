"""The past items that carry the scores of a slate, as the models that ranked it tell."""

from collections.abc import Sequence

import numpy as np

from core.batch.row_objective import ROUNDING
from core.types import F64, I32
from service.ranking.asker import Asker
from service.ranking.lineup import Lineup
from service.ranking.ranker import Ranker
from service.ranking.reasons import unexplained, unexplained_list
from service.ranking.strategies import Strategy

MOST = 3
"""Most past items that explain a score."""
UNSPOKEN = "nothing is explained: no past item speaks for these"

Because = list[tuple[int, float]]
"""Past items and their contributions to a score, the largest first."""


def explained(
    lineup: Lineup, rankers: Sequence[Ranker], asker: Asker, picked: Sequence[tuple[int, Strategy]]
) -> tuple[list[Because], str | None]:
    """Return for each item, picked by a ranker, what carries its score; and why nothing does.

    An item is no reason for itself. An item whose ranker does not explain is explained by the
    heaviest ranker that does.
    """
    models = {r.strategy: r for r in rankers if r.family.explains and r.knows(asker)}
    if not models:
        could = any(ranker.family.explains for ranker in lineup.models.values())
        why = unexplained_list if could else unexplained
        return [[] for _ in picked], why(lineup.families)
    first = next(iter(models))
    telling = [strategy if strategy in models else first for _, strategy in picked]
    found: dict[int, Because] = {}
    for strategy, model in models.items():
        own = [item for (item, _), one in zip(picked, telling, strict=True) if one == strategy]
        found |= _by(model, asker, own)
    because = [found.get(item, []) for item, _ in picked]
    return because, None if any(because) or not picked else UNSPOKEN


def _by(model: Ranker, asker: Asker, items: Sequence[int]) -> dict[int, Because]:
    """Return the explanations of those items that a model knows."""
    known = [item for item in items if item < model.n_items]
    sums = model.explain(asker, np.array(known, np.int32))
    if sums is None:
        return {}
    past = asker.preferences.within(model.n_items).item_ix
    largest = max(np.abs(own).max(initial=0.0) for own in (sums.contribution, sums.constant))
    each = zip(known, sums.contribution, strict=True)
    return {item: _largest(item, past, own, ROUNDING * largest) for item, own in each}


def _largest(item: int, past: I32, contributions: F64, rounding: float) -> Because:
    telling = np.flatnonzero((past != item) & (contributions > rounding))
    best = telling[np.argsort(-contributions[telling], kind="stable")[:MOST]]
    return [(int(past[at]), float(contributions[at])) for at in best]
