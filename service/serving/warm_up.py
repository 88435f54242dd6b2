"""Call every kernel that a slate may need, so that none compiles during a request."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from core.affinity import described
from core.batch.autoregression.model import Autoregression, Dense, Sparse
from core.batch.item_objective import ItemObjective
from core.batch.losses import RowLoss
from core.batch.ocmf.users import StructuredUsers
from core.batch.preferences import preferences
from core.batch.row_objective import diagonalised
from core.batch.takers import Takers
from core.meaning import EventMeanings, HistoryColumns
from core.mixture import mixed
from core.stack.logit import Logit
from core.types import F32, I32
from service.ranking.asker import Asker
from service.ranking.families import FAMILIES
from service.ranking.pool import Pool
from service.ranking.ranker import Ranker
from service.ranking.slates.exploration import affinity_of
from service.ranking.stack import Stack, signal_names
from service.ranking.strategies import POPULAR
from service.ranking.trained.fold_in import FoldIn
from service.ranking.untrained.everybody import SharedList

_FAMILY = next(family for family in FAMILIES.values() if family.compares_users)
"""One of the families with fold-in; any of them calls the same kernels."""

_TAKERS = Takers(np.array([0, 2]), np.array([0, 3], np.int32), np.ones(2, np.float32))
"""Somebody who took an item of the model, and one that it has not learned."""

Array = TypeVar("Array", bound=np.ndarray[Any, Any])


def rank_once() -> None:
    """Rank three made-up items with every kernel; arrays are read-only, like those of snapshots."""
    numbers, ratings = np.arange(2), np.zeros(2, np.uint8)
    own = preferences(HistoryColumns(numbers, ratings, _ones(2), numbers), EventMeanings())
    losses: tuple[RowLoss, ...] = ("square", "logistic")
    for loss in losses:
        row = diagonalised(
            np.eye(3, dtype=np.float32),
            _ones(3),
            negative_target=0.0,
            reg=1.0,
            nu=0.5,
            mean_count=1.0,
            loss=loss,
        )
        frozen = replace(
            row,
            item_factors=_frozen(row.item_factors),
            negative=_frozen(row.negative),
            gram=_frozen(row.gram),
            item_sum=_frozen(row.item_sum),
        )
        model = FoldIn(_FAMILY, "", StructuredUsers(frozen, items=_of_items(loss)), {})
        model.folding_in(_TAKERS)
        # shared masks are read-only, masks combined for one request are not
        for allowed in (_frozen(np.ones(3, np.bool_)), np.ones(3, np.bool_)):
            model.best(Asker(own), Pool(allowed), 2)
            model.similar(0, Pool(allowed), 2)
            order = SharedList(FAMILIES[POPULAR], (own.item_ix, own.weight), {})
            popular = order.best(Asker(own), Pool(allowed), 2).ranked
            mixed([popular, popular], [0.5, 0.5], 2)
            _stack_of([model, order]).listed(Asker(own), Pool(allowed, own.seen), 2)
    _autoregressions(own.item_ix)
    known = described(numbers, own.item_ix, 2, 2, np.ones(2))
    affinity_of(known, Asker(own), own.item_ix)


def _of_items(loss: RowLoss) -> ItemObjective:
    return ItemObjective(
        _frozen(_ones(3)),
        _frozen(np.eye(3, dtype=np.float32)),
        _frozen(_ones(3)),
        unobserved=1.0,
        rho=0.0,
        total=1.0,
        negative_target=0.0,
        reg=1.0,
        nu=0.5,
        mean_count=1.0,
        loss=loss,
    )


def _autoregressions(items: I32) -> None:
    """Add up the rows of a dense and of a sparse autoregression."""
    ptr, target = _frozen(np.arange(4)), _frozen(np.arange(3, dtype=np.int32))
    for rows in (
        Dense(_frozen(np.eye(3, dtype=np.float32))),
        Sparse(ptr, target, _frozen(_ones(3))),
    ):
        Autoregression(rows, _ones(3)).scores(items)


def _stack_of(rankers: Sequence[Ranker]) -> Stack:
    names = signal_names(rankers)
    d = len(names)
    return Stack(rankers, Logit(tuple(names), _ones(d), _ones(d), np.ones((d, 3)), (0.0, 1.0)))


def _ones(n: int) -> F32:
    return np.ones(n, np.float32)


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array
