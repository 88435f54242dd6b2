"""What each ranker adds to the score of an item in a list of a stack."""

from collections.abc import Sequence

import numpy as np

from core.types import F32
from service.ranking.asker import Asker
from service.ranking.stack import Candidates, Stack, StackList, columns_of, signal_names
from service.ranking.strategies import Strategy


def parts_of(
    stack: Stack, listed: StackList, asker: Asker, items: Sequence[int]
) -> list[dict[Strategy, float]]:
    """Return the parts of the rankers in each item; none where it was not a candidate.

    A ranker's part is its part of z, less its mean over the candidates; the history's part belongs
    to no ranker. What its look-alikes change for a new item is said by the ranker that knows them.

    Equation   log score = sum of the parts + the history's part + a constant of the list
    """
    found, length = listed.candidates, asker.preferences.item_ix.size
    if found is None or not found.items.size:
        return [{} for _ in items]
    own, parts = stack.added_up(found, length)
    names = [ranker.strategy for ranker in stack.rankers]
    rows = zip(found.items.tolist(), parts.tolist(), strict=True)
    of = {item: dict(zip(names, row, strict=True)) for item, row in rows}
    new = stack.newcomers
    joined, z = new.joined(found.items, own, listed.pool)
    before = np.full(joined.size, _usual(stack, found, own - parts.sum(axis=1), length))
    before[np.searchsorted(joined, found.items)] = own
    for at in np.flatnonzero(np.isin(joined, new.items)).tolist():
        row = of.setdefault(int(joined[at]), {})
        row[new.strategy] = row.get(new.strategy, 0.0) + float(z[at] - before[at])
    return [of.get(item, {}) for item in items]


def _usual(stack: Stack, found: Candidates, rest: F32, length: int) -> float:
    """Return z of an item that is not in the history, without parts of rankers.

    ``rest`` is what their parts leave of z of the candidates.
    """
    first = int(columns_of(stack.rankers)[-1])
    signals = found.signals[:, first:]
    of_history = stack.logit.aligned(signal_names(stack.rankers)[first:])
    nowhere = np.zeros((1, signals.shape[1]), np.float32)
    own, usual = (of_history.scores(some, length) for some in (signals, nowhere))
    return float((rest - own).mean() + usual[0])
