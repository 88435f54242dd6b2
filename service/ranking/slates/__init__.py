"""From rankers to a slate: which rank, how lists are mixed, new items, variety, explanations."""
