"""The state of a partition in memory: rows, counters, transitions and showings."""
