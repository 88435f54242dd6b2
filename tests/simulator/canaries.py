"""Bugs that the simulator must find: each makes something else of the calls of a sound service."""

import itertools
import re
from collections.abc import Callable, Mapping

from tests.simulator.boundary import Rewrite

_WATCH, _ECHO = b"*2\r\n$5\r\nWATCH\r\n", b"*2\r\n$4\r\nECHO\r\n"
_REMOVED_ROW = re.compile(rb"(UNLINK\r\n\$\d+\r\nhr:\{sim\.\d\}:)user")
_MSET, _MGET = b"$4\r\nMSET\r\n", b"$4\r\nMGET\r\n"
_REWRITE = re.compile(rb"\$3\r\nSET\r\n(\$\d+\r\nhr:\{sim\.\d\}:history:)")
_TOKEN = re.compile(rb"\$\d+\r\n[0-9a-f]{16}\.\d+\.[0-9a-f]{8}/[0-9a-f]{40}\r\n")
_RECEIPT = re.compile(rb"(?<=append:)api-\d{4}")


_MARK = b"last-move"
_DIGESTS_AT = re.compile(rb"\$\d+\r\n\d+\r\n(?=\$\d+\r\n\d+\r\n\$2\r\n24\r\n\$2\r\n16\r\n)")


def unfenced() -> Rewrite:
    """Return a learner that looks at the epoch, but does not watch it while it commits."""
    return lambda call: call.replace(_WATCH, _ECHO)


def forgetful() -> Rewrite:
    """Return an api that takes each try of an append for a new one."""
    tries = itertools.count()
    return lambda call: _RECEIPT.sub(lambda _: b"xyz-%04d" % (next(tries) % 10_000), call)


def trusting() -> Rewrite:
    """Return an api that writes what it knows of one store to any other."""
    return lambda call: _TOKEN.sub(b"$0\r\n\r\n", call)


def lingering() -> Rewrite:
    """Return a learner that leaves the row of a deleted user."""
    return lambda call: _REMOVED_ROW.sub(rb"\1else", call)


def reluctant() -> Rewrite:
    """Return a learner that writes no history anew, only adds to it."""
    return lambda call: _REWRITE.sub(rb"$5\r\nSETNX\r\n\1", call)


def mislaid() -> Rewrite:
    """Return a learner that does not give the row of a merged user to the other one."""
    # no other commit writes rows of users and removes some
    return lambda call: call.replace(_MSET, _MGET) if b"UNLINK" in call else call


def boastful() -> Rewrite:
    """Return an api that takes events for repeats if their entries have the same size."""
    return lambda call: _DIGESTS_AT.sub(b"$1\r\n0\r\n", call)


def unmarked() -> Rewrite:
    """Return an api that does not note merges within a partition."""
    # of merges across partitions, which are noted, a call names one user
    return lambda call: call.replace(_MARK, b"append:mv") if call.count(_MARK) == 2 else call


CANARIES: Mapping[str, Callable[[], Rewrite]] = {
    "unfenced": unfenced,
    "forgetful": forgetful,
    "trusting": trusting,
    "lingering": lingering,
    "reluctant": reluctant,
    "mislaid": mislaid,
    "boastful": boastful,
    "unmarked": unmarked,
}
