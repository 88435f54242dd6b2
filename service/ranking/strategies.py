"""Names of strategies, as the API, the logs and the lineup use them."""

from typing import TypeAlias

Strategy: TypeAlias = str
"""The name of a family (see ``families.py``), or ``MIXTURE``."""

ONLINE, MIXTURE, POPULAR, TRENDING, NEXT = "online", "mixture", "popular", "trending", "next"
"""Strategies with a role of their own: blended and predicts by default; several rankers as one;
fills every list up; has a route; is counted by the learner. All other names stand in the table
alone."""

EXPLORE = "explore"
"""What brought a new item into a slate (see ``exploration.py``). It names single items, never a
slate, so it has no number."""

DEFAULT_RECIPE = "fbgd"
"""The recipe that is trained or evaluated if nobody names one."""
