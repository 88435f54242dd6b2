"""Items that join a fitted model: the strengths that speak for an item that it has not learned.

    column = own (c - c S)                        the exact regression, S without its diagonal
    column = own c n^-b                           the graph, without its spectral part

c (items,) is the weight of each item in the histories of those who like the new item, divided by
(weight of the history)^2a, and n is the weight of the new item's likes. For the regression it is
the column that the fit would give the item: P N'N_p with P = (N'N + reg m I)^-1, whose rows S
holds. What was taken beside the item counts, less what the model expects beside that anyway.
"""

from typing import Any

import numpy as np
from scipy import sparse

from core.batch.neighbours.model import Joining, Neighbours
from core.batch.takers import NewPairs, Takers
from core.types import F32, I32

MOST_KEPT = 2_000_000
"""Most strengths that are kept of all items that join; each takes 8 bytes."""
BLOCK = 4_000_000
"""Strengths that are in memory at a time before the strongest are kept."""


def columns(model: Neighbours, joining: Joining, takers: Takers, new: NewPairs) -> Any:
    """Return the strengths of the model's n items for m new ones, CSR (n, m).

    As in a fit, an item keeps a strength only if it is one of its strongest.
    """
    m, n = new.items.size, model.n_items
    most = max(1, min(model.k, MOST_KEPT // max(m, 1)))
    at_once = max(1, BLOCK // max(n, 1))
    kept = [
        _strongest(model, column, most)
        for first in range(0, m, at_once)
        for column in _columns(model, joining, takers, new, range(first, min(first + at_once, m)))
    ]
    items, values = (np.concatenate(part) for part in zip(*kept, strict=True))
    at = np.repeat(np.arange(m), [own.size for own, _ in kept])
    return sparse.coo_array((values, (items, at)), shape=(n, m)).tocsr()


def _columns(
    model: Neighbours, joining: Joining, takers: Takers, new: NewPairs, block: range
) -> F32:
    """Return the columns of a block of new items, (block, n): sums over those who like an item."""
    pairs = slice(int(new.ptr[block.start]), int(new.ptr[block.stop]))
    item = np.repeat(np.arange(len(block)), np.diff(new.ptr[block.start : block.stop + 1]))
    user, like = new.user_ix[pairs], np.maximum(new.evidence[pairs], 0.0)
    found = np.zeros((len(block), model.n_items), np.float32)
    for one in np.unique(user[like > 0.0]).tolist():
        own = _row(model, joining, takers, one)
        for at in np.flatnonzero(user == one).tolist():
            found[item[at]] += like[at] * own
    found *= joining.own
    if not joining.exact:
        likes = np.bincount(item, like, len(block))
        found *= (likes**-joining.item_exponent).astype(np.float32)[:, None]
    return found


def _row(model: Neighbours, joining: Joining, takers: Takers, user: int) -> F32:
    """Return what a user adds to the column of each new item that the user likes, (n,)."""
    own = slice(int(takers.ptr[user]), int(takers.ptr[user + 1]))
    items, likes = takers.item_ix[own], np.maximum(takers.evidence[own], np.float32(0.0))
    weight = float(likes.sum())
    known = (items < model.n_items) & (likes > 0.0)
    items, likes = items[known], likes[known] * np.float32(weight ** (-2 * joining.user_exponent))
    taken = np.zeros(model.n_items, np.float32)
    taken[items] = likes
    if not joining.exact:
        return taken
    expected = model.sums(items, likes)
    return np.asarray(taken * (1.0 + model.diagonal) - expected, np.float32)


def _strongest(model: Neighbours, column: F32, most: int) -> tuple[I32, F32]:
    size = np.abs(column)
    items = np.flatnonzero((size > 0.0) & (size >= model.weakest))
    if items.size > most:
        items = np.sort(items[np.argpartition(-size[items], most)[:most]])
    return items.astype(np.int32), column[items]
