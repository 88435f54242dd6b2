"""A small shop of two tastes: views, clicks and purchases, documents of items and none of users."""

import numpy as np

from core.batch.content.config import ContentConfig
from core.batch.content.fit import fit
from core.interactions import from_pairs
from tests.core.described import described

KINDS = ("shoe", "sandal", "boot", "lamp", "sofa", "rug")
N_USERS, N_ITEMS, N_EVENTS = 80, 36, 428
WEIGHTS = np.array([0.2, 0.4, 1.0], np.float32)
"""Of a view, a click and a purchase."""


def shop(seed: int):
    """Return the pairs of a shop whose users like things to wear or to live in, and its items."""
    rng = np.random.default_rng(seed)
    kind = np.arange(N_ITEMS) % len(KINDS)
    user = rng.integers(0, N_USERS, N_EVENTS)
    worn = rng.random(N_EVENTS) < np.where(user % 2 == 0, 0.9, 0.1)
    pick = rng.integers(0, N_ITEMS // 2, N_EVENTS)
    item = np.where(worn, np.flatnonzero(kind < 3)[pick], np.flatnonzero(kind >= 3)[pick])
    pairs, first = np.unique(user * N_ITEMS + item, return_index=True)
    weight = WEIGHTS[rng.integers(0, 3, N_EVENTS)][first]
    owner, item = np.divmod(pairs, N_ITEMS)
    liked = from_pairs(owner, item, n_users=N_USERS, n_items=N_ITEMS, weight=weight)
    colours = rng.choice(["red", "blue", "black", "white"], N_ITEMS)
    bodies = [
        {
            "categories": [KINDS[k]],
            "features": {"colour": str(colours[n]), "price": float(20 + 30 * k + n % 9)},
        }
        for n, k in enumerate(kind.tolist())
    ]
    return liked, bodies


def test_the_nearest_five_of_a_new_shoe_are_shoes() -> None:
    for seed in range(5):
        liked, bodies = shop(seed)
        model = fit(liked, described(bodies), ContentConfig())
        for kind in range(len(KINDS)):
            new = {
                "categories": [KINDS[kind]],
                "features": {"colour": "blue", "price": 24.0 + 30 * kind},
            }
            known = model.with_items({N_ITEMS: new})
            near = known.likeness(N_ITEMS)[:N_ITEMS]
            assert (np.argsort(-near)[:5] % len(KINDS) == kind).all()


def test_a_new_item_is_ranked_for_those_who_like_its_kind() -> None:
    right = []
    for seed in range(5):
        liked, bodies = shop(seed)
        model = fit(liked, described(bodies), ContentConfig())
        known = model.with_items({N_ITEMS: bodies[0], N_ITEMS + 1: bodies[5]})
        some = np.flatnonzero(liked.user_counts > 2)
        shoe, rug = (known.row.vectors(liked)[some] @ known.places[N_ITEMS:].T).T
        right.append(np.mean((shoe > rug) == (some % 2 == 0)))
    assert np.mean(right) > 0.75
