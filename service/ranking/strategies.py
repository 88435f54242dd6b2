"""Names of strategies, as the API, the logs and the lineup use them."""

from typing import TypeAlias

Strategy: TypeAlias = str
"""The name of a family (see ``families.py``), or ``MIXTURE``."""

ONLINE, MIXTURE, POPULAR, TRENDING = "online", "mixture", "popular", "trending"
"""Strategies with a special role in every lineup; all others are names of trained families."""
