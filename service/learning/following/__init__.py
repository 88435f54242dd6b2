"""The follower of a learner: judges the rankers by what users do next."""
