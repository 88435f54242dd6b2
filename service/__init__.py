"""Everything that touches the world: HTTP, Redis, processes, files, the command line.

Internal: import public names from ``hedgerow``. ``cli`` has the verbs. ``runtime`` assembles an api
process, which answers through ``serving``; ``learning`` and ``training`` are the other roles. Only
``store`` uses Redis.
"""
