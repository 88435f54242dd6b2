"""Everything that touches the world: HTTP, Redis, processes, files, the command line.

Internal: import from ``hedgerow``. The verbs are in ``cli``; ``runtime`` wires an api process
together, which ``serving`` answers for; ``learning`` and ``training`` are the other roles; ``store``
alone knows Redis.
"""
