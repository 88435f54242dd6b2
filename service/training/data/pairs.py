"""Pairs of users and items as keys, and matrices of them one below the other."""

from collections.abc import Sequence

import numpy as np

from core.interactions import Interactions
from core.types import F32, I64


def stacked(parts: Sequence[Interactions], n_items: int) -> Interactions:
    """Return the rows of all parts, one part after the other."""
    if not parts:
        return Interactions(n_items, np.zeros(1, np.int64), np.empty(0, np.int32))
    counts = np.concatenate([part.user_counts for part in parts])
    return Interactions(
        n_items,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([part.item_ix for part in parts]),
        _values([part.weight for part in parts], parts),
        _values([part.target for part in parts], parts),
    )


def _values(values: Sequence[F32 | None], parts: Sequence[Interactions]) -> F32 | None:
    if all(value is None for value in values):
        return None
    return np.concatenate(
        [
            np.ones(len(part), np.float32) if value is None else value
            for value, part in zip(values, parts, strict=True)
        ]
    )


def keys_of(pairs: Interactions, width: int) -> I64:
    """Return the key of each pair: its user times ``width``, plus its item (below ``width``)."""
    return pairs.user_ix.astype(np.int64) * width + pairs.item_ix


def pairs_of(keys: I64, width: int, n_users: int) -> Interactions:
    """Return the pairs of sorted keys."""
    user_ix, item_ix = np.divmod(keys, width)
    ptr = np.searchsorted(user_ix, np.arange(n_users + 1)).astype(np.int64)
    return Interactions(width, ptr, item_ix.astype(np.int32))
