"""Metrics of ranked lists by user: recall, ndcg, reciprocal rank and precision.

The caller leaves out users without a held-out item. A held-out item that the model does not know
counts as a miss.
"""

from dataclasses import dataclass

import numpy as np

from core.errors import ShapeError
from core.interactions import Interactions
from core.types import F64, I32, I64


@dataclass(frozen=True)
class Hits:
    """Comparison of n lists with held-out items.

    ``hit`` (n, depth): whether the item at that position is held out · ``wanted`` (n,): number of
    held-out items of the user, above 0.

    >>> from hedgerow import from_pairs
    >>> hits(np.array([[1, 0]], np.int32), from_pairs(np.array([0]), np.array([0]))).hit
    array([[False,  True]])
    """

    hit: "np.typing.NDArray[np.bool_]"
    wanted: I64


def hits(ranked: I32, held: Interactions) -> Hits:
    """Compare n ranked lists, (n, depth) item numbers or -1, with n rows of held-out items.

    >>> from hedgerow import from_pairs
    >>> held = from_pairs(np.array([0, 0]), np.array([2, 4]))
    >>> hits(np.array([[4, 3, 2]], np.int32), held).hit
    array([[ True, False,  True]])
    """
    if ranked.shape[0] != held.n_users:
        raise ShapeError(f"{ranked.shape[0]} lists for {held.n_users} users")
    wanted = held.user_counts
    if (wanted == 0).any():
        raise ShapeError("a user has no held-out item: leave such users out")
    width = max(held.n_items, int(ranked.max(initial=-1)) + 1)
    # rows rise and items rise within a row, hence the keys are sorted
    keys = held.user_ix.astype(np.int64) * width + held.item_ix
    asked = np.arange(ranked.shape[0])[:, None] * width + ranked
    at = np.minimum(np.searchsorted(keys, asked), keys.size - 1)
    return Hits((keys[at] == asked) & (ranked >= 0), wanted)


def recall(found: Hits, k: int) -> F64:
    """Return the hits among the first k, divided by the number of held-out items.

    >>> found = Hits(np.array([[True, False, True]]), wanted=np.array([4]))
    >>> recall(found, 3)
    array([0.5])
    """
    share: F64 = found.hit[:, :k].sum(1) / found.wanted
    return share


def precision(found: Hits, k: int) -> F64:
    """Return the hits among the first k, divided by k.

    >>> found = Hits(np.array([[True, False, True]]), wanted=np.array([4]))
    >>> precision(found, 2)
    array([0.5])
    """
    share: F64 = found.hit[:, :k].sum(1) / k
    return share


def ndcg(found: Hits, k: int) -> F64:
    """Return the discounted gain, divided by that of the best possible list.

    >>> found = Hits(np.array([[True, False, True]]), wanted=np.array([4]))
    >>> ndcg(found, 3).round(3)
    array([0.704])
    """
    discount = 1.0 / np.log2(np.arange(2, k + 2))
    best = np.cumsum(discount)[np.minimum(found.wanted, k) - 1]
    hit = found.hit[:, :k]
    gain: F64 = hit @ discount[: hit.shape[1]] / best
    return gain


def reciprocal_rank(found: Hits, k: int) -> F64:
    """Return 1 / position of the first hit, or 0 without a hit among the first k.

    >>> reciprocal_rank(Hits(np.array([[False, True, True]]), wanted=np.array([2])), 10)
    array([0.5])
    """
    hit = found.hit[:, :k]
    first: I64 = hit.argmax(1)
    return np.where(hit.any(1), 1.0 / (first + 1.0), 0.0)


def reciprocal_ranks(found: Hits, k: int) -> F64:
    """Return the mean of 1 / position over each user's held-out items; 0 beyond the first k.

    >>> reciprocal_ranks(Hits(np.array([[False, True]]), wanted=np.array([2])), 10)
    array([0.25])
    """
    hit = found.hit[:, :k]
    mean: F64 = hit @ (1.0 / np.arange(1, hit.shape[1] + 1)) / found.wanted
    return mean


def means(found: Hits, ks: tuple[int, ...]) -> dict[str, float]:
    """Return the means over users of recall and ndcg at each k, mrr@10 and precision@5.

    >>> found = Hits(np.array([[True], [False]]), wanted=np.array([1, 1]))
    >>> means(found, (1,))
    {'recall@1': 0.5, 'ndcg@1': 0.5, 'mrr@10': 0.5, 'precision@5': 0.1}
    """
    named: dict[str, F64] = {}
    for k in ks:
        named |= {f"recall@{k}": recall(found, k), f"ndcg@{k}": ndcg(found, k)}
    named |= {"mrr@10": reciprocal_rank(found, 10), "precision@5": precision(found, 5)}
    return {name: float(values.mean()) for name, values in named.items()}


def next_means(found: Hits, ks: tuple[int, ...]) -> dict[str, float]:
    """Return ndcg, hit rate and mean reciprocal rank at each k, for users with one held-out item.

    >>> found = Hits(np.array([[False, True], [False, False]]), wanted=np.array([1, 1]))
    >>> {name: round(value, 3) for name, value in next_means(found, (2,)).items()}
    {'ndcg@2': 0.315, 'hr@2': 0.5, 'mrr@2': 0.25}
    """
    if (found.wanted != 1).any():
        raise ShapeError("a user has several held-out items: these means are for one each")
    named: dict[str, F64] = {}
    for k in ks:
        named |= {
            f"ndcg@{k}": ndcg(found, k),
            f"hr@{k}": recall(found, k),
            f"mrr@{k}": reciprocal_rank(found, k),
        }
    return {name: float(values.mean()) for name, values in named.items()}
