"""One evaluation of a ranking model: from two files of pairs to a report.

Owns how the files become interactions, and the report; the models are ``topk_models.py``'s, the command line
``evaluate_topk.py``'s.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from core import ranking_metrics
from core.batch.popularity import Popular
from core.batch.ranker import rank
from core.errors import DataError
from core.interactions import Interactions, from_pairs
from core.ranking_metrics import Hits
from core.types import I32, I64
from service.evaluation.topk_models import (
    Bools,
    Fitted,
    OnProgress,
    Request,
    World,
    compile_kernels,
    fit,
)
from service.files.features import read_features, read_links
from service.files.ratings import Ratings


@dataclass(frozen=True)
class SideFiles:
    """Files of what is known beside the pairs."""

    users: Path | None = None
    items: Path | None = None
    graph: Path | None = None


@dataclass(frozen=True)
class Pairs:
    """Training and test part with the same users; test items that training lacks have the highest numbers."""

    train: Interactions
    test: Interactions
    users: dict[str, int]
    """Numbers by id."""
    items: dict[str, int]
    """The same, of the items of training."""
    repeated: int = 0
    """Pairs of the test file that are left out, since training has them."""

    @property
    def unlisted(self) -> int:
        """Return how many test pairs are about items that training lacks."""
        return int((self.test.item_ix >= self.train.n_items).sum())


def evaluate_topk(
    train: Ratings,
    test: Ratings,
    request: Request,
    on_progress: OnProgress = lambda what, share: None,
    side: SideFiles = SideFiles(),
) -> dict[str, Any]:
    """Fit on one file, rank all its items for the users of the other; return the report."""
    pairs = joined(train, test)
    world = _world(pairs, side)
    compile_kernels(request.model)
    fitted = fit(world, request, on_progress)
    users = np.flatnonzero(pairs.test.user_counts)
    depth = max(*request.ks, 10)
    held = pairs.test.rows(users)
    found = ranking_metrics.hits(ranked_for(fitted, pairs.train, users, depth), held)
    popular = ranking_metrics.hits(_popular_for(pairs.train, users, depth), held)
    return {
        "model": request.model,
        "n_users": int(users.size),
        "repeated_pairs": pairs.repeated,
        "unknown_item_pairs": pairs.unlisted,
        **_told(world),
        **ranking_metrics.means(found, request.ks),
        "popular": ranking_metrics.means(popular, request.ks),
        "search_seconds": fitted.search_seconds,
        "fit_seconds": fitted.fit_seconds,
        "epochs": fitted.epochs,
        "parameters": fitted.parameters,
        **({"validation": fitted.tried} if fitted.tried else {}),
        **_of_cold(pairs.train.user_counts[users] == 0, found, popular, request.ks),
    }


def _of_cold(
    cold: Bools, found: Hits, popular: Hits, ks: tuple[int, ...]
) -> dict[str, dict[str, Any]]:
    """Return how those of the users do of whom there are no training pairs, beside popularity; nothing if none."""
    if not cold.any():
        return {}
    own, floor = (
        ranking_metrics.means(Hits(hits.hit[cold], hits.wanted[cold]), ks)
        for hits in (found, popular)
    )
    return {"cold": {"n_users": int(cold.sum()), **own, "popular": floor}}


def _told(world: World) -> dict[str, dict[str, dict[str, int]]]:
    """Return how much of the side files is about users and items of the pairs; nothing if there are none."""
    described = {"users": world.user_features, "items": world.item_features}
    told = {
        what: {"described": int((np.diff(features.indptr) > 0).sum()), "of": features.shape[0]}
        for what, features in described.items()
        if features is not None
    }
    if world.links is not None:
        told["graph"] = {"links": len(world.links)}
    return {"side": told} if told else {}


def _world(pairs: Pairs, side: SideFiles) -> World:
    return World(
        pairs.train,
        None if side.users is None else read_features(side.users, "user", pairs.users),
        None if side.items is None else read_features(side.items, "item", pairs.items),
        None if side.graph is None else read_links(side.graph, pairs.users),
    )


def joined(train: Ratings, test: Ratings) -> Pairs:
    """Number users and items of both files; every row is a positive, once for each pair.

    Test pairs that training has are left out: what a user has is never listed.
    """
    users = {user: ix for ix, user in enumerate(train.user_ids)}
    items = {item: ix for ix, item in enumerate(train.item_ids)}
    user_ix = [users.setdefault(user, len(users)) for user in test.user_ids]
    known = dict(items)
    item_ix = [items.setdefault(item, len(items)) for item in test.item_ids]
    n_users = len(users)
    known_part = from_pairs(
        train.user_ix,
        train.item_ix,
        n_users=n_users,
        n_items=len(train.item_ids),
        time=train.timestamp_ms,
    )
    held = from_pairs(
        np.array(user_ix, np.int64)[test.user_ix],
        np.array(item_ix, np.int64)[test.item_ix],
        n_users=n_users,
        n_items=len(items),
    )
    if not (held.item_ix < known_part.n_items).any():
        raise DataError(
            "no item of the test file is in the training file: check that both write ids alike"
        )
    repeated = np.isin(_keys(held, len(items)), _keys(known_part, len(items)))
    if repeated.all():
        raise DataError(
            "every pair of the test file is in the training file: hold out pairs that training lacks"
        )
    return Pairs(known_part, held.keep(~repeated), users, known, int(repeated.sum()))


def _keys(pairs: Interactions, n_items: int) -> I64:
    keys: I64 = pairs.user_ix.astype(np.int64) * n_items + pairs.item_ix
    return keys


def ranked_for(fitted: Fitted, train: Interactions, users: I64, k: int) -> I32:
    """Return the lists that these users are served; those of whom nothing is known get the popular items."""
    rows = train.rows(users)
    vectors = fitted.vectors(users, rows)
    ids, _ = rank(vectors, fitted.item_factors, rows, k)
    unknown = rows.user_counts == 0
    if fitted.knows is not None:
        unknown &= ~fitted.knows[users]
    # 0 tells no item from another
    unknown |= ~vectors.any(axis=1)
    if unknown.any():
        ids[unknown] = _popular_for(train, users[unknown], k)
    return ids


def _popular_for(train: Interactions, users: I64, k: int) -> I32:
    """Return what most users have and these have not."""
    popular, rows = Popular().fit(train), train.rows(users)
    return rank(popular.user_vectors(rows), popular.item_factors, rows, k)[0]
