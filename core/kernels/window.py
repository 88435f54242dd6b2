"""A set of the last N 16-byte digests: a ring in order of arrival and an open-addressing table into it.

The caller owns the arrays; see service/learning/dedupe.py.
"""

from core.kernels.jit import helper, kernel
from core.types import I32, I64, U8, U64

START, COUNT = 0, 1
"""Fields of ``ends``: where the oldest digest stands in the ring, and how many there are."""


@helper
def _place(digest: U64, ring: U64, table: I32) -> int:
    """Return the table's place that points to the digest, or the empty one where it would go."""
    mask = len(table) - 1
    place = int(digest[0]) & mask
    while table[place] >= 0:
        held = ring[table[place]]
        if held[0] == digest[0] and held[1] == digest[1]:
            break
        place = (place + 1) & mask
    return place


@helper
def _forget_oldest(ring: U64, table: I32, ends: I64) -> None:
    """Take the oldest digest out; later ones of its run move up, so that no search stops short."""
    mask = len(table) - 1
    hole = _place(ring[ends[START]], ring, table)
    place = (hole + 1) & mask
    while table[place] >= 0:
        home = int(ring[table[place], 0]) & mask
        # may move only if its home does not lie behind the hole
        if ((place - home) & mask) >= ((place - hole) & mask):
            table[hole] = table[place]
            hole = place
        place = (place + 1) & mask
    table[hole] = -1
    ends[START] = (ends[START] + 1) % len(ring)
    ends[COUNT] -= 1


@kernel
def window(
    digests: U64,
    now_ms: int,
    oldest_ms: int,
    ring: U64,
    ring_ms: I64,
    table: I32,
    ends: I64,
    repeated: U8,
) -> None:
    """Forget what is older than ``oldest_ms``, then add each digest that is not in the set.

    Equation   repeated[i] = digests[i] in W; W takes the others, in order, and keeps the newest N
    Symbols    digests (n, 2) u64 · ring (N, 2) u64 and ring_ms (N,) i64 W in order of arrival ·
               table (power of two >= 2 N,) i32 places in the ring, -1 empty · ends (START, COUNT) ·
               repeated (n,) u8 out
    Cost       O(1) expected each; allocates nothing
    Reference  tests/core/reference_window.py::window
    """
    while ends[COUNT] > 0 and ring_ms[ends[START]] < oldest_ms:
        _forget_oldest(ring, table, ends)
    for i in range(len(digests)):
        place = _place(digests[i], ring, table)
        repeated[i] = table[place] >= 0
        if repeated[i]:
            continue
        if ends[COUNT] == len(ring):
            _forget_oldest(ring, table, ends)
            place = _place(digests[i], ring, table)
        at = (ends[START] + ends[COUNT]) % len(ring)
        ring[at] = digests[i]
        ring_ms[at] = now_ms
        table[place] = at
        ends[COUNT] += 1
