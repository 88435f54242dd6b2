"""Explain a slate: the past items that contributed most to the score of each item."""

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
"""Largest number of past items that explain a score."""
UNSPOKEN = "nothing is explained: no past item adds to these scores"

Because = list[tuple[int, float]]
"""Past items and their contributions to a score, the largest first."""


def explained(
    lineup: Lineup, rankers: Sequence[Ranker], asker: Asker, picked: Sequence[tuple[int, Strategy]]
) -> tuple[list[Because], str | None]:
    """Return the explanation of each picked item, and a reason if there are none.

    An item does not explain itself, and a disliked item is never named. If the ranker of an item
    cannot explain, the heaviest ranker that can does it instead.
    """
    models = {r.strategy: r for r in rankers if r.family.explains and r.knows(asker)}
    if not models:
        could = any(ranker.family.explains for ranker in lineup.models.values())
        why = unexplained_list if could else unexplained
        return [[] for _ in picked], why()
    first = next(iter(models))
    explainer_of = {item: strategy if strategy in models else first for item, strategy in picked}
    explanations: dict[int, Because] = {}
    for strategy, model in models.items():
        items = [item for item, explainer in explainer_of.items() if explainer == strategy]
        explanations |= _by(model, asker, items)
    because = [explanations.get(item, []) for item, _ in picked]
    return because, None if any(because) or not picked else UNSPOKEN


def _by(model: Ranker, asker: Asker, items: Sequence[int]) -> dict[int, Because]:
    """Return a model's explanations of the items that it knows."""
    known = [item for item in items if item < model.n_items]
    sums = model.explain(asker, np.array(known, np.int32))
    if sums is None:
        return {}
    past = asker.preferences.within(model.n_items)
    liked = past.target > 0.0
    largest = max(np.abs(part).max(initial=0.0) for part in (sums.contribution, sums.constant))
    rows = zip(known, sums.contribution, strict=True)
    return {
        item: _largest(item, past.item_ix[liked], row[liked], ROUNDING * largest)
        for item, row in rows
    }


def _largest(item: int, past: I32, contributions: F64, rounding: float) -> Because:
    significant = np.flatnonzero((past != item) & (contributions > rounding))
    best = significant[np.argsort(-contributions[significant], kind="stable")[:MOST]]
    return [(int(past[at]), float(contributions[at])) for at in best]
