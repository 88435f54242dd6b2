"""Compute the results of rankers for many users at once, where that is much cheaper.

The product of one user's vector with a large catalogue reads all of it from memory; a block of
users reads it once. The results are those that a cache keeps in service, so the
rankers find them there.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np

from core.batch.ranker import rank
from core.interactions import Interactions
from core.kernels import scan
from core.types import F32, I32, I64
from service.ranking.asker import Asker
from service.ranking.pool import HEAD, Head
from service.ranking.ranker import HeadRanker, Ranker
from service.ranking.trained.fold_in import FoldIn
from service.ranking.trained.neighbours import ByNeighbours

BLOCK = 256
"""Users whose results are in memory at a time."""
_EVERY = np.empty(0, np.bool_)

Found = tuple[F32, I32, F32]
"""Vectors (users, ..), and the best items (users, HEAD) with their scores; -1 at the end."""


def prepared(
    rankers: Sequence[Ranker],
    pairs: Interactions,
    users: I64,
    asker_of: Callable[[int], Asker],
    *,
    at_once: int = BLOCK,
) -> Iterator[Asker]:
    """Yield these users as askers; the history of each is a row of ``pairs``, and seen."""
    able = [one for one in rankers if isinstance(one, FoldIn | ByNeighbours)]
    # not every item has a place
    able = [one for one in able if not one.family.places_items]
    for first in range(0, users.size, at_once):
        block = users[first : first + at_once]
        rows = pairs.rows(block)
        rows = Interactions(pairs.n_items, rows.ptr, rows.item_ix)
        found = [(one, _together(one, rows)) for one in able]
        for at, user in enumerate(block.tolist()):
            yield _having(asker_of(user), found, at)


def _together(ranker: FoldIn | ByNeighbours, rows: Interactions) -> Found:
    if isinstance(ranker, FoldIn):
        vectors = ranker.users.row.vectors(rows)
        return vectors, *rank(vectors, ranker.item_vectors, rows, HEAD)
    scores = ranker.model.scores_of(rows)
    items = np.empty((rows.n_users, HEAD), np.int32)
    best = np.empty(items.shape, np.float32)
    for at, row in enumerate(scores):
        seen = rows.item_ix[rows.ptr[at] : rows.ptr[at + 1]]
        scan.select(row, seen, _EVERY, items[at], best[at])
    return scores, items, best


def _having(asker: Asker, found: Sequence[tuple[HeadRanker, Found]], at: int) -> Asker:
    return msgspec.structs.replace(
        asker,
        vectors={ranker.version: vectors[at] for ranker, (vectors, _, _) in found},
        heads={
            ranker.strategy: _head(ranker.made_of, items[at], scores[at])
            for ranker, (_, items, scores) in found
        },
    )


def _head(version: str, items: I32, scores: F32) -> Head:
    n = int(np.count_nonzero(items >= 0))
    return Head(version, items[:n], scores[:n], n < HEAD)
