"""Items that join a fitted model: the strengths that speak for an item that it has not learned.

    column = own (c - c S)                        the exact regression, S without its diagonal
    column = own c n^-b                           the graph, without its spectral part

c (items,) is the weight of each item in the histories of those who like the new item, divided by
(weight of the history)^2a, and n is the weight of the new item's likes. For the regression it is
the column that the fit would give the item: P N'N_p with P = (N'N + reg m I)^-1, whose rows S
holds. What was taken beside the item counts, less what the model expects beside that anyway.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from core.batch.neighbours.model import Joining, Neighbours
from core.batch.takers import NewPairs, Takers
from core.kernels import neighbours as kernels
from core.types import F32, I32

MOST_KEPT = 2_000_000
"""Most strengths that are kept of all items that join; each takes 8 bytes."""


def columns(model: Neighbours, joining: Joining, takers: Takers, new: NewPairs) -> Any:
    """Return the strengths of the model's n items for m new ones, CSR (n, m).

    As in a fit, an item keeps a strength only if it is one of its strongest.
    """
    most = max(1, min(model.neighbour.shape[1], MOST_KEPT // max(new.items.size, 1)))
    found = list(_kept(model, joining, _scaled(joining, takers), new, most))
    items, values = (np.concatenate(part) for part in zip(*found, strict=True))
    at = np.repeat(np.arange(new.items.size), [own.size for own, _ in found])
    return sparse.coo_array((values, (items, at)), shape=(model.n_items, new.items.size)).tocsr()


def _scaled(joining: Joining, takers: Takers) -> Any:
    """Return D_u^-2a R of the takers for the items of the model, CSR (users, n)."""
    likes = np.maximum(takers.evidence, 0.0)
    weight = np.bincount(takers.user_ix, likes, takers.n_users)
    by_user = np.maximum(weight, 1e-30) ** (-2.0 * joining.user_exponent)
    values = (likes * by_user[takers.user_ix]).astype(np.float32)
    n = max(joining.own.size, int(takers.item_ix.max(initial=-1)) + 1)
    rows = sparse.csr_array((values, takers.item_ix, takers.ptr), shape=(takers.n_users, n))
    return rows[:, : joining.own.size]


def _kept(
    model: Neighbours, joining: Joining, scaled: Any, new: NewPairs, most: int
) -> Iterator[tuple[I32, F32]]:
    """Yield the items that speak for each new item, and their strengths."""
    for at in range(new.items.size):
        own = new.of(at)
        likes = np.maximum(new.evidence[own], 0.0)
        taken = (sparse.csr_array(likes[None, :]) @ scaled[new.user_ix[own]]).toarray()[0]
        column = _column(model, joining, taken.astype(np.float32), float(likes.sum()))
        size = np.abs(column)
        items = np.flatnonzero((size > 0.0) & (size >= model.weakest))
        if items.size > most:
            items = np.sort(items[np.argpartition(-size[items], most)[:most]])
        yield items.astype(np.int32), column[items]


def _column(model: Neighbours, joining: Joining, taken: F32, n: float) -> F32:
    if not joining.exact:
        return np.asarray(joining.own * taken * n**-joining.item_exponent, np.float32)
    items = np.flatnonzero(taken).astype(np.int32)
    expected = np.zeros(model.n_items, np.float32)
    kernels.add_rows(items, taken[items], model.neighbour, model.strength, expected)
    return np.asarray(joining.own * (taken * (1.0 + model.diagonal) - expected), np.float32)
