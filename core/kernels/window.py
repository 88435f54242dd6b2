"""A set of the latest N 16-byte digests: a ring in order of arrival, and a hash table into it.

The table uses open addressing. The caller owns the arrays; see service/learning/dedupe.py.
"""

from core.kernels.jit import helper, kernel
from core.types import I32, I64, U8, U64

START, COUNT = 0, 1
"""Fields of ``ends``: ring index of the oldest digest, and the number of digests."""


@helper
def _slot(digest: U64, ring: U64, table: I32) -> int:
    """Return the slot that points to the digest, or the empty slot where it belongs."""
    mask = len(table) - 1
    slot = int(digest[0]) & mask
    while table[slot] >= 0:
        held = ring[table[slot]]
        if held[0] == digest[0] and held[1] == digest[1]:
            break
        slot = (slot + 1) & mask
    return slot


@helper
def _forget_oldest(ring: U64, table: I32, ends: I64) -> None:
    """Remove the oldest digest and close the gap that it leaves.

    Later entries of its probe sequence move up, so that no search stops too early.
    """
    mask = len(table) - 1
    hole = _slot(ring[ends[START]], ring, table)
    slot = (hole + 1) & mask
    while table[slot] >= 0:
        home = int(ring[table[slot], 0]) & mask
        # An entry may fill the hole unless its home slot lies behind the hole.
        if ((slot - home) & mask) >= ((slot - hole) & mask):
            table[hole] = table[slot]
            hole = slot
        slot = (slot + 1) & mask
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
    """Forget digests older than ``oldest_ms``, then add each digest that is not yet in the set.

    Equation   repeated[i] = digests[i] in W; W takes the others, in order, and keeps the newest N
    Symbols    digests (n, 2) u64 · ring (N, 2) u64 and ring_ms (N,) i64: W in order of arrival ·
               table (power of two >= 2 N,) i32 indices into the ring, -1 empty ·
               ends (START, COUNT) · repeated (n,) u8 out
    Cost       O(1) expected each; allocates nothing
    Reference  tests/core/reference_window.py::window
    """
    while ends[COUNT] > 0 and ring_ms[ends[START]] < oldest_ms:
        _forget_oldest(ring, table, ends)
    for i in range(len(digests)):
        slot = _slot(digests[i], ring, table)
        repeated[i] = table[slot] >= 0
        if repeated[i]:
            continue
        if ends[COUNT] == len(ring):
            _forget_oldest(ring, table, ends)
            slot = _slot(digests[i], ring, table)
        at = (ends[START] + ends[COUNT]) % len(ring)
        ring[at] = digests[i]
        ring_ms[at] = now_ms
        table[slot] = at
        ends[COUNT] += 1
