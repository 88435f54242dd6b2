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


def meant(recipe: str | None, parameters: Mapping[str, Any]) -> str | None:
    """Return the recipe that an order means; None: whatever is worth training."""
    return DEFAULT_RECIPE if recipe is None and parameters else recipe
