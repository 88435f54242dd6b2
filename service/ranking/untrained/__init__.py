"""Families without training: each ranks by what the learners count and learn with every event."""
