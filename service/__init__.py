"""Everything that touches the world: HTTP, Redis, processes, files, the command line.

The verbs are in ``cli``; ``runtime`` wires objects together; ``learner`` learns; ``store`` alone knows Redis.
"""
