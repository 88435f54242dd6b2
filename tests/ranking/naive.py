"""Slow twins of what rankers compute: plain loops in float64, without code of ``core.slate``."""

from dataclasses import replace

import numpy as np

from core.batch.autoregression.model import Dense
from core.types import F64, I32
from service.ranking.asker import Asker
from service.ranking.ranker import Ranker
from service.ranking.trained.fold_in import FoldIn
from service.ranking.trained.neighbours import ByNeighbours
from service.ranking.trained.sequence import Sequence
from service.ranking.untrained.next_items import NextItems


def contributions(ranker: Ranker, asker: Asker, items: I32) -> F64:
    """Return what each pair of the asker adds to the scores of k items, (k, n).

    The equation is that of ``core.slate.explain``. A family that explains in another way needs a
    twin of its own here.
    """
    if isinstance(ranker, ByNeighbours):
        return _of_neighbours(ranker, asker, items)
    if isinstance(ranker, Sequence):
        return _of_sequence(ranker, asker, items)
    if isinstance(ranker, NextItems):
        return _following(ranker, asker, items)
    assert isinstance(ranker, FoldIn)
    row, own, user = ranker.users.row, asker.preferences, ranker.fold_in(asker).astype(np.float64)
    q, asked = row.item_factors.astype(np.float64), ranker.item_vectors.astype(np.float64)
    assert row.mean_row is None or row.shrinkage == 0.0, "shrinkage would add its term"
    reg = float(row.regs(np.array([own.item_ix.size]))[0])
    system = np.diag(row.gram.astype(np.float64) + reg)
    pulls: list[float] = []
    assert own.weight is not None
    assert own.target is not None
    for item, weight, target in zip(own.item_ix, own.weight, own.target, strict=True):
        a, below, x = float(row.negative[item]), row.negative_target, float(q[item] @ user)
        if row.loss == "square":
            pull, curvature = weight * target - a * below, weight - a
        else:
            sign = 1.0 if target > 0 else -1.0
            slope = 1.0 / (1.0 + np.exp(sign * x))
            curvature = 0.5 * weight * slope * (1.0 - slope) - a
            pull = 0.5 * weight * sign * slope + a * (x - below) + curvature * x
        system = system + curvature * np.outer(q[item], q[item])
        pulls.append(float(pull))
    inverse = np.linalg.inv(system)
    each = list(zip(own.item_ix, pulls, strict=True))
    return np.array(
        [[pull * asked[item] @ inverse @ q[past] for past, pull in each] for item in items]
    )


def _of_neighbours(ranker: ByNeighbours, asker: Asker, items: I32) -> F64:
    own, model = asker.preferences, ranker.model
    found = np.zeros((items.size, own.item_ix.size))
    for at, (past, weight, target) in enumerate(
        zip(own.item_ix, own.weight, own.target, strict=True)
    ):
        pull = weight if target > 0 else 0.0
        for other, strength in zip(model.neighbour[past], model.strength[past], strict=True):
            found[items == other, at] += pull * strength
    return found


def _of_sequence(ranker: Sequence, asker: Asker, items: I32) -> F64:
    own, model = asker.preferences, ranker.model
    assert isinstance(model.coefficients, Dense)
    latest = own.latest.tolist()[: model.age_weight.size]
    weight = model.age_weight[: len(latest)] / np.linalg.norm(model.age_weight[: len(latest)])
    found = np.zeros((items.size, own.item_ix.size))
    for at, past in enumerate(own.item_ix.tolist()):
        if past in latest:
            found[:, at] = weight[latest.index(past)] * model.coefficients.values[past, items]
    return found


def _following(ranker: NextItems, asker: Asker, items: I32) -> F64:
    """Return the share of each item that follows a past one, by the age of the past one."""
    own, latest = asker.preferences, asker.preferences.latest.tolist()
    found = np.zeros((items.size, own.item_ix.size))
    for column, past in enumerate(own.item_ix.tolist()):
        alone = ranker.scores(Asker(replace(own, latest=np.array([past], np.int32))))
        for row, item in enumerate(items.tolist()):
            if np.isfinite(alone[item]):
                found[row, column] = 0.7 ** latest.index(past) * alone[item]
    return found
