"""Names of strategies, as the API, the logs and the lineup use them."""

from collections.abc import Mapping
from typing import Any, TypeAlias

Strategy: TypeAlias = str
"""The name of a family (see ``families.py``), or ``MIXTURE``."""

ONLINE, MIXTURE, POPULAR, TRENDING, NEXT = "online", "mixture", "popular", "trending", "next"
LATEST = "latest"
"""Strategies with a role of their own: blended and predicts by default; several rankers as one;
fills every list up; has a route; is counted by the learner; has a route and follows the catalogue.
All other names stand in the table alone."""

EXPLORE = "explore"
"""What brought a new item into a slate (see ``slates/exploration.py``). It names single items,
never a slate, so it has no number."""

DEFAULT_RECIPE = "fbgd"
"""The recipe that is evaluated if nobody names one, or trained if only its settings are stated."""


def mixture_at(place: str) -> Strategy:
    """Return the name of the mixture for lists that are shown at a place, in a cache.

    >>> mixture_at(""), mixture_at("2,5")
    ('mixture', 'mixture 2,5')
    """
    return f"{MIXTURE} {place}" if place else MIXTURE


def is_mixture(name: Strategy) -> bool:
    """Whether a name in a cache is that of a mixture, at any place."""
    return name == MIXTURE or is_at_place(name)


def is_at_place(name: Strategy) -> bool:
    """Whether a name in a cache is that of a mixture at a place."""
    return name.startswith(f"{MIXTURE} ")


def meant(recipe: str | None, parameters: Mapping[str, Any]) -> str | None:
    """Return the recipe that an order means; None: whatever is worth training."""
    return DEFAULT_RECIPE if recipe is None and parameters else recipe
