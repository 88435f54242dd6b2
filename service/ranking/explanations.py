"""Which past items carry the scores of a slate, as the models tell that ranked it."""

from collections.abc import Iterable, Sequence

import numpy as np

from core import slate as choices
from core.batch.row_objective import ROUNDING
from core.types import F64, I32
from service.ranking.rankers import Asker, FoldIn, Ranker
from service.ranking.reasons import unexplained
from service.rec_ids import Strategy

MOST = 3
"""Past items that explain a score."""
UNEXPLAINED = (
    "nothing is explained: only fbgd and ocmf know which past items carry a score, "
    "and neither ranked by a history"
)
UNSPOKEN = "nothing is explained: no past item speaks for these"

Because = list[tuple[int, float]]
"""Past items and their parts of a score, the heaviest first."""


def explained(
    rankers: Sequence[Ranker],
    asker: Asker,
    picked: Sequence[tuple[int, Strategy]],
    active: Iterable[Ranker],
) -> tuple[list[Because], str | None]:
    """Return of each item, picked by a ranker, what carries its score, and why there is nothing to tell.

    An item is no reason for itself. ``active`` are all models that there are.
    Of an item that somebody else has brought the first model tells that ranked: the heaviest.
    """
    models = {r.strategy: r for r in rankers if isinstance(r, FoldIn) and r.knows(asker)}
    if not models:
        could = any(isinstance(ranker, FoldIn) for ranker in active)
        return [[] for _ in picked], UNEXPLAINED if could else unexplained()
    first = next(iter(models))
    telling = [strategy if strategy in models else first for _, strategy in picked]
    found: dict[int, Because] = {}
    for strategy, model in models.items():
        own = [item for (item, _), one in zip(picked, telling, strict=True) if one == strategy]
        found |= _by(model, asker, own)
    because = [found.get(item, []) for item, _ in picked]
    return because, None if any(because) or not picked else UNSPOKEN


def _by(model: FoldIn, asker: Asker, items: Sequence[int]) -> dict[int, Because]:
    """Return what a model tells of the items that it knows."""
    own = asker.preferences.within(model.n_items)
    known = [item for item in items if item < model.n_items]
    asked, vector = np.array(known, np.int32), model.vector(asker)
    parts = choices.explain(model.users.row, vector, own.item_ix, own.weight, own.target, asked)
    largest = max(np.abs(part).max(initial=0.0) for part in (parts.contribution, parts.constant))
    found = zip(known, parts.contribution, strict=True)
    return {item: _heaviest(item, own.item_ix, part, ROUNDING * largest) for item, part in found}


def _heaviest(item: int, items: I32, parts: F64, rounding: float) -> Because:
    telling = np.flatnonzero((items != item) & (parts > rounding))
    best = telling[np.argsort(-parts[telling], kind="stable")[:MOST]]
    return [(int(items[at]), float(parts[at])) for at in best]
