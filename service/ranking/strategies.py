"""Names of strategies: how the API, the logs and the lineup call whatever ranks."""

from typing import TypeAlias

Strategy: TypeAlias = str
"""The name of a family of models (see ``families.py``), or ``MIXTURE``."""

ONLINE, MIXTURE, POPULAR, TRENDING = "online", "mixture", "popular", "trending"
"""Strategies with a role of their own in every lineup; all others are names of trained families."""
