"""Files of pairs and of side information, turned into the matrices of an evaluation."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from core.batch.content.encoder import Described
from core.batch.content.encoder_fit import encoder_of
from core.errors import DataError
from core.interactions import Interactions, from_pairs
from core.types import I64
from service.files.features import encoded, read_features, read_links, read_rows
from service.files.ratings import Ratings
from service.training.data.material import Material


@dataclass(frozen=True)
class SideFiles:
    """Paths of the files with side information."""

    users: Path | None = None
    items: Path | None = None
    graph: Path | None = None


NO_FILES = SideFiles()


@dataclass(frozen=True)
class Pairs:
    """Training and test pairs of the same users.

    Items that only the test file has come last in the numbering.
    """

    train: Interactions
    test: Interactions
    users: dict[str, int]
    """User numbers by id."""
    items: dict[str, int]
    """Item numbers by id, of training items only."""
    repeated: int = 0
    """Number of test pairs left out because training has them."""

    @property
    def unlisted(self) -> int:
        """Return the number of test pairs with items that training lacks."""
        return int((self.test.item_ix >= self.train.n_items).sum())


def joined(train: Ratings, test: Ratings) -> Pairs:
    """Return both files with common numbers; every row is a positive, and each pair counts once.

    Test pairs that training has are left out: items that a user has are never listed.
    """
    users = {user: ix for ix, user in enumerate(train.user_ids)}
    items = {item: ix for ix, item in enumerate(train.item_ids)}
    user_ix = [users.setdefault(user, len(users)) for user in test.user_ids]
    trained = dict(items)
    item_ix = [items.setdefault(item, len(items)) for item in test.item_ids]
    fitted = from_pairs(
        train.user_ix,
        train.item_ix,
        n_users=len(users),
        n_items=len(train.item_ids),
        time=train.timestamp_ms,
    )
    held = from_pairs(
        np.array(user_ix, np.int64)[test.user_ix],
        np.array(item_ix, np.int64)[test.item_ix],
        n_users=len(users),
        n_items=len(items),
    )
    repeated = _repeated(fitted, held, len(items))
    return Pairs(fitted, held.keep(~repeated), users, trained, int(repeated.sum()))


def material(pairs: Pairs, side: SideFiles) -> Material:
    """Return the training pairs with the side information of users and items."""
    items, described = (None, None) if side.items is None else item_side(side.items, pairs.items)
    return Material(
        pairs.train,
        user_features=None
        if side.users is None
        else read_features(side.users, "user", pairs.users),
        links=None if side.graph is None else read_links(side.graph, pairs.users),
        item_features=items,
        described=described,
    )


def item_side(path: Path, numbers: dict[str, int]) -> tuple[sp.csr_array, Described]:
    """Return the features of items, and what a file says of them as their documents would."""
    rows = read_rows(path, "item", numbers)
    bodies = [*map(_body, rows)]
    encoder = encoder_of(bodies)
    return encoded(rows), Described(encoder, encoder.transform(bodies))


def _body(row: dict[str, Any]) -> dict[str, Any]:
    """Return the document of an item: the column ``categories`` holds no feature."""
    features = {name: value for name, value in row.items() if name != "categories"}
    found = row.get("categories", [])
    return {
        "categories": found if isinstance(found, list) else [str(found)],
        "features": features,
    }


def side_coverage(data: Material) -> dict[str, dict[str, dict[str, int]]]:
    """Return how many users and items of the pairs the side files cover; empty without files."""
    described = {"users": data.user_features, "items": data.item_features}
    found = {
        name: {"described": int((np.diff(features.indptr) > 0).sum()), "of": features.shape[0]}
        for name, features in described.items()
        if features is not None
    }
    if data.links is not None:
        found["graph"] = {"links": len(data.links)}
    return {"side": found} if found else {}


def _repeated(fitted: Interactions, held: Interactions, n_items: int) -> Any:
    """Mark the test pairs that training has; raise DataError if nothing would be left to rank."""
    if not (held.item_ix < fitted.n_items).any():
        raise DataError(
            "no item of the test file is in the training file: check that both write ids alike"
        )
    repeated = np.isin(_keys(held, n_items), _keys(fitted, n_items))
    if repeated.all():
        raise DataError(
            "every pair of the test file is in the training file: "
            "hold out pairs that training lacks"
        )
    return repeated


def _keys(pairs: Interactions, n_items: int) -> I64:
    keys: I64 = pairs.user_ix.astype(np.int64) * n_items + pairs.item_ix
    return keys
