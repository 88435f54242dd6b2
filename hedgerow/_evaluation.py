"""Measuring a fitted ranking model on held-out pairs."""

from typing import Any

import numpy as np

from core.batch.ranker import Ranker
from core.errors import DataError, ShapeError
from core.interactions import Interactions, as_interactions
from core.ranking_metrics import hits, means

FEWEST = 10
"""Depth of the shortest list: ``mrr@10`` reads that far."""


def evaluate(
    model: Ranker, train: Any, test: Any, *, ks: tuple[int, ...] = (10,)
) -> dict[str, float]:
    """Return how well the model's lists hold what users like in the held-out pairs.

    ``train`` and ``test`` are Interactions or matrices of the same users and items, such as a split
    makes. Lists leave out what the user has in ``train``, and such pairs of ``test`` do not count.
    Means over the users with a held-out item: recall and ndcg at each k, mrr@10, precision@5.

    >>> from hedgerow import Fbgd, FbgdConfig, from_pairs, random_split
    >>> rng = np.random.default_rng(0)
    >>> users, items = np.nonzero(rng.random((40, 20)) < 0.3)
    >>> train, test = random_split(from_pairs(users, items), 0.2, rng)
    >>> sorted(evaluate(Fbgd(FbgdConfig(factors=4)).fit(train), train, test))
    ['mrr@10', 'ndcg@10', 'precision@5', 'recall@10']
    """
    known, held = as_interactions(train), as_interactions(test).liked
    if (known.n_users, known.n_items) != (held.n_users, held.n_items):
        raise ShapeError(
            f"train has {known.n_users} users and {known.n_items} items, "
            f"test {held.n_users} and {held.n_items}: number both alike"
        )
    held = held.keep(~np.isin(_keys(held), _keys(known)))
    users = np.flatnonzero(held.user_counts)
    if users.size == 0:
        raise DataError("no user likes a held-out item: give more pairs to test")
    ids, _ = model.recommend(users, known.rows(users), N=max(*ks, FEWEST))
    return means(hits(ids, held.rows(users)), ks)


def _keys(pairs: Interactions) -> "np.typing.NDArray[np.int64]":
    return pairs.user_ix.astype(np.int64) * pairs.n_items + pairs.item_ix
