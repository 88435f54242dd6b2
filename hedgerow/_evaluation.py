"""Evaluation of a fitted ranking model on held-out pairs."""

from typing import Any

import numpy as np

from core.batch.ranker import Ranker
from core.errors import DataError, ShapeError
from core.interactions import Interactions, as_interactions
from core.ranking_metrics import hits, means

FEWEST = 10
"""Minimum depth of the lists, because ``mrr@10`` reads 10 items."""


def evaluate(
    model: Ranker, train: Any, test: Any, *, ks: tuple[int, ...] = (10,)
) -> dict[str, float]:
    """Return ranking metrics of the model on the held-out pairs that users like.

    ``train`` and ``test`` are Interactions or matrices of the same users and items, such as a split
    returns. Lists leave out the user's items in ``train``, and pairs of ``test`` that are also in
    ``train`` do not count. The metrics are means over users with a held-out item: recall and ndcg
    at each k, mrr@10, precision@5.

    >>> from hedgerow import Fbgd, FbgdConfig, from_pairs, random_split
    >>> rng = np.random.default_rng(0)
    >>> users, items = np.nonzero(rng.random((40, 20)) < 0.3)
    >>> train, test = random_split(from_pairs(users, items), 0.2, rng)
    >>> sorted(evaluate(Fbgd(FbgdConfig(factors=4)).fit(train), train, test))
    ['mrr@10', 'ndcg@10', 'precision@5', 'recall@10']
    """
    trained, held = as_interactions(train), as_interactions(test).liked
    if (trained.n_users, trained.n_items) != (held.n_users, held.n_items):
        raise ShapeError(
            f"train has {trained.n_users} users and {trained.n_items} items, "
            f"test {held.n_users} and {held.n_items}: number both alike"
        )
    held = held.keep(~np.isin(_keys(held), _keys(trained)))
    users = np.flatnonzero(held.user_counts)
    if users.size == 0:
        raise DataError("no user likes a held-out item: give more pairs to test")
    ids, _ = model.recommend(users, trained.rows(users), N=max(*ks, FEWEST))
    return means(hits(ids, held.rows(users)), ks)


def _keys(pairs: Interactions) -> "np.typing.NDArray[np.int64]":
    return pairs.user_ix.astype(np.int64) * pairs.n_items + pairs.item_ix
