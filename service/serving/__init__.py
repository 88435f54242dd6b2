"""The services of an api process: predictions, recommendations, and its copies in memory."""
