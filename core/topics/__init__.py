"""Topics: groups of items that the same people like, and names for the groups.

Start at ``grouping.py``; ``naming.py`` finds what is typical of a group.
"""
