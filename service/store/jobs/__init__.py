"""Trainings: orders, records, the schedule."""
