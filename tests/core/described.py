"""A shop with items of two kinds, of which some came after the training."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.batch.content.config import ContentConfig
from core.batch.content.encoder import Described
from core.batch.content.encoder_fit import encoder_of
from core.batch.content.fit import fit
from core.batch.content.model import Content
from core.interactions import Interactions, from_pairs

N_ITEMS, N_NEW = 60, 6
"""The last items are described as the others are, and nobody took them."""


def body(item: int) -> dict[str, Any]:
    """Return what is said of an item: even ones are shoes, and cost less."""
    kind = "shoe" if item % 2 == 0 else "hat"
    return {
        "categories": [kind, f"brand {item % 5}"],
        "features": {"price": 20.0 + 40 * (item % 2) + item % 7},
    }


def bodies() -> list[dict[str, Any]]:
    return [body(item) for item in range(N_ITEMS)]


def likes(n_users: int = 120, seed: int = 0) -> Interactions:
    """Return what people of two tastes like: mostly items of one kind."""
    rng = np.random.default_rng(seed)
    same = np.arange(n_users)[:, None] % 2 == np.arange(N_ITEMS)[None, :] % 2
    liked = rng.random((n_users, N_ITEMS)) < np.where(same, 0.3, 0.03)
    liked[:, N_ITEMS - N_NEW :] = False
    return from_pairs(*np.nonzero(liked), n_users=n_users, n_items=N_ITEMS)


def described(some: list[Mapping[str, Any]]) -> Described:
    """Return documents as a training reads them."""
    encoder = encoder_of(some)
    return Described(encoder, encoder.transform(some))


def fitted(**settings: Any) -> Content:
    return fit(likes(), described(bodies()), ContentConfig(**settings))
