"""Arms of experiments as ids of lists and the log name them: `~9f2c01=1.17`.

That is the experiment, the number of the arm and the number of a bucket of its users. It stands
behind the context of a list, in a line of its own: no name in a context begins like that.
"""

import re
from typing import NamedTuple

BUCKETS = 64
"""Buckets of the users of an arm: counts of whole buckets tell how much chance there is in them."""
LONGEST = len("~9f2c01=1.17")
MARK = "~"

_MARK = MARK.encode()
_LINE = re.compile(rf"{MARK}([0-9a-f]{{6}})=([0-7])\.([1-5]?\d|6[0-3])")


class CountedArm(NamedTuple):
    """An arm and a bucket of its users."""

    experiment: str
    """The id of the experiment."""
    number: int
    """The number of the arm, from 0."""
    bucket: int

    def __str__(self) -> str:
        """Return its name in ids, in the log and in counts."""
        return f"{MARK}{self.experiment}={self.number}.{self.bucket}"

    @classmethod
    def of(cls, line: str) -> "CountedArm | None":
        """Return what a name says; None for any other text."""
        match = _LINE.fullmatch(line)
        return None if match is None else cls(match[1], int(match[2]), int(match[3]))


def joined(context: bytes, arm: CountedArm | None) -> bytes:
    r"""Return a context with an arm behind it.

    >>> joined(b"device=phone", CountedArm("9f2c01", 1, 17))
    b'device=phone\n~9f2c01=1.17'
    """
    lines = [context] if context else []
    return b"\n".join(lines if arm is None else [*lines, str(arm).encode()])


def parted(context: bytes) -> tuple[bytes, CountedArm | None]:
    r"""Return a context without the arm behind it, and the arm.

    >>> parted(b"device=phone\n~9f2c01=1.17")
    (b'device=phone', CountedArm(experiment='9f2c01', number=1, bucket=17))
    """
    before, _, last = context.rpartition(b"\n")
    arm = CountedArm.of(last.decode(errors="replace")) if last.startswith(_MARK) else None
    return (context, None) if arm is None else (before, arm)
