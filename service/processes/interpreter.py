"""How the threads of one process share the Python interpreter."""

import sys

TURN_S = 0.0005
"""Longest turn of a thread while another one waits for the interpreter, in seconds."""


def take_short_turns() -> None:
    """Let threads that compute make way soon for the one that others wait for.

    The follower judges in the learner's process, and an api process reads models and counts in
    threads. By default such a thread may hold the interpreter for 5 ms while an event or a request
    waits, which is longer than either takes.
    """
    sys.setswitchinterval(TURN_S)
